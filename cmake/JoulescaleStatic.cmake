# The libraries that `joulescale` links. Loading shared ones takes longer than all else that the monitor does before it
# starts the command, and more memory; so they are linked in where that can be done. libc stays shared: NVML is loaded
# at run time.
set(joulescale_static ${JOULESCALE_STATIC})
if(JOULESCALE_SANITIZE)
  set(joulescale_static OFF)
endif()

# joulescale_bundle(NAME TARGET HEADER [OPTIONS…]): TARGET as a static library of cmake/bundled/NAME.cpp. The options are
# those of the shared library's package: what uses it compiles alike in both.
function(joulescale_bundle name target header)
  find_path(JOULESCALE_${name}_INCLUDE "${header}" REQUIRED)
  add_library(joulescale_bundled_${name} STATIC "${PROJECT_SOURCE_DIR}/cmake/bundled/${name}.cpp")
  add_library(${target} ALIAS joulescale_bundled_${name})
  target_compile_features(joulescale_bundled_${name} PUBLIC cxx_std_20)
  target_compile_options(joulescale_bundled_${name} PUBLIC ${ARGN})
  target_compile_definitions(joulescale_bundled_${name} PRIVATE NDEBUG)  # toml++ asserts what input may break
  target_include_directories(joulescale_bundled_${name} SYSTEM PUBLIC "${JOULESCALE_${name}_INCLUDE}")
endfunction()

if(joulescale_static)
  joulescale_bundle(fmt fmt::fmt fmt/format-inl.h)
  target_compile_definitions(joulescale_bundled_fmt PUBLIC FMT_SHARED)
  joulescale_bundle(toml tomlplusplus::tomlplusplus toml++/toml.h -DTOML_HEADER_ONLY=0 -DTOML_SHARED_LIB=1)
  set(shared_suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a ${shared_suffixes})
else()
  find_package(fmt REQUIRED)
  find_package(tomlplusplus REQUIRED)
endif()
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
if(joulescale_static)
  target_link_libraries(SQLite::SQLite3 INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
  set(CMAKE_FIND_LIBRARY_SUFFIXES ${shared_suffixes})
endif()

# joulescale_link_runtime(PROGRAM): the compiler's own libraries too. Not for one that
# shares C++ objects with a shared library.
function(joulescale_link_runtime program)
  if(joulescale_static)
    target_link_options(${program} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()
