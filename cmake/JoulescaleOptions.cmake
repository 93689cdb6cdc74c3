# Options of the build. AUTO builds an optional part where its dependency is found; ON makes its absence an error.
include(GNUInstallDirs)

set(JOULESCALE_WITH_TRAIN AUTO CACHE STRING "Build the trainer (needs libtorch): AUTO, ON or OFF")
set(JOULESCALE_WITH_CUDA AUTO CACHE STRING "Build the trainer's CUDA part (needs CUDA and NCCL headers): AUTO, ON or OFF")
set_property(CACHE JOULESCALE_WITH_TRAIN JOULESCALE_WITH_CUDA PROPERTY STRINGS AUTO ON OFF)
set(JOULESCALE_TORCH "" CACHE PATH "Folder torch/ of a PyTorch wheel, 2.6 or newer; default: the one in .venv")
option(JOULESCALE_BUILD_TESTS "Build the tests (needs GoogleTest)" OFF)
option(JOULESCALE_BUILD_FUZZERS "Build the fuzzers as libFuzzer programs (needs clang)" OFF)
option(JOULESCALE_WARNINGS_AS_ERRORS "Treat warnings in our own code as errors" ${PROJECT_IS_TOP_LEVEL})
option(JOULESCALE_STATIC "Link libraries into the programs (they start in half the time)" ON)
set(JOULESCALE_PRECOMPILE OFF CACHE STRING "Precompile the heavy headers (faster; hides missing includes): OFF, TESTS or ALL")
set_property(CACHE JOULESCALE_PRECOMPILE PROPERTY STRINGS OFF TESTS ALL)
set(JOULESCALE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them (address,undefined or thread)")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

set_property(GLOBAL PROPERTY JOULESCALE_FEATURES "")

# joulescale_feature(NAME ON|OFF [REASON]): a line of the summary that ends the configure step.
function(joulescale_feature name state)
  set(reason "")
  if(ARGC GREATER 2)
    set(reason " (${ARGV2})")
  endif()
  set_property(GLOBAL APPEND PROPERTY JOULESCALE_FEATURES "${name}: ${state}${reason}")
endfunction()

# joulescale_missing(OPTION REASON): ends the configure step if the user demanded the part.
function(joulescale_missing option reason)
  if("${${option}}" STREQUAL "ON")
    message(FATAL_ERROR "${option}=ON, but ${reason}")
  endif()
endfunction()

function(joulescale_print_features)
  get_property(features GLOBAL PROPERTY JOULESCALE_FEATURES)
  foreach(feature IN LISTS features)
    message(STATUS "joulescale ${feature}")
  endforeach()
endfunction()
