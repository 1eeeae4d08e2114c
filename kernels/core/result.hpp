// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or a line that says why there is none. For failures that a caller is expected
// to handle. Cost: one variant; no allocation on success beyond T's own.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "kernels/core/check.hpp"

namespace hearsay::kernels {

struct Failure {
  std::string line;  // what, where, what to try
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Failure failure)
      : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT: implicit by design

  explicit operator bool() const noexcept { return state_.index() == 0; }
  const T& value() const& { return HS_CHECK(*this), std::get<0>(state_); }
  T&& value() && { return HS_CHECK(*this), std::get<0>(std::move(state_)); }
  const std::string& error() const { return HS_CHECK(!*this), std::get<1>(state_).line; }

 private:
  std::variant<T, Failure> state_;
};

}  // namespace hearsay::kernels
