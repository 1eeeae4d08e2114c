// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/event_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/log/json_text.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;

bool is_reserved(std::string_view key) {
  return key == "ev" || key == "t_ns" || key == "peer" || key == "n";
}

}  // namespace

bool log_is_held(const std::string& path) {
  const FileHandle file = open_file(path, O_RDONLY | O_NONBLOCK);
  return file.is_open() && !lock_in_time(file.get());
}

void EventWriter::open(int flags) {
  ignore_file_size_signal();
  file_ = open_file(path_, flags);
  if (!file_.is_open()) {
    throw kernels::UsageError("event log " + path_ + ": " + error_text(errno) +
                              "; choose another --run");
  }
  if (!lock_in_time(file_.get())) {
    throw kernels::UsageError(
        "event log " + path_ +
        ": another process is writing it; this run has not ended, wait for it");
  }
  buffer_.reserve(kBufferBytes + 4096);
}

EventWriter::EventWriter(const std::string& run_dir, const LogPosition& from)
    : path_(run_dir + "/events.jsonl"),
      written_bytes_(from.bytes),
      next_n_(from.next_n),
      has_header_(true) {
  open(O_RDWR);
  char last = 0;
  const std::ptrdiff_t found =
      from.bytes == 0 ? 0 : read_at(file_.get(), {&last, 1}, from.bytes - 1);
  if (found < 0) throw kernels::UsageError("event log " + path_ + ": " + error_text(errno));
  if (found == 0)
    throw kernels::DamagedFile(path_, from.bytes, "the log ends before it, its end is missing");
  if (last != '\n')
    throw kernels::DamagedFile(path_, from.bytes, "no line ends here; this is another log");
  if (::ftruncate(file_.get(), static_cast<off_t>(from.bytes)) != 0 ||
      ::lseek(file_.get(), 0, SEEK_END) < 0)
    throw kernels::UsageError("event log " + path_ + ": " + error_text(errno));
}

EventWriter::EventWriter(const std::string& run_dir) : path_(run_dir + "/events.jsonl") {
  open(O_WRONLY | O_CREAT);
  struct stat status {};
  if (::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    throw kernels::UsageError("event log " + path_ +
                              " already holds a run; choose another --run or remove it");
  }
}

EventWriter::~EventWriter() {
  try {
    close();
  } catch (
      const std::exception&) {  // nothing may leave a destructor; the file is whole in any case
  }
}

void EventWriter::write_header(const gossip::Event& run_started) {
  HS_CHECK(!has_header_ && run_started.name == "run.started");
  if (!failure_.empty()) throw kernels::Fault(kernels::ExitCode::check_failed, failure_);
  HS_CHECK(file_.is_open());
  has_header_ = true;
  buffer_ += "{\"ev\":\"run.started\",\"schema\":";
  append_json_int(buffer_, kEventSchema);
  append_fields(run_started);
  end_line();
}

void EventWriter::write(std::chrono::nanoseconds t, std::string_view peer,
                        const gossip::Event& event) {
  HS_CHECK(has_header_);
  if (!failure_.empty()) throw kernels::Fault(kernels::ExitCode::check_failed, failure_);
  HS_CHECK(file_.is_open());
  auto counter = next_n_.find(peer);
  if (counter == next_n_.end()) counter = next_n_.emplace(std::string(peer), 0).first;
  buffer_ += "{\"ev\":";
  append_json_string(buffer_, event.name);
  buffer_ += ",\"t_ns\":";
  append_json_int(buffer_, t.count());
  buffer_ += ",\"peer\":";
  append_json_string(buffer_, peer);
  buffer_ += ",\"n\":";
  append_json_uint(buffer_, counter->second++);
  append_fields(event);
  end_line();
}

void EventWriter::append_fields(const gossip::Event& event) {
  for (const gossip::Field& field : event.fields) {
    HS_CHECK(!is_reserved(field.key) && field.key != "schema");
    append_json_key(buffer_, field.key);
    append_json_field(buffer_, field.value);
  }
}

void EventWriter::end_line() {
  buffer_ += "}\n";
  if (buffer_.size() >= kBufferBytes) flush();
}

void EventWriter::flush() {
  if (!failure_.empty()) throw kernels::Fault(kernels::ExitCode::check_failed, failure_);
  if (buffer_.empty()) return;
  HS_CHECK(file_.is_open());
  const WriteOutcome outcome = write_all(file_.get(), buffer_);
  if (outcome.error == 0) {
    written_bytes_ += buffer_.size();
    buffer_.clear();
    return;
  }
  const std::size_t newline =
      std::string_view(buffer_).substr(0, outcome.written_bytes).rfind('\n');
  if (newline != std::string_view::npos) written_bytes_ += newline + 1;
  fail(outcome.error);
}

LogPosition EventWriter::synced_position() {
  flush();
  if (const int error = sync_file(file_.get()); error != 0) fail(error);
  return {written_bytes_, next_n_};
}

void EventWriter::close() {
  if (!file_.is_open()) return;
  if (failure_.empty()) flush();
  const int sync_error = failure_.empty() ? sync_file(file_.get()) : 0;
  if (sync_error != 0) fail(sync_error);
  const int close_error = file_.close();
  if (close_error != 0 && failure_.empty()) fail(close_error);
}

// Cuts the file back to its last whole line, remembers the failure and throws it.
void EventWriter::fail(int error) {
  const std::size_t lost_bytes = buffer_.size();
  buffer_.clear();
  failure_ = "event log " + path_ + ": " + error_text(error) + " after " +
             std::to_string(written_bytes_) +
             " bytes; free space on that disk (or raise ulimit -f), or choose another --run";
  struct stat status {};
  if (file_.is_open() && ::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) &&
      lost_bytes > 0 && ::ftruncate(file_.get(), static_cast<off_t>(written_bytes_)) != 0) {
    failure_ += "; its last line may be torn (" + error_text(errno) + ")";
  }
  file_.close();
  throw kernels::Fault(kernels::ExitCode::check_failed, failure_);
}

}  // namespace hearsay::runtime
