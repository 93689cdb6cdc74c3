# joulescale::build_flags: language level, warnings and sanitizers of our own code. Nothing here is global.
add_library(joulescale_build_flags INTERFACE)
add_library(joulescale::build_flags ALIAS joulescale_build_flags)

target_compile_features(joulescale_build_flags INTERFACE cxx_std_20)
target_compile_options(joulescale_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wcast-qual -Wformat=2 -Wundef
  # g++ 12 raises these two for correct uses of std::variant and std::string at -O2 (GCC bugs 105562, 105651);
  # clang and the sanitizers look for the same faults.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict>
  $<$<BOOL:${JOULESCALE_WARNINGS_AS_ERRORS}>:-Werror>)

if(JOULESCALE_SANITIZE)
  target_compile_options(joulescale_build_flags INTERFACE
    -fsanitize=${JOULESCALE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(joulescale_build_flags INTERFACE -fsanitize=${JOULESCALE_SANITIZE})
  if(JOULESCALE_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Our own code is checked for undefined behaviour; code of system headers only for addresses: half as long to build.
    target_compile_options(joulescale_build_flags INTERFACE
      "-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/tests/support/ubsan.ignore")
  endif()
endif()

# joulescale::fuzz_coverage: what fuzzers learn from; for rooms and fuzzers, not for tests.
add_library(joulescale_fuzz_coverage INTERFACE)
add_library(joulescale::fuzz_coverage ALIAS joulescale_fuzz_coverage)
if(JOULESCALE_BUILD_FUZZERS)
  target_compile_options(joulescale_fuzz_coverage INTERFACE -fsanitize=fuzzer-no-link)
endif()
