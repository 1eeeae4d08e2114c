// SPDX-License-Identifier: Apache-2.0
// A warp decodes a tile: each lane takes a word of the unary part, a scan of the population counts
// says the ranks of its ones, the upper parts are put down by rank in shared memory, and then each
// lane finishes one index of 32 side by side. A CTA encodes a tile into shared memory, by atomic
// or, and copies the record out.
#include "kernels/cuda/index_api.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/ops/index_math.hpp"

namespace {

using namespace hearsay::cuda;
using namespace hearsay::kernels;

constexpr unsigned kAll = 0xFFFFFFFFu;
constexpr int kWarps = 4;          // of a CTA that decodes
constexpr uint32_t kStage = 1024;  // indices that 32 words can hold
constexpr int kEncodeThreads = 128;
constexpr int kScanThreads = 1024;

// The bytes of one record; words are assembled byte by byte at its edges, so that nothing outside
// is read. Word w holds bits 32 w .. 32 w + 31 of the payload; beyond the end there are zeros.
struct Record {
  const uint8_t* payload;
  uint32_t bytes;

  __device__ uint32_t word(uint32_t w) const {
    const uint32_t begin = 4 * w;
    if (begin >= bytes) return 0;
    const uint8_t* const from = payload + begin;
    const uint32_t skew = reinterpret_cast<uintptr_t>(from) % 4;
    // The aligned words that cover the four bytes; both lie inside unless this is an edge.
    if (begin >= skew && begin + 8 <= bytes + skew) {
      const auto* const aligned = reinterpret_cast<const uint32_t*>(from - skew);
      if (skew == 0) return __ldg(aligned);
      return __funnelshift_r(__ldg(aligned), __ldg(aligned + 1), 8 * skew);
    }
    uint32_t value = 0;
    for (uint32_t b = 0; b < 4 && begin + b < bytes; ++b)
      value |= static_cast<uint32_t>(__ldg(from + b)) << (8 * b);
    return value;
  }
  // `mask` of the bits from bit `at`.
  __device__ uint32_t bits(uint32_t at, uint32_t mask) const {
    const uint32_t low = word(at / 32);
    const uint32_t high = at % 32 > 16 ? word(at / 32 + 1) : 0;
    return __funnelshift_r(low, high, at % 32) & mask;
  }
};

// All lanes call and get the same. count is kIndexTile + 1 for what is no record of `size` bytes.
struct Header {
  uint32_t count, bytes;
};

__device__ Header header_at(const uint8_t* record, uint64_t size, int lane) {
  constexpr Header kNone{kIndexTile + 1, 0};
  if (size == 0 || size > kMostIndexBytes) return kNone;
  uint32_t count = record[0];
  if (count == kBitmapHeader) {
    if (size != kBitmapRecord) return kNone;
    const Record bitmap{record + 1, kBitmapBytes};
    uint32_t ones = 0;
    for (uint32_t w = lane; w < kBitmapBytes / 4; w += 32) ones += __popc(bitmap.word(w));
    ones = __reduce_add_sync(kAll, ones);
    return ones > kMostSparse ? Header{ones, 1} : kNone;
  }
  uint32_t bytes = 1;
  if (count >= kShortCount) {
    if (size < 2) return kNone;
    count = (count & 0x7Fu) << 8 | record[1];
    bytes = 2;
    if (count < kShortCount || count > kMostSparse) return kNone;
  }
  return {count, bytes};
}

__device__ bool is_inside(const uint64_t* at, size_t t, uint64_t bytes) {
  return at[t] <= at[t + 1] && at[t + 1] <= bytes;
}

// Counts into first[t]; scan_places then makes sums of them.
__global__ void __launch_bounds__(32 * kWarps)
    measure_tiles(const uint8_t* bytes, uint64_t size, const uint64_t* at, size_t tiles,
                  uint64_t* first, uint32_t* status) {
  const int lane = threadIdx.x % 32;
  for (size_t t = blockIdx.x * size_t{kWarps} + threadIdx.x / 32; t < tiles;
       t += size_t{kWarps} * gridDim.x) {
    bool is_good = is_inside(at, t, size);
    uint32_t count = 0;
    if (is_good) {
      const uint64_t length = at[t + 1] - at[t];
      const Header header = header_at(bytes + at[t], length, lane);
      is_good = header.count <= kIndexTile;
      if (is_good) {
        const IndexShape shape = index_shape(header.count);
        is_good = length == shape.header + shape.payload;
        count = is_good ? header.count : 0;
      }
    }
    if (lane == 0) {
      first[t + 1] = count;
      status[t] = is_good ? 0 : 1;
    }
  }
}

__device__ uint64_t value_at(const uint64_t* first, const uint64_t* to, size_t t, bool is_sizes) {
  if (!is_sizes) return to[t + 1];
  const IndexShape shape = index_shape(static_cast<uint32_t>(first[t + 1] - first[t]));
  return shape.header + shape.payload;
}

// to[t + 1] = sum of the values up to t, to[0] = 0. Each thread sums its piece, then writes it.
__global__ void __launch_bounds__(kScanThreads)
    scan_places(const uint64_t* first, uint64_t* to, size_t tiles, bool is_sizes) {
  __shared__ uint64_t sums[kScanThreads];
  const size_t piece = (tiles + kScanThreads - 1) / kScanThreads;
  const size_t begin = min(tiles, piece * threadIdx.x), end = min(tiles, begin + piece);
  uint64_t sum = 0;
  for (size_t t = begin; t < end; ++t) sum += value_at(first, to, t, is_sizes);
  sums[threadIdx.x] = sum;
  for (int step = 1; step < kScanThreads; step *= 2) {
    __syncthreads();
    const uint64_t before = static_cast<int>(threadIdx.x) >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
  }
  uint64_t run = sums[threadIdx.x] - sum;
  if (threadIdx.x == 0) to[0] = 0;
  for (size_t t = begin; t < end; ++t) {
    run += value_at(first, to, t, is_sizes);
    to[t + 1] = run;
  }
}

__device__ uint32_t inclusive_sum(uint32_t value, int lane) {
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t before = __shfl_up_sync(kAll, value, step);
    if (lane >= step) value += before;
  }
  return value;
}

