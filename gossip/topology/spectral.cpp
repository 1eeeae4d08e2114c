// SPDX-License-Identifier: Apache-2.0
#include "gossip/topology/spectral.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

constexpr int kMostSweeps = 64;  // ten do for any matrix of doubles

double off_diagonal(const Matrix& a) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size; ++i) {
    for (std::size_t j = 0; j < a.size; ++j) sum += i == j ? 0.0 : a.at(i, j) * a.at(i, j);
  }
  return sum;
}

// Makes a(p, q) zero by a rotation in that plane (Golub and Van Loan, section 8.5).
void rotate(Matrix& a, std::size_t p, std::size_t q) {
  const double apq = a.at(p, q);
  if (apq == 0.0) return;
  const double theta = (a.at(q, q) - a.at(p, p)) / (2.0 * apq);
  const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::hypot(theta, 1.0));
  const double c = 1.0 / std::hypot(t, 1.0), s = t * c;
  for (std::size_t k = 0; k < a.size; ++k) {
    const double kp = a.at(k, p), kq = a.at(k, q);
    a.at(k, p) = c * kp - s * kq;
    a.at(k, q) = s * kp + c * kq;
  }
  for (std::size_t k = 0; k < a.size; ++k) {
    const double pk = a.at(p, k), qk = a.at(q, k);
    a.at(p, k) = c * pk - s * qk;
    a.at(q, k) = s * pk + c * qk;
  }
}

// Lifts the direction in which all peers agree out of the way: eigenvalue `to` instead of 0.
void move_agreement(Matrix& a, double to) {
  const double each = to / static_cast<double>(a.size);
  for (double& value : a.values) value += each;
}

double total_weight(std::size_t peers, const std::vector<Link>& links) {
  double total = 0.0;
  for (const Link& link : links) {
    HS_CHECK(link.from < peers && link.to < peers && link.weight >= 0.0);
    total += link.weight;
  }
  return total;
}

}  // namespace

std::vector<double> symmetric_eigenvalues(Matrix a) {
  double norm = 0.0;
  for (const double value : a.values) norm += value * value;
  for (int sweep = 0; sweep < kMostSweeps && off_diagonal(a) > 1e-30 * norm; ++sweep) {
    for (std::size_t p = 0; p + 1 < a.size; ++p) {
      for (std::size_t q = p + 1; q < a.size; ++q) rotate(a, p, q);
    }
  }
  std::vector<double> values(a.size);
  for (std::size_t i = 0; i < a.size; ++i) values[i] = a.at(i, i);
  std::sort(values.begin(), values.end());
  return values;
}

double spectral_gap(const Matrix& mixing) {
  Matrix rest = mixing;
  move_agreement(rest, -1.0);
  const std::vector<double> values = symmetric_eigenvalues(std::move(rest));
  if (values.empty()) return 1.0;
  return 1.0 - std::max(std::abs(values.front()), std::abs(values.back()));
}

double exchange_contraction(std::size_t peers, const std::vector<Link>& links, double alpha) {
  const double total = total_weight(peers, links);
  if (peers < 2 || total == 0.0) return 1.0;
  Matrix mean(peers);  // of (e_i - e_j)(e_i - e_j)^T
  for (const Link& link : links) {
    if (link.from == link.to) continue;
    const double share = link.weight / total;
    mean.at(link.from, link.from) += share;
    mean.at(link.to, link.to) += share;
    mean.at(link.from, link.to) -= share;
    mean.at(link.to, link.from) -= share;
  }
  move_agreement(mean, 4.0);  // all other eigenvalues are 2 at most
  return 1.0 - 2.0 * alpha * (1.0 - alpha) * symmetric_eigenvalues(std::move(mean)).front();
}

// With u = e_from - e_to: W = I + alpha e_to u^T, and P takes the mean away, so
// W^T P W = P + alpha (u p^T + p u^T) + alpha^2 (1 - 1/n) u u^T, where p = P e_to.
double push_contraction(std::size_t peers, const std::vector<Link>& links, double alpha) {
  const double total = total_weight(peers, links);
  if (peers < 2 || total == 0.0) return 1.0;
  const double part = 1.0 / static_cast<double>(peers);
  Matrix mean(peers);
  for (std::size_t i = 0; i < peers; ++i) {
    mean.at(i, i) += 1.0;
    for (std::size_t j = 0; j < peers; ++j) mean.at(i, j) -= part;
  }
  for (const Link& link : links) {
    if (link.from == link.to) continue;
    const double share = link.weight / total, a = alpha * share;
    const double square = alpha * alpha * (1.0 - part) * share;
    for (std::size_t k = 0; k < peers; ++k) {
      const double p = (k == link.to ? 1.0 : 0.0) - part;
      mean.at(link.from, k) += a * p;
      mean.at(k, link.from) += a * p;
      mean.at(link.to, k) -= a * p;
      mean.at(k, link.to) -= a * p;
    }
    mean.at(link.from, link.from) += square;
    mean.at(link.to, link.to) += square;
    mean.at(link.from, link.to) -= square;
    mean.at(link.to, link.from) -= square;
  }
  return symmetric_eigenvalues(std::move(mean)).back();
}

}  // namespace hearsay::gossip
