// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/nn_trainer.hpp"

#include <cmath>
#include <limits>
#include <set>

#include "kernels/core/errc.hpp"
#include "runtime/train/evaluate.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::Network;
using hearsay::kernels::Rng;

namespace {

// Two classes told apart by which half of a 4 x 4 image is brighter.
ImageSet halves(std::size_t count) {
  ImageSet images{4, 4, 2, std::vector<std::uint8_t>(count * 16), std::vector<std::uint8_t>(count)};
  Rng rng = Rng::stream(1, "halves");
  for (std::size_t i = 0; i < count; ++i) {
    images.labels[i] = static_cast<std::uint8_t>(i % 2);
    for (std::size_t p = 0; p < 16; ++p) {
      const bool bright = (p < 8) == (images.labels[i] == 0);
      images.pixels[i * 16 + p] = static_cast<std::uint8_t>(rng.below(120) + (bright ? 120 : 0));
    }
  }
  return images;
}

NnContext make_context(std::size_t workers = 1) {
  const Network network = Network::mlp({16, 8, 2});
  return NnContext(network, standardise(halves(50), network), workers, 64);
}

NnTrainerOptions make_options() {
  NnTrainerOptions o;
  o.batch = 10;
  o.epochs = 5;
  o.optimizer.lr = 0.1;
  o.optimizer.clip = 1.0;
  return o;
}

const ParallelFor kInline = [](std::size_t count, const auto& body) {
  for (std::size_t i = 0; i < count; ++i) body(i, 0);
};

}  // namespace

TEST_CASE("a trainer learns a separable task and an evaluation says so") {
  NnContext context = make_context();
  NnTrainer trainer(context, halves(205), make_options());
  CHECK(trainer.steps_per_epoch() == 21);
  const auto identity = [](std::uint8_t l) { return l; };
  const Evaluation before =
      evaluate(context, trainer.shard(), trainer.weights(), 0, identity, kInline);
  std::uint32_t samples = 0;
  for (std::uint64_t i = 0; i < 5 * trainer.steps_per_epoch(); ++i)
    samples += trainer.train(0).samples;
  CHECK(samples == 5 * 205);  // every example once an epoch
  const Evaluation after =
      evaluate(context, trainer.shard(), trainer.weights(), 0, identity, kInline);
  CHECK(after.loss < 0.2 * before.loss);
  CHECK(after.accuracy > 0.97);
  const auto flipped = [](std::uint8_t l) { return static_cast<std::uint8_t>(1 - l); };
  CHECK(evaluate(context, trainer.shard(), trainer.weights(), 0, flipped, kInline).accuracy ==
        Approx(1 - after.accuracy));
  CHECK(evaluate(context, trainer.shard(), trainer.weights(), 17, identity, kInline).examples ==
        17);
}

TEST_CASE("mini-batches of a pass differ by at most one example") {
  const std::size_t count = GENERATE(1u, 9u, 10u, 11u, 41u, 205u);
  CAPTURE(count);
  NnContext context = make_context();
  NnTrainer trainer(context, halves(count), make_options());
  std::uint32_t least = 1000, most = 0, total = 0;
  for (std::uint64_t i = 0; i < trainer.steps_per_epoch(); ++i) {
    const std::uint32_t n = trainer.train(0).samples;
    least = std::min(least, n);
    most = std::max(most, n);
    total += n;
  }
  CHECK(total == count);
  CHECK(most - least <= 1);
  CHECK(most <= 10);
}

TEST_CASE(
    "peers start from the same weights, see different orders, and repeat themselves bit for bit") {
  NnContext context = make_context(2);
  auto o = make_options();
  NnTrainer a(context, halves(100), o), same(context, halves(100), o);
  o.peer = 1;
  NnTrainer b(context, halves(100), o);
  CHECK(std::equal(a.weights().begin(), a.weights().end(), b.weights().begin()));
  for (int i = 0; i < 25; ++i) {
    a.train(0);
    same.train(1);  // another thread's scratch memory makes no difference
    b.train(0);
  }
  CHECK(std::equal(a.weights().begin(), a.weights().end(), same.weights().begin()));
  CHECK_FALSE(std::equal(a.weights().begin(), a.weights().end(), b.weights().begin()));
}

