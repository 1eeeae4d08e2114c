// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/pool_end.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>

#include "kernels/core/errc.hpp"
#include "runtime/app/result_json.hpp"
#include "runtime/app/version.hpp"
#include "runtime/log/atomic_file.hpp"

namespace hearsay::runtime {

RunDir begin_run(const Settings& settings, const RunConfig& config, const RunFacts& facts) {
  RunDir run = config.run_dir.empty() ? RunDir::create_default("runs", config.preset, config.seed,
                                                               std::chrono::system_clock::now())
                                      : RunDir::create(config.run_dir);
  try {
    write_file_atomically(run.run_json(), run_json(run, settings, config, facts).dump(2) + "\n");
  } catch (const kernels::Fault& fault) {
    rmdir(run.path().c_str());  // empty: the name stays free for the next try
    throw kernels::UsageError(fault.what());
  }
  return run;
}

void discard_run(const RunDir& run) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::remove_all(run.path(), ignored);
  const fs::path parent = fs::path(run.path()).parent_path();
  const fs::path latest = parent / "latest";
  if (fs::is_symlink(latest, ignored) && fs::read_symlink(latest, ignored) == run.name())
    fs::remove(latest, ignored);
  if (parent.filename() == "runs") fs::remove(parent, ignored);  // only when it is empty
}

int finish_pool(const RunDir& run, const RunConfig& config, const PoolEnding& ending) {
  ExportedModel model;
  PoolResult result = collect_pool(run, config, ending, &model);
  try {
    export_pool_model(run, model, result, version_number());
  } catch (const kernels::Fault& fault) {  // the numbers are still worth keeping
    result.verdict = "model not exported";
    result.reason = fault.what();
    result.exit_code = static_cast<int>(kernels::ExitCode::check_failed);
  }
  const std::string text = result_json(result).dump(2) + "\n";
  write_file_atomically(run.result_json(), text);
  std::cout << (config.json ? text : closing_block(result, config, run.path()));
  std::cout.flush();
  if (!result.reason.empty() && result.exit_code != 0) {
    std::cerr << "hearsay: " << result.verdict << ": " << result.reason;
    if (ending.signal != 0)
      std::cerr << "; go on with: hearsay launch --run " << run.path() << " --resume";
    std::cerr << "\n";
  }
  return result.exit_code;
}

}  // namespace hearsay::runtime
