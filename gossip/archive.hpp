// SPDX-License-Identifier: Apache-2.0
// State to keep and take up again: one member function `state(Archive&)` a class names its fields
// once, for both directions. What is small becomes JSON; weights (snapshots and messages on their
// way, block marks) go to a table of arrays beside it, each array once however often it is referred
// to; bytes of a message lie there four to a value.
// Loading takes any bytes: what is missing, of another kind or out of range throws ArchiveFault
// with the path of the field, before anything is allocated that the text does not hold. No I/O
// here. Lane: that of the objects. Cost: the table shares snapshots; array() copies.
#pragma once

#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/core/buffer.hpp"
#include "kernels/core/rng.hpp"
#include "kernels/core/strong_id.hpp"
#include "merge/packed.hpp"
#include "merge/snapshot.hpp"

namespace hearsay::gossip {

// The state does not fit the object that is to take it: "peers.p03.clock.samples: is missing".
class ArchiveFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Archive;

template <typename T>
concept HasState = requires(T& value, Archive& archive) {
  value.state(archive);
};

class Archive {
 public:
  using Json = nlohmann::ordered_json;
  using Arrays = std::vector<merge::SnapshotRef>;

  Archive() : arrays_(std::make_shared<Arrays>()), node_(&own_) { own_ = Json::object(); }
  Archive(Json json, Arrays arrays)  // to load from
      : loading_(true),
        own_(std::move(json)),
        arrays_(std::make_shared<Arrays>(std::move(arrays))),
        node_(&own_) {}
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  // When loading: how many values the model has that this state is loaded for.
  void of_model(std::size_t values) { model_values_ = values; }
  // From here on down ids are those of a pool of this size, and arrays are whole models.
  void of_pool(std::uint32_t peers) { pool_peers_ = peers; }

  bool loading() const noexcept { return loading_; }
  const Json& json() const noexcept { return own_; }
  const Arrays& arrays() const noexcept { return *arrays_; }

  // A field of the object that is being kept or taken up.
  template <typename T>
  Archive& operator()(const char* key, T& value) {
    if (!loading_) {
      save((*node_)[key], value, key);
      return *this;
    }
    const auto found = node_->is_object() ? node_->find(key) : node_->end();
    if (!node_->is_object() || found == node_->end()) fail(key, "is missing");
    load(*found, value, key);
    return *this;
  }

  // When loading: whether there is such a field, for those that are kept only where they are set.
  bool has(const char* key) const { return loading_ && node_->is_object() && node_->contains(key); }

  // A buffer of weights; when loading, of the size that it had.
  Archive& array(const char* key, kernels::Buffer<float>& values) {
    merge::SnapshotRef copy;
    if (!loading_ && values.size() > 0) copy = copy_of(values.span());
    (*this)(key, copy);
    if (!loading_) return *this;
    values = copy ? kernels::Buffer<float>(copy->size()) : kernels::Buffer<float>();
    if (copy) std::copy(copy->span().begin(), copy->span().end(), values.data());
    return *this;
  }

  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw ArchiveFault(path_ + key + ": " + what);
  }

 private:
  // About a year: sums and small multiples of run-clock times that were loaded do not overflow.
  static constexpr std::int64_t kMostTime_ns = std::int64_t{1} << 55;

  Archive(Archive& parent, Json& node, const std::string& key)
      : loading_(parent.loading_),
        arrays_(parent.arrays_),
        node_(&node),
        path_(parent.path_ + key + "."),
        model_values_(parent.model_values_),
        pool_peers_(parent.pool_peers_) {}

  static merge::SnapshotRef copy_of(std::span<const float> values) {
    auto copy = std::make_shared<merge::Snapshot>();
    copy->values = kernels::Buffer<float>(values.size());
    std::copy(values.begin(), values.end(), copy->values.data());
    return copy;
  }

