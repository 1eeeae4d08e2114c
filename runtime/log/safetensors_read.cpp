// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "kernels/core/errc.hpp"
#include "runtime/log/posix_file.hpp"
#include "runtime/log/safetensors.hpp"

namespace hearsay::runtime {
namespace {

using nlohmann::json;  // sorted: a header of a million names is still looked up quickly

static_assert(std::endian::native == std::endian::little, "values are read as they lie in memory");

constexpr std::size_t kLengthBytes = 8;
constexpr int kMaxDepth = 3;  // file object, tensor object, array of numbers

class Reader {
 public:
  explicit Reader(const std::string& path);
  TensorFile read();

 private:
  struct Header {
    json object;
    std::vector<std::string> names;  // of the object, in file order
  };
  struct Entry {
    std::string name;
    std::vector<std::size_t> shape;
    std::size_t begin_bytes = 0, end_bytes = 0;  // from the start of the data
  };

  [[noreturn]] void damaged(std::size_t offset_bytes, const std::string& what) const {
    throw kernels::DamagedFile(path_, offset_bytes, what);
  }
  void read_exactly(std::span<char> bytes, std::size_t offset_bytes) const;
  std::size_t header_length() const;
  Header parse_header(const std::string& text) const;
  TensorMetadata metadata_of(const json& object) const;
  Entry entry_of(const std::string& name, const json& object) const;
  std::size_t number_of(const std::string& name, const json& value) const;
  void check_size(const Entry& entry) const;
  void check_gapless(const std::vector<Entry>& entries) const;

  const std::string& path_;
  FileHandle file_;
  std::size_t file_bytes_ = 0;
  std::size_t data_begin_ = 0;  // where the values start
};

Reader::Reader(const std::string& path)
    : path_(path), file_(open_file(path, O_RDONLY | O_NONBLOCK)) {
  if (!file_.is_open()) throw kernels::UsageError("model file " + path + ": " + error_text(errno));
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0)
    throw kernels::UsageError("model file " + path + ": " + error_text(errno));
  if (!S_ISREG(status.st_mode)) throw kernels::UsageError("model file " + path + " is not a file");
  file_bytes_ = static_cast<std::size_t>(status.st_size);
}

void Reader::read_exactly(std::span<char> bytes, std::size_t offset_bytes) const {
  const std::ptrdiff_t moved = read_at(file_.get(), bytes, offset_bytes);
  if (moved < 0) throw kernels::UsageError("model file " + path_ + ": " + error_text(errno));
  if (static_cast<std::size_t>(moved) < bytes.size()) {
    damaged(offset_bytes + static_cast<std::size_t>(moved),
            "the file ends here; it became shorter while it was read");
  }
}

std::size_t Reader::header_length() const {
  if (file_bytes_ < kLengthBytes) damaged(file_bytes_, "the file ends inside the header length");
  unsigned char bytes[kLengthBytes];
  read_exactly({reinterpret_cast<char*>(bytes), kLengthBytes}, 0);
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | bytes[i];
  if (length > kMaxSafetensorsHeaderBytes) {
    damaged(0, "the header length " + std::to_string(length) + " is over the limit of " +
                   std::to_string(kMaxSafetensorsHeaderBytes));
  }
  if (length > file_bytes_ - kLengthBytes) {
    damaged(file_bytes_, "the file ends inside the header of " + std::to_string(length) + " bytes");
  }
  return static_cast<std::size_t>(length);
}

// A key that stands twice or a nest that is too deep would be silently folded by the parser, so
// both are caught while it runs; what is too deep is thrown away at once.
Reader::Header Reader::parse_header(const std::string& text) const {
  if (text.empty() || text.front() != '{')
    damaged(kLengthBytes, "the header does not begin with '{'");
  std::vector<std::set<std::string>> keys(static_cast<std::size_t>(kMaxDepth) + 2);
  std::string problem;
  Header header;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    using Kind = json::parse_event_t;
    const bool opens = event == Kind::object_start || event == Kind::array_start;
    if (opens && depth >= kMaxDepth) {
      problem = "the header is nested too deeply";
      return false;
    }
    if (event == Kind::object_start) keys[static_cast<std::size_t>(depth) + 1].clear();
    if (event == Kind::key && depth <= kMaxDepth) {
      const auto name = value.get<std::string>();
      if (depth == 1) header.names.push_back(name);
      if (!keys[static_cast<std::size_t>(depth)].insert(name).second) {
        problem = "the header has the name '" + name + "' twice";
      }
    }
    return true;
  };
  try {
    header.object = json::parse(text, watch);
  } catch (const json::parse_error& error) {
    damaged(kLengthBytes + (error.byte > 0 ? error.byte - 1 : 0), "the header is not JSON");
  } catch (const json::exception&) {
    damaged(kLengthBytes, "the header holds a number that is out of range");
  }
  if (!problem.empty()) damaged(kLengthBytes, problem);
  if (!header.object.is_object()) damaged(kLengthBytes, "the header is not a JSON object");
  return header;
}

