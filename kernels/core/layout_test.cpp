// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/layout.hpp"

#include "tests/catch.hpp"

using hearsay::kernels::Layout;

TEST_CASE("tensors follow each other without gaps") {
  Layout layout;
  CHECK(layout.add("0.weight", {256, 784}) == 0);
  CHECK(layout.add("0.bias", {256}) == 256 * 784);
  CHECK(layout.size() == 256 * 784 + 256);
}

TEST_CASE("the first tensor that differs is named") {
  Layout a, b;
  a.add("0.weight", {4, 3});
  b.add("0.weight", {4, 3});
  CHECK(a.first_difference(b).empty());
  a.add("0.bias", {4});
  CHECK(a.first_difference(b) == "0.bias");
  b.add("0.bias", {5});
  CHECK(a.first_difference(b) == "0.bias");
}
