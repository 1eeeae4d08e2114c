// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "kernels/bench/bench_indices.hpp"
#include "kernels/bench/cpu_cases.hpp"

namespace hearsay::kernels {
namespace {

KernelCase encode_case(std::size_t n, Workers& workers) {
  auto in = std::make_shared<BenchIndices>(bench_indices(n));
  auto out = std::make_shared<std::vector<std::uint8_t>>(in->bytes.size());
  KernelCase each;
  each.bytes = in->traffic();
  each.run = [=, &workers] {
    for_tiles(workers, in->tiles(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t t = begin; t < end; ++t) {
        encode_indices(
            std::span(in->indices).subspan(in->first[t], in->first[t + 1] - in->first[t]),
            std::span(*out).subspan(in->at[t], in->at[t + 1] - in->at[t]));
      }
    });
  };
  // What was written decodes to what was coded.
  each.wrong = [=] {
    std::uint64_t wrong = 0;
    std::vector<std::uint16_t> back(kIndexTile);
    for (std::size_t t = 0; t < in->tiles(); ++t) {
      const auto tile =
          std::span(in->indices).subspan(in->first[t], in->first[t + 1] - in->first[t]);
      IndexRecord record;
      const bool is_good =
          decode_indices(std::span(*out).subspan(in->at[t]), kIndexTile, back, record);
      wrong += !is_good || record.count != tile.size() ||
               !std::equal(tile.begin(), tile.end(), back.begin());
    }
    return wrong;
  };
  return each;
}

KernelCase decode_case(std::size_t n, Workers& workers) {
  auto in = std::make_shared<BenchIndices>(bench_indices(n));
  auto out = std::make_shared<std::vector<std::uint16_t>>(in->indices.size());
  auto refused = std::make_shared<std::vector<std::size_t>>(workers.count());
  KernelCase each;
  each.bytes = in->traffic();
  each.run = [=, &workers] {
    for_tiles(workers, in->tiles(), 1, [&](std::size_t begin, std::size_t end, std::size_t worker) {
      std::size_t bad = 0;
      for (std::size_t t = begin; t < end; ++t) {
        IndexRecord record;
        bad += !decode_indices(
            std::span(in->bytes).subspan(in->at[t], in->at[t + 1] - in->at[t]), kIndexTile,
            std::span(*out).subspan(in->first[t], in->first[t + 1] - in->first[t]), record);
      }
      (*refused)[worker] = bad;
    });
  };
  each.wrong = [=] {
    std::uint64_t wrong = 0;
    for (const std::size_t bad : *refused) wrong += bad;
    for (std::size_t j = 0; j < out->size(); ++j) wrong += (*out)[j] != in->indices[j];
    return wrong;
  };
  return each;
}

}  // namespace

std::vector<CpuCaseMaker> cpu_index_cases() {
  return {{"index encode 1%", encode_case}, {"index decode 1%", decode_case}};
}

}  // namespace hearsay::kernels
