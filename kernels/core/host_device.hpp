// SPDX-License-Identifier: Apache-2.0
// HS_HD marks a function of numbers alone that the CPU and the CUDA version of an operator share, so
// that both have the same bits by construction. The only place that asks which compiler reads it.
#pragma once

#if defined(__CUDACC__)
#define HS_HD __host__ __device__
#else
#define HS_HD
#endif
