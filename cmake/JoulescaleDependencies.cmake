# What the build needs from outside. Nothing is downloaded here; scripts/bootstrap.sh installs it all.
find_package(Threads REQUIRED)
include(JoulescaleStatic)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Eigen3 REQUIRED)
if(JOULESCALE_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

include(JoulescaleTorch)
