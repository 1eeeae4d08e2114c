// SPDX-License-Identifier: Apache-2.0
// Catch2's Session, of 2.13 and 3.x.
#pragma once

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
namespace hearsay::tests {
inline bool lists_names(const Catch::ConfigData& config) { return config.listListeners; }
}  // namespace hearsay::tests
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
namespace hearsay::tests {
inline bool lists_names(const Catch::ConfigData& config) { return config.listTestNamesOnly; }
}  // namespace hearsay::tests
#endif
