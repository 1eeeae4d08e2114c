// SPDX-License-Identifier: Apache-2.0
// As precompiled.hpp, for tests.
#include "cmake/precompiled.hpp"
#include "tests/catch.hpp"
