#include "measure/trace_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"

namespace nereus::measure {

namespace {

constexpr unsigned kBuffer = 1 << 16;
constexpr unsigned kZipBuffer = 1 << 18;

}  // namespace

TraceFile::TraceFile(const std::string& path) : path_(path), buffer_(kBuffer) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw_input_error("spec.no-file", fmt::format("there is no file \"{}\"", path));
  if (std::filesystem::is_directory(path, error))
    throw_input_error("spec.is-directory", "a folder stands where a trace is expected", {path});
  file_ = gzopen(path.c_str(), "rb");
  if (file_ == nullptr)
    throw_input_error("spec.unreadable", fmt::format("it cannot be read: {}", std::strerror(errno)),
                      {path});
  gzbuffer(file_, kZipBuffer);
}

TraceFile::~TraceFile() { gzclose(file_); }

TraceFile::int_type TraceFile::underflow() {
  const int count = fault_.empty() ? gzread(file_, buffer_.data(), kBuffer) : 0;
  int code = Z_OK;
  // A file that ends within a member is read to its end, and then complained about.
  const char* text = gzerror(file_, &code);
  if (count < 0 || (count == 0 && code == Z_BUF_ERROR)) {
    fault_ = text;
    ends_early_ = code == Z_BUF_ERROR;
  }
  if (count <= 0) return traits_type::eof();
  setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
  return traits_type::to_int_type(*gptr());
}

void TraceFile::throw_if_broken() const {
  if (fault_.empty()) return;
  if (ends_early_)
    throw_input_error("measure.trace-truncated", "the trace ends early: its gzip is not whole",
                      {path_}, "the whole file; a job that is killed leaves half of it");
  throw_input_error("measure.trace-broken", fmt::format("cannot unzip the trace: {}", fault_),
                    {path_}, "a file as torch.profiler writes it");
}

}  // namespace nereus::measure
