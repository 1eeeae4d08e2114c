// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/examples_log.hpp"

#include "kernels/core/errc.hpp"
#include "runtime/config/spec.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::UsageError;

TEST_CASE("a place taken before is taken again where its examples are written down") {
  const TempDir dir;
  const RunDir run = RunDir::create(dir.file("run"));
  run.prepare_peer_dir("p03");
  RunConfig config;
  CHECK_NOTHROW(refuse_unknown_examples(config, run, "p03", 2));  // nothing changes hands
  config.share = parse_spec("--share", "hard");
  CHECK_NOTHROW(refuse_unknown_examples(config, run, "p03", 0));  // never taken
  CHECK_THROWS_WITH(refuse_unknown_examples(config, run, "p03", 2),
                    Catch::Contains("examples.log") && Catch::Contains("p03"));
  write_text(run.peer_dir("p03") + "/.start-2", "");  // its own claim says nothing
  CHECK_THROWS_AS(refuse_unknown_examples(config, run, "p03", 2), UsageError);
  write_text(run.peer_dir("p03") + "/.start-1", "");
  CHECK_NOTHROW(refuse_unknown_examples(config, run, "p03", 2));
  run.prepare_peer_dir("p04");
  write_text(examples_log(run, "p04"), "");
  CHECK_NOTHROW(refuse_unknown_examples(config, run, "p04", 7));
}