TEST_CASE("gradient and update apart give the same bits as a training step") {
  NnContext context = make_context();
  NnTrainer whole(context, halves(100), make_options()),
      apart(context, halves(100), make_options());
  for (int i = 0; i < 15; ++i) {
    const auto x = whole.train(0), y = apart.train_gradient(0);
    apart.apply_gradient(1.0f);
    CHECK(x.loss == y.loss);
    CHECK(x.lr == y.lr);
  }
  CHECK(std::equal(whole.weights().begin(), whole.weights().end(), apart.weights().begin()));
}

TEST_CASE("a loss that is not finite leaves the weights as they were") {
  NnContext context = make_context();
  NnTrainer trainer(context, halves(100), make_options());
  trainer.weights()[3] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> before(trainer.weights().begin(), trainer.weights().end());
  CHECK(std::isnan(trainer.train(0).loss));
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK((i == 3 ? std::isnan(trainer.weights()[i]) : trainer.weights()[i] == before[i]));
  }
}

TEST_CASE("probe examples are kept out of training and judged apart") {
  NnContext context = make_context();
  auto o = make_options();
  o.probe_share = 0.1;
  NnTrainer trainer(context, halves(200), o);
  CHECK(trainer.steps_per_epoch() == 18);
  const auto before = trainer.probe(trainer.weights(), 0);
  CHECK(before.examples == 20);
  std::uint32_t samples = 0;
  for (int i = 0; i < 18; ++i) samples += trainer.train(0).samples;
  CHECK(samples == 180);
  const auto after = trainer.probe(trainer.weights(), 0);
  CHECK(after.loss < before.loss);
  CHECK(after.confidence > before.confidence);
  CHECK(NnTrainer(context, halves(50), make_options()).probe(trainer.weights(), 0).examples == 0);
}

TEST_CASE("the cosine schedule starts at one, ends at zero, and constant stays") {
  CHECK(schedule_factor(ScheduleKind::cosine, 0, 100) == 1.0);
  CHECK(schedule_factor(ScheduleKind::cosine, 50, 100) == Approx(0.5));
  CHECK(schedule_factor(ScheduleKind::cosine, 100, 100) == Approx(0.0).margin(1e-15));
  CHECK(schedule_factor(ScheduleKind::cosine, 150, 100) == Approx(0.0).margin(1e-15));
  CHECK(schedule_factor(ScheduleKind::constant, 99, 100) == 1.0);
}

TEST_CASE("optimiser specs are read in full or refused by name") {
  const auto parse = [](const char* text) {
    return parse_optimizer(parse_spec("--optimizer", text));
  };
  CHECK(parse("sgd:lr=0.1,momentum=0.5,clip=2").clip == 2.0);
  CHECK(parse("adamw:lr=1e-3").kind == OptimizerOptions::Kind::adamw);
  for (const char* bad : {"sgd:lrr=0.1", "adam", "sgd:lr=-1", "sgd:momentum=1", "sgd:lr=x"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse(bad), hearsay::kernels::UsageError);
  }
}

TEST_CASE("both optimisers lower the loss") {
  const std::string spec = GENERATE(as<std::string>{}, "sgd:lr=0.1,momentum=0.9", "adamw:lr=0.01");
  NnContext context = make_context();
  auto o = make_options();
  o.optimizer = parse_optimizer(parse_spec("--optimizer", spec));
  NnTrainer trainer(context, halves(200), o);
  const double first = trainer.train(0).loss;
  double last = 0;
  for (int i = 0; i < 60; ++i) last = trainer.train(0).loss;
  CHECK(last < 0.5 * first);
}