  // --- one value, by kind ---
  template <typename T>
  void save(Json& out, T& value, const std::string& key) {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
      out = value;
    } else if constexpr (std::is_enum_v<T>) {
      out = static_cast<std::int64_t>(value);
    } else if constexpr (std::is_integral_v<T>) {
      out = value;
    } else if constexpr (std::is_floating_point_v<T>) {
      out = value;  // shortest text that gives the same bits
      if (!std::isfinite(value)) out = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    } else {
      save_other(out, value, key);
    }
  }

  template <typename T>
  void load(Json& in, T& value, const std::string& key) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!in.is_boolean()) fail(key, "is no truth value");
      value = in.get<bool>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!in.is_string()) fail(key, "is no text");
      value = in.get<std::string>();
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      load(in, number, key);
      value = static_cast<T>(number);
    } else if constexpr (std::is_integral_v<T>) {
      load_integer(in, value, key);
    } else if constexpr (std::is_floating_point_v<T>) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      if (in == "nan")
        value = std::numeric_limits<T>::quiet_NaN();
      else if (in == "inf" || in == "-inf")
        value = static_cast<T>(in == "inf" ? kInfinity : -kInfinity);
      else if (in.is_number())
        value = in.get<T>();
      else
        fail(key, "is no number");
    } else {
      load_other(in, value, key);
    }
  }

  template <std::integral T>
  void load_integer(const Json& in, T& value, const std::string& key) const {
    if (!in.is_number_integer()) fail(key, "is no whole number");
    if (in.is_number_unsigned()) {
      const auto number = in.get<std::uint64_t>();
      if (!std::in_range<T>(number)) fail(key, "is out of range");
      value = static_cast<T>(number);
    } else {
      const auto number = in.get<std::int64_t>();
      if (!std::in_range<T>(number)) fail(key, "is out of range");
      value = static_cast<T>(number);
    }
  }

  void save_other(Json& out, kernels::Rng& rng, const std::string&) { out = rng.position(); }
  void load_other(Json& in, kernels::Rng& rng, const std::string& key) {
    std::uint64_t position = 0;
    load(in, position, key);
    rng.seek(position);
  }

  void save_other(Json& out, kernels::PeerId& id, const std::string&) { out = id.value; }
  void load_other(Json& in, kernels::PeerId& id, const std::string& key) {
    load(in, id.value, key);
    if (pool_peers_ && id.value >= *pool_peers_) fail(key, "is no peer of this pool");
  }

  void save_other(Json& out, std::chrono::nanoseconds& time, const std::string&) {
    out = std::int64_t{time.count()};
  }
  void load_other(Json& in, std::chrono::nanoseconds& time, const std::string& key) {
    std::int64_t count = 0;
    load(in, count, key);
    if (count < -kMostTime_ns || count > kMostTime_ns) fail(key, "is out of range");
    time = std::chrono::nanoseconds(count);
  }

  void save_other(Json& out, merge::SnapshotRef& array, const std::string&) {
    if (!array) return;  // null
    std::size_t index = 0;
    while (index < arrays_->size() && (*arrays_)[index] != array) ++index;
    if (index == arrays_->size()) arrays_->push_back(array);
    out = index;
  }
  void load_other(Json& in, merge::SnapshotRef& array, const std::string& key) {
    array = nullptr;
    if (in.is_null()) return;
    std::size_t index = 0;
    load(in, index, key);
    if (index >= arrays_->size()) fail(key, "refers to an array that is not there");
    array = (*arrays_)[index];
    if (pool_peers_ && model_values_ && array->size() != *model_values_)
      fail(key, "refers to an array that is no model of this size");
  }

  // [bytes, array]; the last value is filled up with zeros.
  void save_other(Json& out, merge::PackedRef& packed, const std::string& key) {
    if (!packed) return;  // null
    const std::vector<std::uint8_t>& bytes = packed->bytes;
    auto array = std::make_shared<merge::Snapshot>();
    array->values = kernels::Buffer<float>((bytes.size() + sizeof(float) - 1) / sizeof(float));
    std::memset(array->values.data(), 0, array->values.size() * sizeof(float));
    if (!bytes.empty()) std::memcpy(array->values.data(), bytes.data(), bytes.size());
    merge::SnapshotRef kept = std::move(array);
    out = Json::array({bytes.size(), nullptr});
    save(out[1], kept, key);
  }
  void load_other(Json& in, merge::PackedRef& packed, const std::string& key) {
    packed = nullptr;
    if (in.is_null()) return;
    if (!in.is_array() || in.size() != 2) fail(key, "is no message");
    std::size_t size = 0, index = 0;
    load(in[0], size, key);
    load(in[1], index, key);
    if (index >= arrays_->size()) fail(key, "refers to an array that is not there");
    const merge::Snapshot& array = *(*arrays_)[index];
    const std::size_t held = array.values.size() * sizeof(float);
    if (size > held || held - size >= sizeof(float)) fail(key, "has not the size that it names");
    auto message = std::make_shared<merge::Packed>();
    message->bytes.resize(size);
    if (size > 0) std::memcpy(message->bytes.data(), array.values.data(), size);
    packed = std::move(message);
  }

  template <typename T>
  void save_other(Json& out, std::optional<T>& value, const std::string& key) {
    if (value) save(out, *value, key);
  }
  template <typename T>
  void load_other(Json& in, std::optional<T>& value, const std::string& key) {
    value.reset();
    if (in.is_null()) return;
    value = T{};
    load(in, *value, key);
  }

  template <typename A, typename B>
  void save_other(Json& out, std::pair<A, B>& value, const std::string& key) {
    out = Json::array({nullptr, nullptr});
    save(out[0], value.first, key);
    save(out[1], value.second, key);
  }
  template <typename A, typename B>
  void load_other(Json& in, std::pair<A, B>& value, const std::string& key) {
    if (!in.is_array() || in.size() != 2) fail(key, "is no pair");
    load(in[0], value.first, key);
    load(in[1], value.second, key);
  }

  template <typename List>
  void save_list(Json& out, List& list, const std::string& key) {
    out = Json::array();
    for (auto&& value : list) {
      auto copy = value;  // elements of sets and of vector<bool> cannot be referred to
      save(out.emplace_back(), copy, key);
    }
  }
  template <typename T, typename List>
  void load_list(Json& in, List& list, const std::string& key) {
    if (!in.is_array()) fail(key, "is no list");
    list.clear();
    for (Json& each : in) {
      T value{};
      load(each, value, key);
      list.insert(list.end(), std::move(value));
    }
  }
  template <typename T>
  void save_other(Json& out, std::vector<T>& list, const std::string& key) {
    save_list(out, list, key);
  }
  template <typename T>
  void load_other(Json& in, std::vector<T>& list, const std::string& key) {
    load_list<T>(in, list, key);
  }
  template <typename T>
  void save_other(Json& out, std::deque<T>& list, const std::string& key) {
    save_list(out, list, key);
  }
  template <typename T>
  void load_other(Json& in, std::deque<T>& list, const std::string& key) {
    load_list<T>(in, list, key);
  }
  template <typename T>
  void save_other(Json& out, std::set<T>& list, const std::string& key) {
    save_list(out, list, key);
  }
  template <typename T>
  void load_other(Json& in, std::set<T>& list, const std::string& key) {
    load_list<T>(in, list, key);
  }

  template <typename K, typename V>
  void save_other(Json& out, std::map<K, V>& map, const std::string& key) {
    out = Json::array();
    for (auto& [k, v] : map) {
      K name = k;
      Json& entry = out.emplace_back(Json::array({nullptr, nullptr}));
      save(entry[0], name, key);
      save(entry[1], v, key);
    }
  }
  template <typename K, typename V>
  void load_other(Json& in, std::map<K, V>& map, const std::string& key) {
    std::vector<std::pair<K, V>> entries;
    load_other(in, entries, key);
    map.clear();
    for (auto& entry : entries) map.insert(std::move(entry));
  }

  template <HasState T>
  void save_other(Json& out, T& value, const std::string& key) {
    out = Json::object();
    Archive inner(*this, out, key);
    value.state(inner);
  }
  template <HasState T>
  void load_other(Json& in, T& value, const std::string& key) {
    Archive inner(*this, in, key);
    value.state(inner);
  }

  bool loading_ = false;
  Json own_;
  std::shared_ptr<Arrays> arrays_;
  Json* node_;
  std::string path_;
  std::optional<std::size_t> model_values_;
  std::optional<std::uint32_t> pool_peers_;
};

}  // namespace hearsay::gossip
