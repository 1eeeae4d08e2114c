// SPDX-License-Identifier: Apache-2.0
// HS_CLONES compiles a function for baseline x86-64, AVX2 and AVX-512 and picks one at load time.
// The bits do not depend on the pick: lanes are written out in the source and contraction to FMA is
// off. Sanitizers run before the picking code may, so their builds keep the baseline alone.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HS_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define HS_CLONES
#endif
