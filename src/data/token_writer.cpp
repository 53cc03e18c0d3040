#include "data/token_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "data/token_layout.hpp"

namespace nereus::data {

namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

[[noreturn]] void cannot_write(const std::string& path, int error) {
  const std::string message = fmt::format("cannot write {}: {}", path, std::strerror(error));
  const bool wrong_path = error == ENOENT || error == ENOTDIR || error == EISDIR ||
                          error == EACCES || error == EPERM || error == ENAMETOOLONG ||
                          error == ESPIPE;
  if (wrong_path) throw_input_error("output.path", message);
  throw_environment_error("output.write", message);
}

int make_beside(const std::string& path, std::string& name) {
  name = path + ".XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) cannot_write(path, errno);
  return file;
}

}  // namespace

TokenWriter::TokenWriter(const std::string& path, TokenWriterOptions options)
    : path_(path), options_(std::move(options)) {
  NEREUS_CHECK(options_.vocabulary > 0, "a token file needs a vocabulary");
  token_bytes_ = options_.vocabulary <= 1 << 8 ? 1 : options_.vocabulary <= 1 << 16 ? 2 : 4;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    cannot_write(path, S_ISDIR(status.st_mode) ? EISDIR : ESPIPE);
  file_ = make_beside(path, temporary_);
  std::string name;
  starts_file_ = make_beside(path, name);
  unlink(name.c_str());
  buffer_.assign(kTokenHeaderBytes, '\0');  // its place; known at the end
}

TokenWriter::~TokenWriter() { close_and_forget(); }

void TokenWriter::close_and_forget() {
  if (file_ >= 0) close(file_);
  if (starts_file_ >= 0) close(starts_file_);
  file_ = starts_file_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

void TokenWriter::put(int file, std::string& buffer, bool all) {
  if (!all && buffer.size() < kBufferBytes) return;
  std::string_view rest = buffer;
  while (!rest.empty()) {
    const ssize_t written = write(file, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) cannot_write(path_, errno);
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer.clear();
}

void TokenWriter::put_tokens(bool all) {
  if (!all && buffer_.size() < kBufferBytes) return;
  // The header's place comes first, and does not count.
  const bool first = lseek(file_, 0, SEEK_CUR) == 0;
  checksum_ = checksum(checksum_, std::string_view(buffer_).substr(first ? kTokenHeaderBytes : 0));
  put(file_, buffer_, true);
}

void TokenWriter::add(std::span<const std::uint32_t> tokens) {
  while (!tokens.empty()) {
    const auto here = std::min<std::size_t>(tokens.size(), kBufferBytes / 4);
    const std::size_t at = buffer_.size();
    buffer_.resize(at + here * static_cast<std::size_t>(token_bytes_));
    char* to = buffer_.data() + at;
    for (const std::uint32_t token : tokens.first(here)) {
      NEREUS_CHECK(token < options_.vocabulary, "a token outside its vocabulary");
      store_number(to, token, token_bytes_);
      to += token_bytes_;
    }
    num_tokens_ += static_cast<std::int64_t>(here);
    tokens = tokens.subspan(here);
    put_tokens(false);
  }
}

void TokenWriter::end_document() {
  char start[8];
  store_number(start, static_cast<std::uint64_t>(document_start_), 8);
  starts_buffer_.append(start, 8);
  put(starts_file_, starts_buffer_, false);
  document_start_ = num_tokens_;
  ++num_documents_;
}

std::int64_t TokenWriter::file_bytes() const {
  const std::int64_t tokens = kTokenHeaderBytes + num_tokens_ * token_bytes_;
  return (tokens + 7) / 8 * 8 + 8 * num_documents_;
}

void TokenWriter::finish(std::int64_t text_bytes) {
  NEREUS_CHECK(document_start_ == num_tokens_, "tokens after the end of the last document");
  const auto odd = static_cast<std::size_t>(num_tokens_ * token_bytes_ % 8);
  if (odd != 0) buffer_.append(8 - odd, '\0');
  put_tokens(true);
  put(starts_file_, starts_buffer_, true);
  if (lseek(starts_file_, 0, SEEK_SET) != 0) cannot_write(path_, errno);
  for (;;) {
    buffer_.resize(kBufferBytes);
    const ssize_t got = read(starts_file_, buffer_.data(), buffer_.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot_write(path_, errno);
    buffer_.resize(static_cast<std::size_t>(got));
    if (got == 0) break;
    put_tokens(true);
  }

  char header[kTokenHeaderBytes] = {};
  std::memcpy(header, kNereusMagic.data(), kNereusMagic.size());
  store_number(header + 8, kTokenSchemaVersion, 4);
  store_number(header + 12, static_cast<std::uint64_t>(token_bytes_), 4);
  store_number(header + 16, static_cast<std::uint64_t>(options_.vocabulary), 8);
  store_number(header + 24, static_cast<std::uint64_t>(num_tokens_), 8);
  store_number(header + 32, static_cast<std::uint64_t>(num_documents_), 8);
  store_number(header + 40, static_cast<std::uint64_t>(text_bytes), 8);
  store_number(header + 48, static_cast<std::uint64_t>(options_.end_of_text.value_or(-1)), 8);
  store_number(header + 56, checksum_, 4);
  options_.tokenizer.resize(std::min(options_.tokenizer.size(), kTokenizerNameBytes - 1));
  std::memcpy(header + 60, options_.tokenizer.data(), options_.tokenizer.size());
  store_number(header + 124, checksum(0, {header, 124}), 4);

  struct stat status {};
  const bool replaces = stat(path_.c_str(), &status) == 0;
  const mode_t mask = umask(0);
  umask(mask);
  const mode_t mode = replaces ? status.st_mode & 07777 : 0666 & ~mask;
  const bool written = pwrite(file_, header, sizeof header, 0) == sizeof header &&
                       fchmod(file_, mode) == 0 && fsync(file_) == 0 &&
                       rename(temporary_.c_str(), path_.c_str()) == 0;
  if (!written) cannot_write(path_, errno);
  temporary_.clear();
  close_and_forget();
}

}  // namespace nereus::data
