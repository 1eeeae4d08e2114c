// SPDX-License-Identifier: Apache-2.0
// For tests of what travels between peers: examples that are nothing but numbers.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "gossip/examples/holdings.hpp"
#include "gossip/protocols/testkit.hpp"

namespace hearsay::gossip::testkit {

// Offers its lowest numbers; the label of an example is its number modulo 10.
class TinyStore final : public ExampleStore {
 public:
  TinyStore(ExampleShape shape, std::vector<std::uint32_t> ids) : shape_(shape) {
    for (const std::uint32_t id : ids) aside.emplace(id, false);
  }

  const ExampleShape& shape() const override { return shape_; }
  std::vector<Example> choose(PeerId, std::optional<double>, std::size_t most,
                              bool copies) override {
    std::vector<Example> examples;
    for (auto& [id, is_aside] : aside) {
      if (is_aside || examples.size() == most) continue;
      is_aside = !copies;
      examples.push_back(example_of(id, shape_));
    }
    return examples;
  }
  std::uint64_t take(PeerId, const std::vector<Example>& examples, bool copies) override {
    std::uint64_t taken = 0;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      if (aside.contains(examples[i].id)) continue;
      if (!copies) aside.emplace(examples[i].id, false);
      taken |= std::uint64_t{1} << i;
    }
    return taken;
  }
  void settle(std::span<const std::uint32_t> ids, std::uint64_t taken) override {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (taken >> i & 1)
        aside.erase(ids[i]);
      else
        aside[ids[i]] = false;
    }
  }
  void recollect(const Holdings& held) {
    aside.clear();
    for (const auto& [id, label] : held.labels()) aside.emplace(id, false);
    for (const auto& [taker, offer] : held.open()) {
      for (const std::uint32_t id : offer.ids) aside[id] = true;
    }
  }
  static Example example_of(std::uint32_t id, const ExampleShape& shape) {
    Example example;
    example.id = id;
    example.label = static_cast<std::uint8_t>(id % 10);
    example.image.assign(shape.values, static_cast<std::uint8_t>(id));
    return example;
  }

  std::map<std::uint32_t, bool> aside;  // [id] whether it is set aside

 private:
  ExampleShape shape_;
};

// A model with such a store.
class TinyPeerModel final : public TinyModel {
 public:
  TinyPeerModel(std::vector<float> start, ExampleShape shape, std::vector<std::uint32_t> ids)
      : TinyModel(std::move(start)), store(shape, std::move(ids)) {}
  ExampleStore* examples() override { return &store; }
  TinyStore store;
};

}  // namespace hearsay::gossip::testkit
