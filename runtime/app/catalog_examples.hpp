// SPDX-License-Identifier: Apache-2.0
// What --trade, --sampling, --retire and --quarantine offer, for the catalog. Pure.
#pragma once

#include <string_view>

#include "runtime/app/catalog.hpp"

namespace hearsay::runtime {

CatalogSection example_parts(std::string_view option);  // one of these four

}  // namespace hearsay::runtime
