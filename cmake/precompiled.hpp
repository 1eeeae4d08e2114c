// SPDX-License-Identifier: Apache-2.0
// What most sources include, read by the compiler once (HEARSAY_PCH). No source relies on it: each
// includes what it uses, and builds without this header too.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>
