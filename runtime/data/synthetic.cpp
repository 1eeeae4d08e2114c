// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/synthetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/core/rng.hpp"

namespace hearsay::runtime {
namespace {

using kernels::Rng;

constexpr std::size_t kSide = 16;
constexpr std::uint32_t kDigits = 10;

struct Point {
  double x = 0.0, y = 0.0;
};

struct Stroke {
  Point from, to;
};

// Corners of the display, 0 1 / 2 3 / 4 5 from top to bottom, in units of the digit's size.
constexpr std::array<Point, 6> kCorners{{{-1, -2}, {1, -2}, {-1, 0}, {1, 0}, {-1, 2}, {1, 2}}};
// Segments a to g as pairs of corners.
constexpr std::array<std::array<std::size_t, 2>, 7> kSegments{
    {{0, 1}, {1, 3}, {3, 5}, {4, 5}, {2, 4}, {0, 2}, {2, 3}}};
// Which segments light up, bit 0 = a.
constexpr std::array<unsigned, kDigits> kGlyphs{0b0111111, 0b0000110, 0b1011011, 0b1001111,
                                                0b1100110, 0b1101101, 0b1111101, 0b0000111,
                                                0b1111111, 0b1101111};

double between(Rng& rng, double low, double high) { return low + (high - low) * rng.uniform(); }

double squared_distance(Point p, const Stroke& s) {
  const double dx = s.to.x - s.from.x, dy = s.to.y - s.from.y;
  const double length2 = dx * dx + dy * dy;
  const double along = (p.x - s.from.x) * dx + (p.y - s.from.y) * dy;
  const double t = length2 > 0.0 ? std::clamp(along / length2, 0.0, 1.0) : 0.0;
  const double ex = p.x - s.from.x - t * dx, ey = p.y - s.from.y - t * dy;
  return ex * ex + ey * ey;
}

std::vector<Stroke> draw_strokes(Rng& rng, std::uint32_t digit) {
  const double half_width = between(rng, 2.0, 3.4), quarter_height = between(rng, 2.1, 3.0);
  const double slant = between(rng, -0.3, 0.3);
  const Point centre{between(rng, 5.4, 9.6), between(rng, 6.0, 9.0)};
  std::array<Point, 6> corners{};
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const double x = kCorners[i].x * half_width + between(rng, -0.4, 0.4);
    const double y = kCorners[i].y * quarter_height + between(rng, -0.4, 0.4);
    corners[i] = {centre.x + x - slant * y, centre.y + y};
  }
  std::vector<Stroke> strokes;
  for (std::size_t s = 0; s < kSegments.size(); ++s) {
    if (kGlyphs[digit] >> s & 1u) {
      strokes.push_back({corners[kSegments[s][0]], corners[kSegments[s][1]]});
    }
  }
  const std::uint32_t dots = rng.below(3);  // stray ink
  for (std::uint32_t i = 0; i < dots; ++i) {
    const Point p{between(rng, 0.0, 15.0), between(rng, 0.0, 15.0)};
    strokes.push_back({p, p});
  }
  return strokes;
}

// Sum of four bytes, centred and scaled to a deviation of 1: near enough to a normal draw, and
// exact everywhere.
double rough_normal(Rng& rng) {
  const std::uint32_t word = rng.next_u32();
  const std::uint32_t sum = (word & 255u) + (word >> 8 & 255u) + (word >> 16 & 255u) + (word >> 24);
  constexpr double kDeviation = 147.8;  // sqrt(4 * (256^2 - 1) / 12)
  return (static_cast<double>(sum) - 510.0) / kDeviation;
}

void draw_image(Rng& rng, std::uint32_t digit, std::span<std::uint8_t> pixels) {
  const auto strokes = draw_strokes(rng, digit);
  const double half_stroke = between(rng, 0.45, 1.0);
  const double ink = between(rng, 110.0, 230.0), paper = between(rng, 0.0, 50.0);
  const double noise = between(rng, 3.0, 20.0);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const Point p{static_cast<double>(i % kSide), static_cast<double>(i / kSide)};
    double nearest2 = 1e9;
    for (const Stroke& stroke : strokes) nearest2 = std::min(nearest2, squared_distance(p, stroke));
    const double cover = std::clamp(half_stroke + 0.5 - std::sqrt(nearest2), 0.0, 1.0);
    const double value = paper + cover * ink + noise * rough_normal(rng);
    pixels[i] = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
  }
}

ImageSet draw_set(Rng rng, std::size_t count) {
  ImageSet set{kSide, kSide, kDigits, std::vector<std::uint8_t>(count * kSide * kSide), {}};
  std::vector<std::uint32_t> digits(count);
  for (std::size_t i = 0; i < count; ++i) digits[i] = static_cast<std::uint32_t>(i % kDigits);
  rng.shuffle(digits);
  for (std::size_t i = 0; i < count; ++i) {
    set.labels.push_back(static_cast<std::uint8_t>(digits[i]));
    draw_image(rng, digits[i], std::span(set.pixels).subspan(i * kSide * kSide, kSide * kSide));
  }
  return set;
}

}  // namespace

Dataset synthetic_digits(std::uint64_t seed, const DigitsOptions& options) {
  const auto stream = [&](std::uint32_t part) {
    return Rng::stream(seed, "synthetic-digits", part);
  };
  return Dataset{"synthetic:digits", "generated, seed " + std::to_string(seed),
                 draw_set(stream(0), options.train_count), draw_set(stream(1), options.test_count)};
}

}  // namespace hearsay::runtime