// One tile by one warp.
class Decoder {
 public:
  __device__ Decoder(Record record, uint32_t count, uint32_t positions, uint16_t* out, int lane)
      : record_(record), count_(count), positions_(positions), out_(out), lane_(lane) {}

  __device__ bool list() {
    for (uint32_t j = 0; j < count_; j += 32) {
      const uint32_t mine = j + lane_;
      put(mine, mine < count_ ? record_.bits(16 * mine, 0xFFFF) : 0, count_ - j);
    }
    return ends_well(count_);
  }

  // Ones of `bits` bits; low > 0 or a bitmap: Elias-Fano adds low bits and takes the rank away.
  __device__ bool ones(uint32_t bits, uint32_t low, bool is_bitmap, uint16_t* stage) {
    const uint32_t mask = (1u << low) - 1;
    uint32_t done = 0;
    for (uint32_t base = 0; base < bits; base += kStage) {
      const uint32_t begin = base + 32 * lane_;
      uint32_t word = begin < bits ? record_.word(begin / 32) : 0;
      if (begin < bits && bits - begin < 32) word &= (1u << (bits - begin)) - 1;
      const uint32_t own = __popc(word), upto = inclusive_sum(own, lane_);
      const uint32_t total = __shfl_sync(kAll, upto, 31);
      if (done + total > count_) return false;  // the same for all lanes
      for (uint32_t rank = upto - own; word != 0; word &= word - 1, ++rank) {
        const uint32_t position = begin + __ffs(word) - 1;
        stage[rank] = static_cast<uint16_t>(is_bitmap ? position : position - done - rank);
      }
      __syncwarp();
      for (uint32_t j = 0; j < total; j += 32) {
        const uint32_t mine = j + lane_;
        const bool is_there = mine < total;
        uint32_t index = is_there ? stage[mine] : 0;
        if (low > 0 && is_there)
          index = index << low | record_.bits(bits + (done + mine) * low, mask);
        put(done + mine, index, total - j);
      }
      done += total;
      __syncwarp();
    }
    return ends_well(done);
  }

