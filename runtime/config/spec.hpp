// SPDX-License-Identifier: Apache-2.0
// The one small grammar of composable options: `name:value,key=value+modifier`.
//   ema:a=0.1..0.5,shape=linear+staleness:half-life=20      sgd:lr=0.05,momentum=0.9,clip=1
//   regular:d=4
// The head may also be written `name,key=value` (`1,mode=steps`) or `name=value` (`rounds=3`,
// `slow=p03*4`): the value is then the first bare value. A '+' inside a number (1e+3) is part of
// the number. A spec only splits text; what a name or key means is decided where the part is built,
// which then calls reject_unknown() so that nothing is parsed and ignored. Cost: O(length), texts
// are at most kMaxSpecBytes long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearsay::runtime {

inline constexpr std::size_t kMaxSpecBytes = 4096;

struct Spec {
  std::string name;                 // "ema"
  std::vector<std::string> values;  // bare values in order: "0.5", "256", "128"
  std::vector<std::pair<std::string, std::string>> args;  // key=value in order
  std::vector<Spec> modifiers;                            // after '+'
  std::string text;                                       // as typed

  std::optional<std::string> arg(std::string_view key) const;
};

// Of parts that are joined by '+', in any order: the one of this name; null: there is none.
const Spec* part_of(const Spec& joined, std::string_view name);

// Throws UsageError naming `option` ("--merge") when the text is malformed (empty name, key twice,
// empty value).
Spec parse_spec(std::string_view option, std::string_view text);

// Throws UsageError with the nearest known key when the spec has an argument outside `known` or
// more than `max_values` bare values.
void reject_unknown(std::string_view option, const Spec& spec,
                    const std::vector<std::string>& known_args, std::size_t max_values);

// Numbers with units, each throwing UsageError naming the option and the text. Shares accept "1%"
// or "0.01", between 0 and 1; everywhere else a percent sign is refused.
double parse_number(std::string_view option, std::string_view text);
std::uint64_t parse_count(std::string_view option, std::string_view text);
double parse_share(std::string_view option, std::string_view text);
double parse_seconds(std::string_view option,
                     std::string_view text);  // "30s", "200ms", "2min", "1h"; bare = seconds

// "true", "1", "yes", "on" or their opposites; throws UsageError.
bool parse_boolean(std::string_view option, std::string_view text);

// "did you mean --merge?" material: the candidate with the smallest edit distance, or the one that
// the word begins, if it is near enough to help.
std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& candidates);
// "unknown merge rule 'emma' (did you mean 'ema'? known: ema, sample-weighted)"
[[noreturn]] void throw_unknown(std::string_view kind, std::string_view word,
                                const std::vector<std::string>& known);

}  // namespace hearsay::runtime
