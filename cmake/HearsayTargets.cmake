# SPDX-License-Identifier: Apache-2.0
# hearsay_library(<dir> DEPS <targets...>): adds hearsay_<dir> with alias hearsay::<dir>. Sub-folders add their
# sources with target_sources(hearsay_<dir> PRIVATE ...), so each folder lists its own files.
function(hearsay_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(hearsay_${name} STATIC)
  add_library(hearsay::${name} ALIAS hearsay_${name})
  target_link_libraries(hearsay_${name} PUBLIC hearsay_options ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
endfunction()
