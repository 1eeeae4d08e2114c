// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/standardisation.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::Mlp;
using hearsay::kernels::MlpWorkspace;
using hearsay::kernels::Rng;

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
  const Standardisation input = standardise(images);
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
  const Standardisation input = standardise(images);
  const Mlp model({6, 5, 3});
  std::vector<float> weights(model.layout().size());
  Rng rng = Rng::stream(3, "init");
  model.initialise(rng, weights);
  MlpWorkspace<float> workspace(model, 40);
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
