# SPDX-License-Identifier: Apache-2.0
# Third-party libraries, all from Debian packages (scripts/install_debian.sh). The kernels need Threads,
# OpenBLAS and xxHash alone.
find_package(Threads REQUIRED)

find_path(HEARSAY_CBLAS_INCLUDE cblas.h PATH_SUFFIXES x86_64-linux-gnu openblas-pthread openblas REQUIRED)
find_library(HEARSAY_OPENBLAS openblas REQUIRED)
add_library(hearsay_openblas INTERFACE)
target_include_directories(hearsay_openblas SYSTEM INTERFACE "${HEARSAY_CBLAS_INCLUDE}")
target_link_libraries(hearsay_openblas INTERFACE "${HEARSAY_OPENBLAS}")

find_path(HEARSAY_XXHASH_INCLUDE xxhash.h REQUIRED)
find_library(HEARSAY_XXHASH xxhash REQUIRED)
add_library(hearsay_xxhash INTERFACE)
target_include_directories(hearsay_xxhash SYSTEM INTERFACE "${HEARSAY_XXHASH_INCLUDE}")
target_link_libraries(hearsay_xxhash INTERFACE "${HEARSAY_XXHASH}")
if(NOT HEARSAY_RUNTIME)
  return()
endif()

find_package(nlohmann_json 3.11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS program_options)
# Optional: pools under mpirun, and the twins in experiments/peers.
find_package(MPI COMPONENTS C)

find_path(HEARSAY_ISAL_INCLUDE isa-l/crc.h REQUIRED)
find_library(HEARSAY_ISAL isal REQUIRED)
add_library(hearsay_isal INTERFACE)
target_include_directories(hearsay_isal SYSTEM INTERFACE "${HEARSAY_ISAL_INCLUDE}")
target_link_libraries(hearsay_isal INTERFACE "${HEARSAY_ISAL}")
