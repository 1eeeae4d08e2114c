// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_choice.hpp"

#include "kernels/core/errc.hpp"
#include "runtime/device/cuda_library.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::UsageError;

namespace {

std::string refusal(const std::string& spec) {
  try {
    choose_devices(spec);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the CPU can always be asked for, and words that mean nothing are refused") {
  CHECK_FALSE(choose_devices("cpu").on_gpu());
  CHECK(choose_devices("cpu").text == "cpu");
  CHECK(contains(refusal("gpu"), "cpu"));
  CHECK(contains(refusal("cpu:0"), "--device"));
  CHECK(contains(refusal("cuda:0,x=1"), "--device"));
}

TEST_CASE("a GPU that is not there is one line, and auto does without") {
  std::string why;
  const std::size_t gpus = cuda_devices(why).size();
  if (gpus > 0) {
    CHECK(choose_devices("auto").gpus.size() == gpus);
    CHECK(choose_devices("cuda:0").gpus == std::vector<int>{0});
    CHECK(contains(refusal("cuda:" + std::to_string(gpus)), "there is no GPU"));
    CHECK(contains(refusal("cuda:0,0"), "twice"));
    CHECK(choose_device_of_peer("cuda", 5).gpus.size() == 1);
  } else {
    CHECK_FALSE(why.empty());
    CHECK_FALSE(choose_devices("auto").on_gpu());
    CHECK_FALSE(choose_device_of_peer("auto", 5).on_gpu());
    CHECK(contains(refusal("cuda"), why));
    CHECK(contains(refusal("cuda"), "--device cpu"));
    CHECK(refusal("cuda").find('\n') == std::string::npos);
  }
}

TEST_CASE("a library of that name that is not there is said to be not built") {
  std::string why;
  CHECK(CudaLibrary::open("libhearsay_nothing.so", why) == nullptr);
  CHECK(contains(why, "is not built"));
}
