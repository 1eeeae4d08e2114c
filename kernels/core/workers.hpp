// SPDX-License-Identifier: Apache-2.0
// Who runs the parts of a kernel on a CPU. Kernels start no threads: a caller that has some lends
// them. What a kernel computes does not depend on how many there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

namespace hearsay::kernels {

class Workers {
 public:
  virtual ~Workers() = default;
  virtual std::size_t count() const = 0;  // >= 1
  // body(part) for every part < count(), at the same time or not; returns when all have run.
  virtual void run(const std::function<void(std::size_t)>& body) = 0;
};

class OneWorker final : public Workers {
 public:
  std::size_t count() const override { return 1; }
  void run(const std::function<void(std::size_t)>& body) override { body(0); }
};

// Calls body(begin, end, part) once for each worker that has something to do, on [0, n) cut at
// multiples of `tile` into parts that differ by at most one tile.
inline void for_tiles(Workers& workers, std::size_t n, std::size_t tile,
                      const std::function<void(std::size_t, std::size_t, std::size_t)>& body) {
  const std::size_t tiles = (n + tile - 1) / tile, parts = workers.count();
  workers.run([&](std::size_t part) {
    const std::size_t begin = tiles * part / parts * tile;
    const std::size_t end = std::min(n, tiles * (part + 1) / parts * tile);
    if (begin < end) body(begin, end, part);
  });
}

}  // namespace hearsay::kernels
