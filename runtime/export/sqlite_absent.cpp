// SPDX-License-Identifier: Apache-2.0
// Stands in for sqlite.cpp where the library was not there when this was built.
#include "kernels/core/errc.hpp"
#include "runtime/export/formats.hpp"

namespace hearsay::runtime {

Damage export_sqlite(const RunDir&, const std::string&) {
  throw kernels::UsageError(
      "export: this hearsay was built without SQLite; install libsqlite3-dev and build again, or "
      "use --to csv");
}

}  // namespace hearsay::runtime
