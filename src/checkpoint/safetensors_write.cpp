#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "checkpoint/files.hpp"
#include "checkpoint/safetensors.hpp"
#include "spec/value.hpp"

namespace nereus::checkpoint {

namespace {

spec::Value numbers(const std::vector<std::int64_t>& list) {
  spec::Array array;
  for (const std::int64_t number : list) array.push_back({.data = number});
  return {.data = std::move(array)};
}

spec::Value text_value(std::string_view text) { return {.data = std::string(text)}; }

// Sorts, and gives every tensor its place.
void lay_out(std::vector<StoredTensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    const std::size_t size_a = element_size(a.dtype), size_b = element_size(b.dtype);
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
  std::uint64_t at = 0;
  for (StoredTensor& tensor : tensors) {
    const std::optional<std::uint64_t> bytes = num_bytes(tensor.dtype, tensor.shape);
    NEREUS_CHECK(bytes.has_value(), tensor.name + " has no size");
    tensor.begin = at;
    tensor.end = at += *bytes;
  }
  std::vector<std::string_view> names;
  for (const StoredTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  NEREUS_CHECK(std::adjacent_find(names.begin(), names.end()) == names.end(),
               "two tensors of one name in one file");
}

std::string make_header(const std::vector<StoredTensor>& tensors, const Metadata& metadata) {
  spec::Table root;
  if (!metadata.empty()) {
    spec::Table texts;
    for (const auto& [key, text] : metadata) texts.emplace_back(key, text_value(text));
    root.emplace_back("__metadata__", spec::Value{.data = std::move(texts)});
  }
  for (const StoredTensor& tensor : tensors) {
    spec::Table row;
    row.emplace_back("dtype", text_value(to_string(tensor.dtype)));
    row.emplace_back("shape", numbers(tensor.shape));
    row.emplace_back("data_offsets", numbers({static_cast<std::int64_t>(tensor.begin),
                                              static_cast<std::int64_t>(tensor.end)}));
    root.emplace_back(tensor.name, spec::Value{.data = std::move(row)});
  }
  std::string json = spec::to_json({.data = std::move(root)});
  json.append((8 - json.size() % 8) % 8, ' ');
  const std::uint64_t length = json.size();
  std::string header(sizeof(length), '\0');
  std::memcpy(header.data(), &length, sizeof(length));
  return header + json;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::string path, std::vector<StoredTensor> tensors,
                                     const Metadata& metadata)
    : path_(std::move(path)), tensors_(std::move(tensors)) {
  lay_out(tensors_);
  if (!tensors_.empty()) data_size_ = tensors_.back().end;
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) cannot_write(path_, errno);
  const std::string header = make_header(tensors_, metadata);
  put(std::as_bytes(std::span(header)));
}

SafetensorsWriter::~SafetensorsWriter() {
  if (file_ < 0) return;
  close(file_);
  unlink(path_.c_str());
}

void SafetensorsWriter::put(std::span<const std::byte> bytes) {
  sum_.add(bytes);
  size_ += bytes.size();
  if (const int error = write_all(file_, bytes); error != 0) {
    // A constructor that throws has no destructor.
    close(file_);
    unlink(path_.c_str());
    file_ = -1;
    cannot_write(path_, error);
  }
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  NEREUS_CHECK(file_ >= 0, path_ + " was given up or finished");
  data_written_ += bytes.size();
  NEREUS_CHECK(data_written_ <= data_size_, "more bytes than the tensors of " + path_);
  put(bytes);
}

FileSum SafetensorsWriter::finish() {
  NEREUS_CHECK(file_ >= 0 && data_written_ == data_size_,
               fmt::format("{} has {} of {} bytes", path_, data_written_, data_size_));
  int error = fsync(file_) == 0 ? 0 : errno;
  if (close(file_) != 0 && error == 0) error = errno;
  file_ = -1;
  if (error != 0) {
    unlink(path_.c_str());
    cannot_write(path_, error);
  }
  return {size_, sum_.value()};
}

}  // namespace nereus::checkpoint
