// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_choice.hpp"

#include <cstdio>

#include "kernels/core/errc.hpp"
#include "kernels/cuda/architectures.hpp"
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

// A machine with these GPUs, all of them "card".
std::function<GpuList()> gpus(std::vector<int> has_code) {
  return [=] {
    GpuList list{{}, "no GPU", "9.0, 12.0 and up"};
    for (const int each : has_code) {
      HsCudaDevice device{};
      std::snprintf(device.name, sizeof device.name, "card");
      device.compute_major = each != 0 ? 9 : 6;
      device.has_code = each;
      list.devices.push_back(device);
    }
    return list;
  };
}

std::string refusal_among(const std::string& spec, const std::function<GpuList()>& find) {
  try {
    choose_among(spec, find);
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

TEST_CASE("a GPU that there is no code for is named when it is chosen") {
  const DeviceChoice both = choose_among("auto", gpus({1, 1}));
  CHECK(both.gpus == std::vector<int>{0, 1});
  CHECK(both.text == "cuda:0,1 card");
  CHECK(both.note.empty());
  for (const char* spec : {"auto", "cuda"}) {
    const DeviceChoice one = choose_among(spec, gpus({0, 1, 0}));
    CHECK(one.gpus == std::vector<int>{1});
    CHECK(contains(one.note, "GPU 0 (card, compute 6.0)"));
    CHECK(contains(one.note, "9.0, 12.0 and up"));
  }
  const DeviceChoice none = choose_among("auto", gpus({0}));
  CHECK_FALSE(none.on_gpu());
  CHECK(contains(none.note, "training on the CPU"));
  const std::string refused =
      "--device: GPU 0 (card, compute 6.0) is none that libhearsay_cuda.so was built for "
      "(9.0, 12.0 and up); --device cpu trains without";
  CHECK(refusal_among("cuda", gpus({0, 0})) == refused);
  CHECK(refusal_among("cuda:0", gpus({0, 1})) == refused);
  CHECK(refusal_among("cuda:1,0", gpus({0, 1})) == refused);
  CHECK(choose_among("cuda:1", gpus({0, 1})).note.empty());
  CHECK_FALSE(choose_among("auto", gpus({})).on_gpu());
  CHECK(contains(refusal_among("cuda", gpus({})), "no GPU; --device cpu"));
}

TEST_CASE("code runs on its own architecture, and PTX on newer ones") {
  using hearsay::cuda::architectures_text;
  using hearsay::cuda::has_code_for;
  constexpr const char* kUsual = "80-real,90-real,100-real,120";
  CHECK(has_code_for(kUsual, 8, 0));
  CHECK(has_code_for(kUsual, 8, 6));
  CHECK(has_code_for(kUsual, 9, 0));
  CHECK(has_code_for(kUsual, 12, 1));
  CHECK(has_code_for(kUsual, 13, 0));
  CHECK_FALSE(has_code_for(kUsual, 7, 5));
  CHECK_FALSE(has_code_for(kUsual, 11, 0));
  CHECK_FALSE(has_code_for("86-real", 8, 0));
  CHECK_FALSE(has_code_for("90-real", 10, 0));
  CHECK(has_code_for("70-virtual", 9, 0));
  CHECK_FALSE(has_code_for("70-virtual", 6, 1));
  CHECK(has_code_for("90a-real", 9, 0));
  CHECK_FALSE(has_code_for("90a", 10, 0));
  CHECK(has_code_for("native", 3, 5));
  CHECK_FALSE(has_code_for("", 9, 0));
  CHECK(architectures_text(kUsual) == "8.0, 9.0, 10.0, 12.0 and up");
  CHECK(architectures_text("all-major") == "all-major");
}

TEST_CASE("auto goes on on the CPU where a GPU has no room, in one line") {
  const auto full = [] { throw NoRoomOnGpu("GPU 0: no room for 9 MiB"); };
  DeviceChoice free = choose_among("auto", gpus({1}));
  CHECK(fits_on_gpu(free, [] {}));
  CHECK(free.on_gpu());
  CHECK_FALSE(fits_on_gpu(free, full));
  CHECK_FALSE(free.on_gpu());
  CHECK(free.text == "cpu");
  CHECK(free.note == "GPU 0: no room for 9 MiB; training on the CPU");
  DeviceChoice asked = choose_among("cuda", gpus({1}));
  CHECK_THROWS_AS(fits_on_gpu(asked, full), UsageError);
  CHECK(asked.on_gpu());
  DeviceChoice other = choose_among("auto", gpus({1}));
  CHECK_THROWS_AS(fits_on_gpu(other, [] { throw UsageError("another"); }), UsageError);
}