 private:
  // Lanes below `there` have an index each.
  __device__ void put(uint32_t rank, uint32_t index, uint32_t there) {
    uint32_t before = __shfl_up_sync(kAll, index, 1);
    if (lane_ == 0) before = last_;
    if (static_cast<uint32_t>(lane_) < there) {
      is_good_ &= (rank == 0 || before < index) && index < positions_;
      out_[rank] = static_cast<uint16_t>(index);
    }
    last_ = __shfl_sync(kAll, index, there < 32 ? there - 1 : 31);
  }
  __device__ bool ends_well(uint32_t done) const {
    return __all_sync(kAll, is_good_) && done == count_;
  }

  Record record_;
  uint32_t count_, positions_;
  uint16_t* out_;
  int lane_;
  uint32_t last_ = 0;
  bool is_good_ = true;
};

__device__ bool decode_tile(const uint8_t* record, uint64_t size, uint64_t room, uint32_t positions,
                            uint16_t* out, uint16_t* stage, int lane) {
  const Header header = header_at(record, size, lane);
  if (header.count > kIndexTile || header.count != room) return false;
  const IndexShape shape = index_shape(header.count);
  if (size != shape.header + shape.payload) return false;
  Decoder decoder({record + shape.header, shape.payload}, header.count, positions, out, lane);
  if (shape.codec == IndexCodec::empty) return true;
  if (shape.codec == IndexCodec::list) return decoder.list();
  if (shape.codec == IndexCodec::bitmap) return decoder.ones(kIndexTile, 0, true, stage);
  const uint32_t end = shape.high_bits + header.count * shape.low_bits;
  const bool has_ones_behind =
      end % 8 != 0 && record[shape.header + shape.payload - 1] >> (end % 8) != 0;
  return !has_ones_behind && decoder.ones(shape.high_bits, shape.low_bits, false, stage);
}

__global__ void __launch_bounds__(32 * kWarps)
    decode_tiles(const uint8_t* bytes, uint64_t size, const uint64_t* at, const uint64_t* first,
                 size_t tiles, uint64_t positions, uint16_t* indices, uint32_t* status) {
  __shared__ uint16_t stages[kWarps][kStage];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (size_t t = blockIdx.x * size_t{kWarps} + warp; t < tiles; t += size_t{kWarps} * gridDim.x) {
    if (status[t] != 0) continue;
    const uint64_t begin = uint64_t{t} * kIndexTile;
    const uint64_t left = positions > begin ? positions - begin : 0;
    const bool is_good = is_inside(at, t, size) && first[t] <= first[t + 1] &&
                         decode_tile(bytes + at[t], at[t + 1] - at[t], first[t + 1] - first[t],
                                     static_cast<uint32_t>(left < kIndexTile ? left : kIndexTile),
                                     indices + first[t], stages[warp], lane);
    if (lane == 0 && !is_good) status[t] = 1;
  }
}

__device__ void or_bits(uint32_t* words, uint32_t at, uint32_t value) {
  const uint64_t both = uint64_t{value} << (at % 32);
  atomicOr(words + at / 32, static_cast<uint32_t>(both));
  if (both >> 32 != 0) atomicOr(words + at / 32 + 1, static_cast<uint32_t>(both >> 32));
}

