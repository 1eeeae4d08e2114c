// SPDX-License-Identifier: Apache-2.0
// Secrets, certificates and lists of revoked ones as files: what is read, what is refused, and that
// nothing of a secret is ever said.
#include "runtime/net/security.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/core/errc.hpp"
#include "runtime/net/test_certificates.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

constexpr const char* kSecret = "correct horse battery";

std::array<unsigned char, 32> key_of(const std::string& where,
                                     std::vector<std::string>* warnings = nullptr) {
  PoolKey key;
  read_pool_key(
      where,
      [&](const std::string& line) {
        if (warnings != nullptr) warnings->push_back(line);
      },
      key);
  return key.bytes;
}

std::string refusal(const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const kernels::UsageError& error) {
    return error.what();
  }
  return "not refused";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a secret is the same from a file and from a variable, with and without a line end") {
  const TempDir folder;
  write_text(folder.file("a"), kSecret);
  write_text(folder.file("b"), std::string(kSecret) + "\r\n");
  write_text(folder.file("c"), std::string(kSecret) + "!");
  ::setenv("POOL_SECRET_TEST", kSecret, 1);
  const auto key = key_of(folder.file("a"));
  CHECK(key == key_of(folder.file("b")));
  CHECK(key == key_of("env:POOL_SECRET_TEST"));
  CHECK(key != key_of(folder.file("c")));
}

TEST_CASE(
    "secrets that are short, absent or misplaced are refused in words that do not hold them") {
  const TempDir folder;
  write_text(folder.file("short"), "fifteen letters\n");
  ::setenv("POOL_SECRET_TEST", "too short", 1);
  ::unsetenv("POOL_SECRET_ABSENT");
  struct Case {
    std::string where, said, unsaid;
  };
  for (const auto& [where, said, unsaid] :
       {Case{folder.file("short"), "holds 15 bytes, and 16 are the least", "fifteen"},
        Case{"env:POOL_SECRET_TEST", "holds 9 bytes", "too short"},
        Case{"env:POOL_SECRET_ABSENT", "is not set here", "="},
        Case{"correct horse battery", "names no file that can be read", "horse"},
        Case{folder.path(), "names no file that can be read", "?"}}) {
    CAPTURE(where);
    const std::string line = refusal([&, at = where] { key_of(at); });
    CHECK(contains(line, said));
    CHECK_FALSE(contains(line, unsaid));
    CHECK(line.starts_with("--secret: "));
  }
}

TEST_CASE("a secret that others may read is used, with a warning") {
  const TempDir folder;
  write_text(folder.file("key"), kSecret);
  for (const mode_t mode : {mode_t{0644}, mode_t{0620}, mode_t{0600}, mode_t{0400}}) {
    ::chmod(folder.file("key").c_str(), mode);
    std::vector<std::string> warnings;
    key_of(folder.file("key"), &warnings);
    REQUIRE(warnings.size() == (mode & 077 ? 1u : 0u));
    if (!warnings.empty()) CHECK(contains(warnings[0], "chmod 600 " + folder.file("key")));
  }
}

TEST_CASE("certificates that are absent, damaged or of another key are refused by name") {
  TestAuthority authority;
  const SecurityFiles good = authority.issue("p00"), other = authority.issue("p01");
  CHECK(open_quietly(good) != nullptr);
  write_text(authority.folder().file("rubbish"), "rubbish\n");
  const std::string rubbish = authority.folder().file("rubbish");
  for (std::string SecurityFiles::*part :
       {&SecurityFiles::authority, &SecurityFiles::certificate, &SecurityFiles::key}) {
    SecurityFiles files = good;
    files.*part = rubbish;
    CHECK(contains(refusal([&] { open_quietly(files); }), "--tls: " + rubbish + ": "));
    files.*part = authority.folder().file("absent");
    CHECK(contains(refusal([&] { open_quietly(files); }), "absent"));
  }
  SecurityFiles mixed = good;
  mixed.key = other.key;
  CHECK(contains(refusal([&] { open_quietly(mixed); }), other.key));
  for (const char* text : {"", "a", "a,b", "a,,c", ",b,c", "a,b,", "a,b,c,d"})
    CHECK(contains(refusal([&] { files_of_tls(text); }), "write CA,CERT,KEY"));
  CHECK(files_of_tls("a,b,c").key == "c");
}

TEST_CASE("a list of revoked certificates is read in every common way of writing, and again") {
  const TempDir folder;
  const std::string path = folder.file("revoked"), print(64, 'e');
  write_text(path,
             "# gone\n\nserial=00AB01\n  ab:cd:ef  # p03\nsha256 Fingerprint=" + print + "\n");
  RevocationList list(path);
  CHECK(list.has({"ab01", ""}));
  CHECK(list.has({"abcdef", ""}));
  CHECK(list.has({"7", print}));
  CHECK_FALSE(list.has({"7", ""}));
  CHECK(list.take_fault().empty());
  const auto after_a_look = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1000)); };
  write_text(path, "7\n");
  after_a_look();
  CHECK(list.has({"7", ""}));
  CHECK_FALSE(list.has({"ab01", ""}));
  // In the middle of being written, or gone: what was known before holds.
  write_text(path, "08\nnot hex\n");
  after_a_look();
  CHECK(contains(list.take_fault(), path + ":2: neither"));
  CHECK(list.take_fault().empty());
  CHECK((list.has({"7", ""}) && list.has({"8", ""})));
  std::filesystem::remove(path);
  after_a_look();
  CHECK(contains(list.take_fault(), "cannot be read"));
  CHECK(list.has({"7", ""}));
  for (const char* bad : {"xyz\n", "123456789012345678901234567890123456789012\n"}) {
    write_text(path, bad);
    CHECK(contains(refusal([&] { RevocationList{path}; }), "--revoked: " + path + ":1: "));
  }
  CHECK(contains(refusal([&] { RevocationList{folder.file("absent")}; }), "cannot be read"));
}

}  // namespace hearsay::runtime
