// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/control_group.hpp"

#include <stdlib.h>

#include <fstream>
#include <string>

#include "tests/catch.hpp"

using namespace hearsay::runtime;
namespace fs = std::filesystem;

namespace {

// A mount with the files of some groups, gone afterwards.
struct Mount {
  Mount() {
    std::string name = (fs::temp_directory_path() / "hearsay-groups-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root = name;
  }
  ~Mount() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << "\n";
  }
  ControlGroupFacts facts() const { return control_group_facts(root, root / "membership"); }
  fs::path root;
};

}  // namespace

TEST_CASE("no control groups, no limits", "[app]") {
  const ControlGroupFacts facts = control_group_facts("no/such/mount", "no/such/file");
  CHECK(facts.cores == 0.0);
  CHECK(facts.memory_bytes == 0);
  CHECK(facts.processes == 0);
}

TEST_CASE("version 2: the smallest limit up to the root counts", "[app]") {
  const Mount mount;
  mount.write("membership", "0::/user/job");
  mount.write("user/job/cpu.max", "max 100000");
  mount.write("user/cpu.max", "250000 100000");
  mount.write("user/job/memory.max", "2000000000");
  mount.write("user/memory.max", "1000000000");
  mount.write("pids.max", "max");
  mount.write("user/pids.max", "512");
  const ControlGroupFacts facts = mount.facts();
  CHECK(facts.cores == Approx(2.5));
  CHECK(facts.memory_bytes == 1000000000);
  CHECK(facts.processes == 512);
}

TEST_CASE("version 1: one hierarchy a controller, also when the own group cannot be seen",
          "[app]") {
  const Mount mount;
  mount.write("membership", "9:name=systemd:/\n4:memory:/host/only\n3:cpu,cpuacct:/\n8:pids:/a");
  mount.write("memory/memory.limit_in_bytes", "9223372036854771712");  // none
  mount.write("cpu,cpuacct/cpu.cfs_quota_us", "150000");
  mount.write("cpu,cpuacct/cpu.cfs_period_us", "100000");
  mount.write("pids/a/pids.max", "64");
  CHECK(mount.facts().cores == Approx(1.5));
  CHECK(mount.facts().memory_bytes == 0);
  CHECK(mount.facts().processes == 64);
  mount.write("cpu,cpuacct/cpu.cfs_quota_us", "-1");
  CHECK(mount.facts().cores == 0.0);
}
