// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/doctor.hpp"

#include <set>

#include "runtime/app/launcher.hpp"
#include "runtime/app/machine.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE("what a launcher says of its job is read", "[app]") {
  const Environment torchrun{{"RANK", "1"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"TORCHELASTIC_RUN_ID", "none"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RESTART_COUNT", "3"}};
  CHECK(detect_launcher(torchrun).job == "29500");
  CHECK(detect_launcher(torchrun).attempt == 3);
  CHECK(detect_launcher(torchrun).several_hosts);
  Environment named = torchrun;
  named["TORCHELASTIC_RUN_ID"] = "mine";
  named["LOCAL_WORLD_SIZE"] = "4";
  CHECK(detect_launcher(named).job == "mine");
  CHECK_FALSE(detect_launcher(named).several_hosts);
  Environment slurm{{"SLURM_PROCID", "0"},  {"SLURM_NTASKS", "2"}, {"SLURM_JOB_ID", "47"},
                    {"SLURM_STEP_ID", "1"}, {"SLURM_NNODES", "2"}, {"SLURM_RESTART_COUNT", "1"}};
  CHECK(detect_launcher(slurm).job == "47.1");
  CHECK(detect_launcher(slurm).attempt == 1);
  CHECK(detect_launcher(slurm).several_hosts);
  slurm["SLURM_STEP_NUM_NODES"] = "1";  // of the allocation's two
  CHECK_FALSE(detect_launcher(slurm).several_hosts);
  const Environment openmpi{{"OMPI_COMM_WORLD_RANK", "0"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  CHECK(detect_launcher(openmpi).several_hosts);
  CHECK(detect_launcher({}).job.empty());
}

TEST_CASE("launchers are detected in the documented order", "[app]") {
  Environment environment;
  CHECK(detect_launcher(environment).name == "single");
  CHECK_FALSE(detect_launcher(environment).rank.has_value());
  environment = {{"RANK", "3"}};
  CHECK(detect_launcher(environment).name == "single");
  environment["WORLD_SIZE"] = "4";
  CHECK(detect_launcher(environment).name == "torchrun");
  environment["SLURM_PROCID"] = "0";
  environment["SLURM_NTASKS"] = "1";
  CHECK(detect_launcher(environment).name == "torchrun");
  environment["SLURM_NTASKS"] = "2";
  CHECK(detect_launcher(environment).name == "slurm");
  environment["PMI_RANK"] = "1";
  CHECK(detect_launcher(environment).name == "pmix");
  environment["OMPI_COMM_WORLD_RANK"] = "5";
  environment["OMPI_COMM_WORLD_SIZE"] = "8";
  const Launcher openmpi = detect_launcher(environment);
  CHECK(openmpi.name == "openmpi");
  CHECK(openmpi.rank == 5u);
  CHECK(openmpi.size == 8u);
  CHECK(openmpi.used ==
        std::vector<std::string>{"OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=8"});
  CHECK(openmpi.others == std::vector<std::string>{"pmix", "slurm", "torchrun"});
  environment["HEARSAY_PEERS"] = "2";
  CHECK(detect_launcher(environment).name == "openmpi");  // the option --peers alone is no launcher
  environment["HEARSAY_PEER"] = "p01";
  CHECK(detect_launcher(environment).name == "hearsay");
  CHECK_FALSE(detect_launcher(environment).rank.has_value());
  CHECK(detect_launcher(environment).size == 2u);
}

TEST_CASE("the machine has cores, memory and a file limit", "[app]") {
  CHECK(cpu_facts().cores >= 1);
  CHECK(memory_facts().total_bytes > 0);
  CHECK(limit_facts().open_files > 0);
  CHECK(free_disk_bytes("no/such/folder") == 0);
}

TEST_CASE("open files allow pools of a size", "[app]") {
  CHECK(peers_for_open_files(0) == 0);
  CHECK(peers_for_open_files(96) == 0);
  CHECK(peers_for_open_files(1024) == 309);
}

TEST_CASE("only root under Open MPI needs a flag, unless the environment has it", "[app]") {
  const std::string version = "mpirun (Open MPI) 4.1.4";
  CHECK(needs_run_as_root({}, version, true));
  CHECK_FALSE(needs_run_as_root({}, version, false));
  CHECK_FALSE(needs_run_as_root({}, "HYDRA build details:", true));
  Environment environment{{"OMPI_ALLOW_RUN_AS_ROOT", "1"}};
  CHECK(needs_run_as_root(environment, version, true));
  environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  CHECK_FALSE(needs_run_as_root(environment, version, true));
}

TEST_CASE("the examination ends on any machine and says why a part is missing", "[app]") {
  const std::vector<Finding> findings = examine_machine({});
  std::set<std::string> subjects;
  for (const Finding& finding : findings) {
    CAPTURE(finding.subject);
    CHECK(subjects.insert(finding.subject).second);
    CHECK_FALSE(finding.text.empty());
    CHECK(finding.facts.is_object());
  }
  for (const char* const subject :
       {"cpu", "blas", "cuda", "gpu", "mpi", "launcher", "memory", "open files", "processes",
        "disk", "loopback", "ipv6", "data"}) {
    CHECK(subjects.contains(subject));
  }
  const auto json = findings_json(findings);
  CHECK(json.size() == findings.size());
  CHECK(json["mpi"]["usable"] == false);  // no PATH, no mpirun
  CHECK(json["launcher"]["name"] == "single");
  CHECK(json["cpu"]["cores"].is_number());
  CHECK(json["loopback"]["port"].is_number());
  CHECK(json["open_files"]["peers"].is_number());
}
