# SPDX-License-Identifier: Apache-2.0
# hearsay_test(<name> SOURCES ... DEPS ... LABELS ...): one Catch2 executable, one CTest entry per test case.
# Catch2 2.13 (Debian 12) and 3.x (elsewhere) both work: tests include "tests/catch.hpp".
find_package(Catch2 REQUIRED)
include(Catch)
if(TARGET Catch2::Catch2WithMain AND Catch2_VERSION VERSION_GREATER_EQUAL 3)
  add_library(hearsay_catch INTERFACE)
  target_link_libraries(hearsay_catch INTERFACE Catch2::Catch2WithMain)
else()
  add_library(hearsay_catch STATIC "${CMAKE_SOURCE_DIR}/tests/catch_main.cpp")
  target_link_libraries(hearsay_catch PUBLIC Catch2::Catch2)
endif()
target_include_directories(hearsay_catch INTERFACE "${CMAKE_SOURCE_DIR}")

function(hearsay_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE hearsay_catch hearsay_options ${ARG_DEPS})
  catch_discover_tests(${name} TEST_PREFIX "${name}: " DISCOVERY_MODE POST_BUILD
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()
