# One function a kind of target, so that each room's CMakeLists.txt is a list of files.

# joulescale_add_module(NAME SOURCES … HEADERS … [PUBLIC libs…] [PRIVATE libs…])
# Static library joulescale_NAME, alias joulescale::NAME, headers included as "joulescale/…". Nested rooms use
# a name with '_' (sensors_nvml).
function(joulescale_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;PUBLIC;PRIVATE")
  set(target joulescale_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(joulescale::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/src" FILES ${arg_HEADERS})
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} joulescale::build_flags)
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

# joulescale_add_program(NAME SOURCES … LIBS …): build/<preset>/bin/NAME
function(joulescale_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LIBS} joulescale::build_flags)
endfunction()

# joulescale_add_test(NAME SOURCES … LIBS … [LABELS unit] [TIMEOUT seconds] [DEFINES …] [DEPENDS targets…])
# A GoogleTest program; each of its cases is a CTest test. Labels: unit, integration, ranks, slurm, device, browser.
function(joulescale_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "TIMEOUT" "SOURCES;LIBS;LABELS;DEFINES;DEPENDS")
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
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  include(GoogleTest)
  set(properties LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
  if(arg_SERIAL)
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()

# joulescale_add_fuzzer(NAME SOURCES … LIBS …): a parser's fuzz harness (LLVMFuzzerTestOneInput). With
# JOULESCALE_BUILD_FUZZERS it is a libFuzzer program; otherwise a program that runs the corpus in
# tests/fuzz/corpus/NAME, registered as a test.
function(joulescale_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} joulescale::build_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  if(JOULESCALE_BUILD_FUZZERS)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus_main.cpp")
    add_test(NAME fuzz_corpus.${name} COMMAND ${name} "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
    set_tests_properties(fuzz_corpus.${name} PROPERTIES LABELS unit TIMEOUT 60)
  endif()
endfunction()
