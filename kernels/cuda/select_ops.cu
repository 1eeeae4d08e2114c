// SPDX-License-Identifier: Apache-2.0
// The entry points of a selection: checks sizes, lays out the workspace, queues the steps.
#include <cfloat>
#include <cstring>

#include "kernels/cuda/select_state.cuh"

namespace {

using namespace hearsay::cuda;

constexpr size_t kAlign = 256;
constexpr size_t kMostValues = 0xffffffffu;

size_t padded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Room for the candidates of a guarded sample: a quarter more than k, and what the sample cannot
// tell apart when k is small.
size_t room_for_candidates(size_t n, size_t k) {
  if (k > n) k = n;
  const size_t room = k + k / 4 + n / 4096 + 65'536;
  return room < n ? room : n;
}

SelectWork lay_out(size_t n, size_t k, char* at, size_t* bytes) {
  char* const begin = at;
  const auto take = [&at](size_t count, size_t each) {
    char* const here = at;
    at += padded(count * each);
    return here;
  };
  SelectWork work;
  work.capacity = room_for_candidates(n, k);
  work.state = reinterpret_cast<SelectState*>(take(1, sizeof(SelectState)));
  work.bins = reinterpret_cast<uint32_t*>(take(kSelectBinSets * kSelectBins, sizeof(uint32_t)));
  work.slice_sum = reinterpret_cast<uint32_t*>(take(kSelectSlices, sizeof(uint32_t)));
  work.slot = reinterpret_cast<uint2*>(take(select_tiles(n), sizeof(uint2)));
  work.count = reinterpret_cast<uint2*>(take(select_tiles(n), sizeof(uint2)));
  work.group = reinterpret_cast<uint2*>(take(select_groups(n), sizeof(uint2)));
  work.index = reinterpret_cast<uint32_t*>(take(work.capacity, sizeof(uint32_t)));
  work.value = reinterpret_cast<float*>(take(work.capacity, sizeof(float)));
  work.old = reinterpret_cast<float*>(take(work.capacity, sizeof(float)));
  *bytes = static_cast<size_t>(at - begin);
  return work;
}

struct Launch {
  SelectWork work;
  int multiprocessors = 0, grid = 0;
};

// Everything up to the first kernel: the state and the bins are zero.
cudaError_t prepare(const HsCudaSelectFrom* from, const HsCudaSelectOut* out, size_t k,
                    void* memory, size_t bytes, cudaStream_t on, Launch& launch) {
  size_t needed = 0;
  if (from->n > kMostValues || from->kind < 0 || from->kind > 1 || from->type < HS_SELECT_FP32 ||
      from->type > HS_SELECT_BF16)
    return cudaErrorInvalidValue;
  launch.work = lay_out(from->n, k, static_cast<char*>(memory), &needed);
  if (needed > bytes || out->d_tile_begin == nullptr) return cudaErrorInvalidValue;
  cudaError_t error = cudaSuccess;
  launch.multiprocessors = multiprocessors(error);
  if (error != cudaSuccess) return error;
  launch.grid = launch.multiprocessors * 8;
  const size_t zeros =
      padded(sizeof(SelectState)) + kSelectBinSets * size_t{kSelectBins} * sizeof(uint32_t);
  return cudaMemsetAsync(memory, 0, zeros, on);
}

template <typename T>
SelectSource<T> source_of(const HsCudaSelectFrom& from) {
  return {static_cast<T*>(from.d_w),
          static_cast<T*>(from.d_published),
          from.n,
          is_aligned16(from.d_w) && is_aligned16(from.d_published),
          from.kind == 1,
          from.clear_selected != 0};
}

// `steps` with the arrays in their type.
template <typename Steps>
cudaError_t of_type(const HsCudaSelectFrom& from, const Steps& steps) {
  return from.type == HS_SELECT_BF16 ? steps(source_of<Bf16>(from)) : steps(source_of<float>(from));
}

}  // namespace

extern "C" size_t hs_cuda_select_workspace(size_t n, size_t k) {
  size_t bytes = 0;
  lay_out(n, k, nullptr, &bytes);
  return bytes;
}

extern "C" int hs_cuda_select_largest(const HsCudaSelectFrom* from, size_t k, uint32_t prior,
                                      const HsCudaSelectOut* out, void* d_workspace,
                                      size_t workspace_bytes, HsCudaSelected* d_selected,
                                      void* stream) {
  if (out->capacity < (k < from->n ? k : from->n)) return cudaErrorInvalidValue;
  cudaStream_t on = as_stream(stream);
  Launch launch;
  cudaError_t error = prepare(from, out, k, d_workspace, workspace_bytes, on, launch);
  if (error != cudaSuccess) return error;
  return of_type(*from, [&](const auto& source) {
    select_guess(source, launch.work, k, prior, on);
    if (source.n > 0) error = select_collect(source, launch.work, launch.multiprocessors, on);
    if (error != cudaSuccess) return error;
    select_narrow(source, launch.work, k, launch.grid, on);
    select_emit(source, launch.work, *out, d_selected, on);
    return cudaGetLastError();
  });
}

extern "C" int hs_cuda_select_above(const HsCudaSelectFrom* from, float tau,
                                    const HsCudaSelectOut* out, void* d_workspace,
                                    size_t workspace_bytes, HsCudaSelected* d_selected,
                                    void* stream) {
  if (!(tau > 0.0f) || tau > FLT_MAX) return cudaErrorInvalidValue;
  cudaStream_t on = as_stream(stream);
  Launch launch;
  cudaError_t error = prepare(from, out, out->capacity, d_workspace, workspace_bytes, on, launch);
  if (error != cudaSuccess) return error;
  uint32_t key = 0;
  std::memcpy(&key, &tau, sizeof key);
  return of_type(*from, [&](const auto& source) {
    select_given(launch.work, key, on);
    if (source.n > 0) error = select_collect(source, launch.work, launch.multiprocessors, on);
    if (error != cudaSuccess) return error;
    select_restore(source, launch.work, launch.grid, on);
    select_emit(source, launch.work, *out, d_selected, on);
    return cudaGetLastError();
  });
}
