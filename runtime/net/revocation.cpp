// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/revocation.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{900};  // of a watchdog that comes twice a second
constexpr std::size_t kFingerprintDigits = 64, kMostSerialDigits = 40;

// As CertificateNames has it; empty for a line without a name, nothing for one that is none.
std::optional<std::string> name_in(std::string_view line) {
  line = line.substr(0, line.find('#'));
  line = line.substr(line.find('=') + 1);  // the whole of it when there is none
  std::string name;
  for (const char c : line) {
    if (c == ':' || c == ' ' || c == '\t' || c == '\r') continue;
    const bool is_digit = c >= '0' && c <= '9';
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!is_digit && (lower < 'a' || lower > 'f')) return std::nullopt;
    name += lower;
  }
  if (name.size() == kFingerprintDigits || name.empty()) return name;
  if (name.size() > kMostSerialDigits) return std::nullopt;
  const std::size_t first = std::min(name.find_first_not_of('0'), name.size() - 1);
  return name.substr(first);
}

}  // namespace

RevocationList::RevocationList(std::string path) : path_(std::move(path)) {
  state_ = look();
  looked_at_ = Clock::now();
  if (const std::string fault = read(); !fault.empty())
    throw kernels::UsageError("--revoked: " + fault);
}

RevocationList::State RevocationList::look() const {
  struct stat about {};
  if (::stat(path_.c_str(), &about) != 0) return {};
  return {about.st_mtim.tv_sec, about.st_mtim.tv_nsec, about.st_size, about.st_ino};
}

std::string RevocationList::read() {
  std::ifstream file(path_);
  std::set<std::string> names;
  std::string line, fault;
  std::error_code ignored;
  if (!file.is_open() || std::filesystem::is_directory(path_, ignored))
    fault = path_ + " cannot be read";
  for (int number = 1; std::getline(file, line); ++number) {
    const auto name = name_in(line);
    if (name && !name->empty()) names.insert(*name);
    if (!name && fault.empty()) {
      fault = path_ + ":" + std::to_string(number) +
              ": neither a serial number in hex nor a SHA-256 fingerprint";
    }
  }
  if (!fault.empty()) names.merge(names_);
  names_ = std::move(names);
  return fault;
}

void RevocationList::refresh() {
  if (Clock::now() - looked_at_ < kBetweenLooks) return;
  looked_at_ = Clock::now();
  if (const State now = look(); now != state_) {
    state_ = now;
    fault_ = read();
  }
}

bool RevocationList::has(const CertificateNames& names) {
  const std::lock_guard lock(mutex_);
  refresh();
  return names_.contains(names.serial) || names_.contains(names.fingerprint);
}

bool RevocationList::has_any_of(const std::vector<CertificateNames>& chain) {
  return std::any_of(chain.begin(), chain.end(),
                     [this](const CertificateNames& names) { return has(names); });
}

std::string RevocationList::take_fault() {
  const std::lock_guard lock(mutex_);
  refresh();
  return std::exchange(fault_, {});
}

}  // namespace hearsay::runtime