TensorMetadata Reader::metadata_of(const json& object) const {
  if (!object.is_object()) damaged(kLengthBytes, "__metadata__ is not an object");
  TensorMetadata metadata;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) damaged(kLengthBytes, "__metadata__ '" + key + "' is not a string");
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

std::size_t Reader::number_of(const std::string& name, const json& value) const {
  if (!value.is_number_unsigned())
    damaged(kLengthBytes, "tensor '" + name + "' has a size that is no whole number");
  return value.get<std::size_t>();
}

Reader::Entry Reader::entry_of(const std::string& name, const json& object) const {
  const std::string tensor = "tensor '" + name + "' ";
  if (!object.is_object()) damaged(kLengthBytes, tensor + "is not an object");
  const auto dtype = object.find("dtype"), shape = object.find("shape"),
             range = object.find("data_offsets");
  if (dtype == object.end() || !dtype->is_string()) damaged(kLengthBytes, tensor + "has no dtype");
  if (shape == object.end() || !shape->is_array()) damaged(kLengthBytes, tensor + "has no shape");
  if (range == object.end() || !range->is_array() || range->size() != 2) {
    damaged(kLengthBytes, tensor + "has no pair of data_offsets");
  }
  if (*dtype != "F32") {
    throw kernels::UsageError(path_ + ": " + tensor + "has dtype " + dtype->get<std::string>() +
                              "; only F32 is read, convert it first");
  }
  Entry entry;
  entry.name = name;
  for (const json& side : *shape) entry.shape.push_back(number_of(name, side));
  entry.begin_bytes = number_of(name, (*range)[0]);
  entry.end_bytes = number_of(name, (*range)[1]);
  check_size(entry);
  return entry;
}

void Reader::check_size(const Entry& entry) const {
  const std::string tensor = "tensor '" + entry.name + "' ";
  const std::size_t data_bytes = file_bytes_ - data_begin_;
  if (entry.begin_bytes > entry.end_bytes) damaged(kLengthBytes, tensor + "ends before it begins");
  if (entry.end_bytes > data_bytes) {
    damaged(file_bytes_, "the file ends here, but " + tensor + "needs data up to byte " +
                             std::to_string(entry.end_bytes) + " of " + std::to_string(data_bytes));
  }
  std::uint64_t bytes = sizeof(float);
  bool overflows = false;
  for (const std::size_t side : entry.shape)
    overflows |= __builtin_mul_overflow(bytes, std::uint64_t{side}, &bytes);
  if (overflows) damaged(kLengthBytes, tensor + "has a shape whose size overflows");
  if (bytes != entry.end_bytes - entry.begin_bytes) {
    damaged(kLengthBytes, tensor + "has " + std::to_string(entry.end_bytes - entry.begin_bytes) +
                              " bytes, its shape needs " + std::to_string(bytes));
  }
}

// Sorted entries follow each other and fill the file.
void Reader::check_gapless(const std::vector<Entry>& entries) const {
  std::size_t end_bytes = 0;
  for (const Entry& entry : entries) {
    if (entry.begin_bytes != end_bytes) {
      damaged(data_begin_ + std::min(entry.begin_bytes, end_bytes),
              "tensor '" + entry.name +
                  (entry.begin_bytes > end_bytes ? "' begins after a gap" : "' overlaps another"));
    }
    end_bytes = entry.end_bytes;
  }
  if (data_begin_ + end_bytes != file_bytes_) {
    damaged(data_begin_ + end_bytes,
            std::to_string(file_bytes_ - data_begin_ - end_bytes) + " bytes too many at the end");
  }
}

TensorFile Reader::read() {
  std::string text(header_length(), '\0');
  read_exactly(text, kLengthBytes);
  data_begin_ = kLengthBytes + text.size();
  const Header header = parse_header(text);
  TensorFile result;
  std::vector<Entry> entries;
  for (const std::string& name : header.names) {
    const json& object = header.object.at(name);
    if (name == "__metadata__") {
      result.metadata = metadata_of(object);
    } else {
      entries.push_back(entry_of(name, object));
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin_bytes, a.end_bytes) < std::pair(b.begin_bytes, b.end_bytes);
  });
  check_gapless(entries);
  for (Entry& entry : entries) result.layout.add(std::move(entry.name), std::move(entry.shape));
  result.values = kernels::Buffer<float>(result.layout.size());
  read_exactly(
      {reinterpret_cast<char*>(result.values.data()), result.layout.size() * sizeof(float)},
      data_begin_);
  return result;
}

}  // namespace

TensorFile read_safetensors(const std::string& path) { return Reader(path).read(); }

}  // namespace hearsay::runtime
