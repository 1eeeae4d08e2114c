// SPDX-License-Identifier: Apache-2.0
#include "gossip/sparse_peers.hpp"

#include <vector>

#include "tests/catch.hpp"

using hearsay::gossip::SparsePeers;
using hearsay::kernels::Rng;

TEST_CASE("a value for every peer reads as an array does, however few are stored") {
  const std::uint32_t peers = GENERATE(1u, 7u, 1024u, 1025u, 3000u);
  const std::uint32_t changes = GENERATE(0u, 5u, 400u, 20000u);
  CAPTURE(peers, changes);
  Rng rng = Rng::stream(changes, "sparse-test", peers);
  SparsePeers<int> sparse(peers, -1);
  std::vector<int> array(peers, -1);
  for (std::uint32_t i = 0; i < changes; ++i) {
    const std::uint32_t peer = rng.below(peers);
    sparse.change(peer) += static_cast<int>(i);
    array[peer] += static_cast<int>(i);
  }
  CHECK(sparse.size() == peers);
  CHECK(sparse.stored() <= peers);
  if (peers > SparsePeers<int>::kDense && changes <= 400) CHECK(sparse.stored() <= changes);
  bool equal = true, in_order = true;
  for (std::uint32_t i = 0; i < peers; ++i) equal = equal && sparse[i] == array[i];
  CHECK(equal);
  std::uint32_t visited = 0, before = 0;
  sparse.for_each_stored([&](std::uint32_t peer, int value) {
    equal = equal && value == array[peer];
    in_order = in_order && (visited == 0 || peer > before);
    before = peer;
    ++visited;
  });
  CHECK(equal);
  CHECK(in_order);
  CHECK(visited == sparse.stored());
  sparse.common() = 3;
  sparse.store_all();
  for (std::uint32_t i = 0; i < peers; ++i)
    equal = equal && (sparse[i] == array[i] || (array[i] == -1 && sparse[i] == 3));
  CHECK(equal);
}

TEST_CASE("the stored peers follow each other round the pool") {
  SparsePeers<int> sparse(5000, 0);
  for (const std::uint32_t peer : {4000u, 10u, 2500u}) sparse.change(peer) = 1;
  CHECK(sparse.stored_from(0) == 10);
  CHECK(sparse.stored_from(10) == 10);
  CHECK(sparse.stored_from(11) == 2500);
  CHECK(sparse.stored_from(4001) == 10);
}
