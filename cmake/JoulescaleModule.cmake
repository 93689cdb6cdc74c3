# One function a kind of target, so that each room's CMakeLists.txt is a list of files.

# With JOULESCALE_PRECOMPILE, the heavy headers that most files include are parsed once: one precompiled header for
# tests, who add GoogleTest, and with ALL (the sanitizer builds) one for rooms and programs. Files still include what
# they use: the other builds have no such header.
set(precompiled_headers_TESTS precompiled_test)
set(precompiled_headers_ALL precompiled precompiled_test)
if(JOULESCALE_PRECOMPILE)
  foreach(header IN LISTS precompiled_headers_${JOULESCALE_PRECOMPILE})
    add_library(joulescale_${header} OBJECT "${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp")
    target_link_libraries(joulescale_${header} PRIVATE
      CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json joulescale::build_flags)
    target_precompile_headers(joulescale_${header} PRIVATE
      <algorithm> <chrono> <filesystem> <functional> <map> <memory> <optional> <span> <string> <string_view> <vector>
      <CLI/CLI.hpp> <fmt/format.h> <nlohmann/json.hpp>)
    target_compile_options(joulescale_${header} PRIVATE -fPIC)
    set_target_properties(joulescale_${header} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  endforeach()
  if(TARGET joulescale_precompiled)
    target_link_libraries(joulescale_precompiled PRIVATE joulescale::fuzz_coverage)
  endif()
  target_link_libraries(joulescale_precompiled_test PRIVATE GTest::gmock)
  target_precompile_headers(joulescale_precompiled_test PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  target_compile_options(joulescale_precompiled_test PRIVATE -O0)
endif()

# joulescale_precompile(TARGET precompiled|precompiled_test)
function(joulescale_precompile target header)
  if(NOT TARGET joulescale_${header})
    return()
  endif()
  # All users of a precompiled header must be compiled as it was: with the same code model and the same macros.
  target_link_libraries(${target} PRIVATE CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_options(${target} PRIVATE -fPIC)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_precompile_headers(${target} REUSE_FROM joulescale_${header})
endfunction()

# joulescale_add_module(NAME SOURCES … HEADERS … [PUBLIC libs…] [PRIVATE libs…])
# Static library joulescale_NAME, alias joulescale::NAME, headers included as "joulescale/…". Nested rooms use
# a name with '_' (sensors_nvml).
function(joulescale_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;PUBLIC;PRIVATE")
  set(target joulescale_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(joulescale::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/src" FILES ${arg_HEADERS})
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC}
    PRIVATE ${arg_PRIVATE} joulescale::build_flags joulescale::fuzz_coverage)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  joulescale_precompile(${target} precompiled)
endfunction()

# joulescale_add_program(NAME SOURCES … LIBS …): build/<preset>/bin/NAME
function(joulescale_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LIBS} joulescale::build_flags joulescale::fuzz_coverage)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)  # option parsing: slow to optimize, runs once
  joulescale_precompile(${name} precompiled)
endfunction()

# joulescale_add_test(NAME [SERIAL] [THREADS] SOURCES … LIBS … [LABELS unit] [LOCK name] [TIMEOUT seconds] [DEFINES …] [DEPENDS targets…])
# A GoogleTest program; each of its cases is a CTest test. Labels: unit, integration, ranks, slurm, device, browser,
# accuracy (with a sanitizer only in ./soak).
# SERIAL: nothing runs beside it. LOCK: no other test of this lock runs beside it. THREADS: threads meet here, so the thread sanitizer's build runs it.
# Targets: short_tests, all that ./test runs in a sanitizer's build; thread_tests, of these what the thread sanitizer's runs.
add_custom_target(short_tests)
add_custom_target(thread_tests)
function(joulescale_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL;THREADS" "LOCK;TIMEOUT" "SOURCES;LIBS;LABELS;DEFINES;DEPENDS")
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${name} PRIVATE
    JOULESCALE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" JOULESCALE_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
    ${arg_DEFINES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main joulescale::build_flags)
  target_compile_options(${name} PRIVATE -O0)  # optimizing what runs once takes longer than running it
  joulescale_precompile(${name} precompiled_test)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  if(NOT arg_LABELS MATCHES "browser|slurm|accuracy")
    add_dependencies(short_tests ${name})
    if(arg_THREADS)
      add_dependencies(thread_tests ${name})
    endif()
  endif()
  if(arg_THREADS)
    string(APPEND arg_LABELS "+threads")  # one label: gtest_discover_tests takes no list
  endif()
  include(GoogleTest)
  set(properties LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
  if(arg_SERIAL)
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  if(arg_LOCK)
    list(APPEND properties RESOURCE_LOCK ${arg_LOCK})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()

# joulescale_add_fuzzer(NAME SOURCES … LIBS …): a parser's fuzz harness (LLVMFuzzerTestOneInput). With
# JOULESCALE_BUILD_FUZZERS it is a libFuzzer program; otherwise a program that runs the corpus in
# tests/fuzz/corpus/NAME, registered as a test.
function(joulescale_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LIBS} joulescale::build_flags joulescale::fuzz_coverage)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  joulescale_precompile(${name} precompiled)
  add_dependencies(short_tests ${name})
  if(JOULESCALE_BUILD_FUZZERS)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus_main.cpp")
    add_test(NAME fuzz_corpus.${name} COMMAND ${name} "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
    set_tests_properties(fuzz_corpus.${name} PROPERTIES LABELS unit TIMEOUT 60)
  endif()
endfunction()
