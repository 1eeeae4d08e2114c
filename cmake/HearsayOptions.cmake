# SPDX-License-Identifier: Apache-2.0
# One place for language level, warnings and floating-point rules: interface target hearsay_options.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")

find_program(HEARSAY_CCACHE ccache)
if(HEARSAY_CCACHE)
  # So that it keeps what was compiled with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    "${HEARSAY_CCACHE}")
endif()

add_library(hearsay_options INTERFACE)
target_include_directories(hearsay_options INTERFACE "${CMAKE_SOURCE_DIR}")
# -ffp-contract=off: a * b + c rounds twice on every machine, so weights do not depend on the compiler's taste.
# Precompiled, the standard library is no system header any more: its false alarms about array bounds are off then.
# g++ 12 warns of uninitialised members of variant alternatives that are not there (a known false alarm): off.
target_compile_options(hearsay_options INTERFACE -Wall -Wextra $<$<COMPILE_LANGUAGE:CXX>:-Wpedantic> -Wshadow -Wconversion
  -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<AND:$<BOOL:${HEARSAY_PCH}>,$<CXX_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:CXX>>:-fpch-preprocess;-Wno-array-bounds> -ffp-contract=off)
if(HEARSAY_SANITIZE)
  # Asio's fences are ones that ThreadSanitizer does not model; it has no false alarms from them.
  target_compile_options(hearsay_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  target_compile_options(hearsay_options INTERFACE -fsanitize=${HEARSAY_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(hearsay_options INTERFACE -fsanitize=${HEARSAY_SANITIZE})
endif()
