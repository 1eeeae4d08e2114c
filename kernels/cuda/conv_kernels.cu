// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/conv_kernels.cuh"

#include "kernels/cuda/launch.cuh"

namespace hearsay::cuda {
namespace {

// A layer's numbers in 32 bits: what is indexed inside one slot stays below 2^31.
struct Shape {
  unsigned in, out, height, width, kernel, conv_height, conv_width, pool_height, pool_width;
};

Shape shape_of(const Layer& layer) {
  const auto narrow = [](std::size_t n) { return static_cast<unsigned>(n); };
  return {narrow(layer.in),
          narrow(layer.out),
          narrow(layer.height),
          narrow(layer.width),
          narrow(layer.kernel),
          narrow(layer.conv_height()),
          narrow(layer.conv_width()),
          narrow(layer.conv_height() / 2),
          narrow(layer.conv_width() / 2)};
}

// grid (values of a slot, slots)
dim3 grid_of(SlotRange range, std::size_t count) {
  return dim3(static_cast<unsigned>((count + kBlock - 1) / kBlock), range.count);
}

__global__ void take(SlotRange range, Shape s, unsigned count, std::size_t slot_inputs,
                     const float* x, float* patches) {
  const unsigned i = blockIdx.x * kBlock + threadIdx.x;
  if (i >= count) return;
  const std::size_t slot = range.first + blockIdx.y;
  const unsigned kk = s.kernel * s.kernel, patch = s.in * kk;
  const unsigned place = i / patch, within = i % patch;
  const unsigned channel = within / kk, ky = within % kk / s.kernel, kx = within % s.kernel;
  const unsigned area = s.conv_height * s.conv_width;
  const unsigned example = place / area, position = place % area;
  const unsigned row = position / s.conv_width + ky, column = position % s.conv_width + kx;
  patches[slot * count + i] =
      x[slot * slot_inputs + ((example * s.in + channel) * s.height + row) * s.width + column];
}

__global__ void put(SlotRange range, Shape s, unsigned count, std::size_t slot_patches,
                    const float* patches, float* dx) {
  const unsigned i = blockIdx.x * kBlock + threadIdx.x;
  if (i >= count) return;
  const std::size_t slot = range.first + blockIdx.y;
  const unsigned column = i % s.width, row = i / s.width % s.height;
  const unsigned channel = i / (s.width * s.height) % s.in,
                 example = i / (s.width * s.height * s.in);
  const unsigned kk = s.kernel * s.kernel, patch = s.in * kk;
  const float* here = patches + slot * slot_patches +
                      std::size_t{example} * s.conv_height * s.conv_width * patch + channel * kk;
  float sum = 0.0f;
  for (unsigned ky = 0; ky < s.kernel; ++ky) {
    for (unsigned kx = 0; kx < s.kernel; ++kx) {
      const unsigned top = row - ky, left = column - kx;  // below zero wraps to too large
      if (top >= s.conv_height || left >= s.conv_width) continue;
      sum += here[std::size_t{top * s.conv_width + left} * patch + ky * s.kernel + kx];
    }
  }
  dx[slot * count + i] = sum;
}

// Channels run fastest, as they do in the sums.
__global__ void pool(SlotRange range, Shape s, unsigned count, std::size_t slot_sums,
                     const float* sums, float* y, std::uint8_t* choices) {
  const unsigned i = blockIdx.x * kBlock + threadIdx.x;
  if (i >= count) return;
  const std::size_t slot = range.first + blockIdx.y;
  const unsigned channel = i % s.out, column = i / s.out % s.pool_width;
  const unsigned row = i / (s.out * s.pool_width) % s.pool_height;
  const unsigned example = i / (s.out * s.pool_width * s.pool_height);
  const float* from = sums + slot * slot_sums +
                      std::size_t{example} * s.conv_height * s.conv_width * s.out + channel;
  float best = 0.0f;
  std::uint8_t choice = 0;
  for (unsigned c = 0; c < 4; ++c) {
    const unsigned position = (2 * row + c / 2) * s.conv_width + 2 * column + c % 2;
    const float value = from[std::size_t{position} * s.out];
    if (c == 0 || value > best || value != value) {
      best = value;
      choice = static_cast<std::uint8_t>(c);
    }
  }
  const std::size_t to =
      slot * count + ((example * s.out + channel) * s.pool_height + row) * s.pool_width + column;
  y[to] = best < 0.0f ? 0.0f : best;
  choices[to] = choice;
}

__global__ void unpool(SlotRange range, Shape s, unsigned count, std::size_t slot_outputs,
                       const float* y, const std::uint8_t* choices, const float* dy,
                       float* d_sums) {
  const unsigned i = blockIdx.x * kBlock + threadIdx.x;
  if (i >= count) return;
  const std::size_t slot = range.first + blockIdx.y;
  const unsigned channel = i % s.out, column = i / s.out % s.conv_width;
  const unsigned row = i / (s.out * s.conv_width) % s.conv_height;
  const unsigned example = i / (s.out * s.conv_width * s.conv_height);
  float value = 0.0f;
  if (row / 2 < s.pool_height && column / 2 < s.pool_width) {
    const std::size_t from =
        slot * slot_outputs +
        ((example * s.out + channel) * s.pool_height + row / 2) * s.pool_width + column / 2;
    if (choices[from] == row % 2 * 2 + column % 2 && y[from] > 0.0f) value = dy[from];
  }
  d_sums[slot * count + i] = value;
}

// One block a channel and slot: strided sums, then a tree.
__global__ void pooled_bias(SlotRange range, Shape s, unsigned rows, const float* y,
                            const float* dy, float* d_bias, std::size_t stride) {
  __shared__ float sums[kBlock];
  const std::size_t slot = range.first + blockIdx.y;
  const unsigned area = s.pool_height * s.pool_width, channel = blockIdx.x;
  float sum = 0.0f;
  for (unsigned i = threadIdx.x; i < rows * area; i += kBlock) {
    const std::size_t from = ((slot * rows + i / area) * s.out + channel) * area + i % area;
    sum += y[from] > 0.0f ? dy[from] : 0.0f;
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned width = kBlock / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) sums[threadIdx.x] += sums[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) d_bias[slot * stride + channel] = sums[0];
}

}  // namespace

void take_patches(SlotRange range, const Layer& layer, std::size_t rows, const float* x,
                  float* patches, cudaStream_t stream) {
  const std::size_t count = rows * layer.positions() * layer.patch();
  take<<<grid_of(range, count), kBlock, 0, stream>>>(
      range, shape_of(layer), static_cast<unsigned>(count), rows * layer.inputs(), x, patches);
}

void put_patches(SlotRange range, const Layer& layer, std::size_t rows, const float* patches,
                 float* dx, cudaStream_t stream) {
  const std::size_t count = rows * layer.inputs();
  put<<<grid_of(range, count), kBlock, 0, stream>>>(
      range, shape_of(layer), static_cast<unsigned>(count),
      rows * layer.positions() * layer.patch(), patches, dx);
}

void pool_forward(SlotRange range, const Layer& layer, std::size_t rows, const float* sums,
                  float* y, std::uint8_t* choices, cudaStream_t stream) {
  const std::size_t count = rows * layer.outputs();
  pool<<<grid_of(range, count), kBlock, 0, stream>>>(
      range, shape_of(layer), static_cast<unsigned>(count), rows * layer.positions() * layer.out,
      sums, y, choices);
}

void pool_backward(SlotRange range, const Layer& layer, std::size_t rows, const float* y,
                   const std::uint8_t* choices, const float* dy, float* d_sums,
                   cudaStream_t stream) {
  const std::size_t count = rows * layer.positions() * layer.out;
  unpool<<<grid_of(range, count), kBlock, 0, stream>>>(
      range, shape_of(layer), static_cast<unsigned>(count), rows * layer.outputs(), y, choices, dy,
      d_sums);
}

void pooled_bias_gradient(SlotRange range, const Layer& layer, std::size_t rows, const float* y,
                          const float* dy, float* d_bias, std::size_t stride, cudaStream_t stream) {
  pooled_bias<<<dim3(static_cast<unsigned>(layer.out), range.count), kBlock, 0, stream>>>(
      range, shape_of(layer), static_cast<unsigned>(rows), y, dy, d_bias, stride);
}

}  // namespace hearsay::cuda
