// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/standardisation.hpp"

#include <cmath>

#include "kernels/nn/workspace.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::Network;
using hearsay::kernels::Rng;
using hearsay::kernels::Workspace;

namespace {

ImageSet random_images(std::size_t count) {
  ImageSet images{2, 3, 3, std::vector<std::uint8_t>(count * 6), std::vector<std::uint8_t>(count)};
  Rng rng = Rng::stream(1, "standardisation-test");
  for (std::size_t i = 0; i < count; ++i) {
    images.labels[i] = static_cast<std::uint8_t>(rng.below(3));
    for (std::size_t p = 0; p < 6; ++p) {
      images.pixels[i * 6 + p] =
          static_cast<std::uint8_t>(p == 5 ? 7 : 20 * p + rng.below(100));  // pixel 5: constant
    }
  }
  return images;
}

}  // namespace

TEST_CASE("inputs have mean zero and deviation one, and a constant pixel becomes zero") {
  const ImageSet images = random_images(4000);
  const Standardisation input = standardise(images, Network::mlp({6, 3}));
  for (std::size_t p = 0; p < 6; ++p) {
    double sum = 0, sum2 = 0;
    for (std::size_t i = 0; i < images.count(); ++i) {
      const double x = double(images.image(i)[p]) * double(input.scale[p]) + double(input.shift[p]);
      sum += x;
      sum2 += x * x;
    }
    CAPTURE(p);
    CHECK(sum / 4000 == Approx(0.0).margin(1e-4));
    CHECK(sum2 / 4000 == Approx(p == 5 ? 0.0 : 1.0).margin(1e-3));
  }
}

TEST_CASE("folding moves the standardisation into the first layer and keeps the function") {
  const ImageSet images = random_images(40);
  const Network model = Network::mlp({6, 5, 3});
  const Standardisation input = standardise(images, model);
  std::vector<float> weights(model.layout().size());
  Rng rng = Rng::stream(3, "init");
  model.initialise(rng, weights);
  Workspace<float> workspace(model, 40);
  for (std::size_t i = 0; i < 240; ++i) {
    workspace.input()[i] =
        static_cast<float>(images.pixels[i]) * input.scale[i % 6] + input.shift[i % 6];
  }
  const double expected = workspace.evaluate(40, weights.data(), images.labels.data()).loss;
  fold_into_first_layer(input, model, weights);
  for (std::size_t i = 0; i < 240; ++i)
    workspace.input()[i] = static_cast<float>(images.pixels[i]) / 255.0f;
  CHECK(workspace.evaluate(40, weights.data(), images.labels.data()).loss ==
        Approx(expected).epsilon(1e-5));
}

TEST_CASE("before a convolution all pixels are treated alike, and folding keeps the function") {
  ImageSet images{8, 8, 3, std::vector<std::uint8_t>(40 * 64), std::vector<std::uint8_t>(40)};
  Rng rng = Rng::stream(2, "standardisation-test");
  for (std::size_t i = 0; i < images.pixels.size(); ++i)
    images.pixels[i] =
        static_cast<std::uint8_t>(rng.below(static_cast<std::uint32_t>(3 * (i % 64) + 60)));
  for (auto& label : images.labels) label = static_cast<std::uint8_t>(rng.below(3));
  const Network network = Network::cnn(8, 8, {4}, {6}, 3);
  const Standardisation input = standardise(images, network);
  double sum = 0, sum2 = 0;
  for (std::size_t p = 0; p < 64; ++p) {
    CHECK((input.scale[p] == input.scale[0] && input.shift[p] == input.shift[0]));
    for (std::size_t i = 0; i < 40; ++i) {
      const double x = double(images.image(i)[p]) * double(input.scale[p]) + double(input.shift[p]);
      sum += x;
      sum2 += x * x;
    }
  }
  CHECK(sum / (40 * 64) == Approx(0.0).margin(1e-4));
  CHECK(sum2 / (40 * 64) == Approx(1.0).margin(1e-3));
  std::vector<float> weights(network.layout().size());
  network.initialise(rng, weights);
  Workspace<float> workspace(network, 40);
  for (std::size_t i = 0; i < images.pixels.size(); ++i)
    workspace.input()[i] = static_cast<float>(images.pixels[i]) * input.scale[0] + input.shift[0];
  const double expected = workspace.evaluate(40, weights.data(), images.labels.data()).loss;
  fold_into_first_layer(input, network, weights);
  for (std::size_t i = 0; i < images.pixels.size(); ++i)
    workspace.input()[i] = static_cast<float>(images.pixels[i]) / 255.0f;
  CHECK(workspace.evaluate(40, weights.data(), images.labels.data()).loss ==
        Approx(expected).epsilon(1e-5));
}
