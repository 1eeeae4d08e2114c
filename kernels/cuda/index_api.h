/* SPDX-License-Identifier: Apache-2.0
 * CUDA twins of kernels/ops/index_code.hpp for many wire tiles at once: the same records. Tile t of
 * T has its indices at d_indices[d_first[t] .. d_first[t + 1]) and its record at
 * d_bytes[d_at[t] .. d_at[t + 1]); both lists of T + 1 ascend and begin with 0. T < 2^31.
 * Conventions as in merge_api.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* d_at from d_first: where the records lie. One CTA. Traffic: 16 B a tile. */
int hs_cuda_index_places(const uint64_t* d_first, size_t tiles, uint64_t* d_at, void* stream);

/* Writes the records; indices are trusted to ascend strictly, d_at is that of index_places.
 * Traffic: 2 B an index read, about 1.1 written. */
int hs_cuda_index_encode(const uint16_t* d_indices, const uint64_t* d_first, const uint64_t* d_at,
                         size_t tiles, uint8_t* d_bytes, void* stream);

/* From records of others. d_at comes from measure_indices on the CPU or with the message; nothing
 * about it is trusted but that the d_bytes have `bytes` bytes. measure writes d_first (sums of the
 * counts; a bad record counts 0) and d_status[t] (0, or 1 for what is no record of that very
 * length). decode writes a tile's indices where d_status[t] is 0 and they fit into d_first's range,
 * and sets d_status[t] to 1 unless they ascend below the end of the tile: `positions` in all,
 * 65,536 a tile. Indices of a tile with status 1 mean nothing and are not to be used. Traffic of
 * decode: 1.1 B an index read, 2 written. */
int hs_cuda_index_measure(const uint8_t* d_bytes, uint64_t bytes, const uint64_t* d_at,
                          size_t tiles, uint64_t* d_first, uint32_t* d_status, void* stream);
int hs_cuda_index_decode(const uint8_t* d_bytes, uint64_t bytes, const uint64_t* d_at,
                         const uint64_t* d_first, size_t tiles, uint64_t positions,
                         uint16_t* d_indices, uint32_t* d_status, void* stream);

#ifdef __cplusplus
}
#endif