// The record is put together in shared memory from byte `skew` on, so that its words lie as those
// of the destination.
__global__ void __launch_bounds__(kEncodeThreads)
    encode_tiles(const uint16_t* indices, const uint64_t* first, const uint64_t* at, size_t tiles,
                 uint8_t* bytes) {
  __shared__ uint32_t words[kMostIndexBytes / 4 + 4];
  for (size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const uint16_t* const from = indices + first[t];
    const auto count = static_cast<uint32_t>(first[t + 1] - first[t]);
    const IndexShape shape = index_shape(count);
    uint8_t* const to = bytes + at[t];
    const uint32_t skew = reinterpret_cast<uintptr_t>(to) % 4;
    const uint32_t end = skew + shape.header + shape.payload, payload = 8 * (skew + shape.header);
    __syncthreads();
    for (uint32_t w = threadIdx.x; w < end / 4 + 2; w += kEncodeThreads) words[w] = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
      const uint32_t head = shape.header == 2 ? 0x80u | count >> 8 | (count & 0xFFu) << 8
                            : shape.codec == IndexCodec::bitmap ? kBitmapHeader
                                                                : count;
      or_bits(words, 8 * skew, head);
    }
    const uint32_t low = shape.low_bits, mask = (1u << low) - 1;
    for (uint32_t j = threadIdx.x; j < count; j += kEncodeThreads) {
      const uint32_t index = from[j];
      if (shape.codec == IndexCodec::list) {
        or_bits(words, payload + 16 * j, index);
      } else if (shape.codec == IndexCodec::bitmap) {
        or_bits(words, payload + index, 1);
      } else {
        or_bits(words, payload + (index >> low) + j, 1);
        or_bits(words, payload + shape.high_bits + j * low, index & mask);
      }
    }
    __syncthreads();
    const auto* const own = reinterpret_cast<const uint8_t*>(words);
    for (uint32_t w = threadIdx.x; 4 * w < end; w += kEncodeThreads) {
      if (4 * w >= skew && 4 * w + 4 <= end) {
        reinterpret_cast<uint32_t*>(to - skew)[w] = words[w];
      } else {
        for (uint32_t b = max(4 * w, skew); b < min(4 * w + 4, end); ++b) to[b - skew] = own[b];
      }
    }
  }
}

int grid_for(size_t items, int each_sm, cudaError_t& error) {
  const size_t most = static_cast<size_t>(multiprocessors(error)) * each_sm;
  return static_cast<int>(items < most ? items : most);
}

}  // namespace

extern "C" int hs_cuda_index_places(const uint64_t* d_first, size_t tiles, uint64_t* d_at,
                                    void* stream) {
  scan_places<<<1, kScanThreads, 0, as_stream(stream)>>>(d_first, d_at, tiles, true);
  return cudaGetLastError();
}

extern "C" int hs_cuda_index_encode(const uint16_t* d_indices, const uint64_t* d_first,
                                    const uint64_t* d_at, size_t tiles, uint8_t* d_bytes,
                                    void* stream) {
  if (tiles == 0) return 0;
  cudaError_t result = cudaSuccess;
  const int grid = grid_for(tiles, 64, result);
  if (result != cudaSuccess) return result;
  encode_tiles<<<grid, kEncodeThreads, 0, as_stream(stream)>>>(d_indices, d_first, d_at, tiles,
                                                               d_bytes);
  return cudaGetLastError();
}

extern "C" int hs_cuda_index_measure(const uint8_t* d_bytes, uint64_t bytes, const uint64_t* d_at,
                                     size_t tiles, uint64_t* d_first, uint32_t* d_status,
                                     void* stream) {
  cudaError_t result = cudaSuccess;
  const int grid = grid_for((tiles + kWarps - 1) / kWarps, 64, result);
  if (result != cudaSuccess) return result;
  if (tiles > 0) {
    measure_tiles<<<grid, 32 * kWarps, 0, as_stream(stream)>>>(d_bytes, bytes, d_at, tiles, d_first,
                                                               d_status);
  }
  scan_places<<<1, kScanThreads, 0, as_stream(stream)>>>(d_first, d_first, tiles, false);
  return cudaGetLastError();
}

extern "C" int hs_cuda_index_decode(const uint8_t* d_bytes, uint64_t bytes, const uint64_t* d_at,
                                    const uint64_t* d_first, size_t tiles, uint64_t positions,
                                    uint16_t* d_indices, uint32_t* d_status, void* stream) {
  if (tiles == 0) return 0;
  cudaError_t result = cudaSuccess;
  const int grid = grid_for((tiles + kWarps - 1) / kWarps, 64, result);
  if (result != cudaSuccess) return result;
  decode_tiles<<<grid, 32 * kWarps, 0, as_stream(stream)>>>(d_bytes, bytes, d_at, d_first, tiles,
                                                            positions, d_indices, d_status);
  return cudaGetLastError();
}
