#include "data/disk_speed.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.hpp"
#include "base/random.hpp"
#include "data/page_cache.hpp"

namespace nereus::data {

namespace {

constexpr std::size_t kBlock = 1 << 20;
using Clock = std::chrono::steady_clock;

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : path_(path), fd_(open(path.c_str(), flags, 0600)) {
    if (fd_ < 0) fail("cannot be opened");
  }
  ~OpenFile() { close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }
  [[noreturn]] void fail(const char* what) const {
    throw_environment_error("measure.file",
                            fmt::format("{} {}: {}", path_, what, std::strerror(errno)),
                            "a folder that can be written to, with room");
  }

 private:
  std::string path_;
  int fd_;
};

double read_through(const OpenFile& file) {
  std::vector<char> block(kBlock);
  double bytes = 0;
  if (lseek(file.fd(), 0, SEEK_SET) < 0) file.fail("cannot be read from its start");
  while (true) {
    const ssize_t got = read(file.fd(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) file.fail("cannot be read");
    if (got == 0) return bytes;
    bytes += static_cast<double>(got);
  }
}

}  // namespace

ReadTimes read_file_times(const std::string& path, int repeats, bool cold) {
  ReadTimes times;
  if (!cold) times.bytes = read_through(OpenFile(path, O_RDONLY | O_CLOEXEC));
  for (int i = 0; i < repeats; ++i) {
    if (cold) evict(path);
    const OpenFile file(path, O_RDONLY | O_CLOEXEC);
    const std::int64_t before = bytes_from_storage();
    const Clock::time_point start = Clock::now();
    times.bytes = read_through(file);
    times.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    times.bytes_loaded += static_cast<double>(bytes_from_storage() - before);
    times.bytes_read += times.bytes;
  }
  return times;
}

void write_noise(const std::string& path, double bytes) {
  const OpenFile file(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
  std::vector<std::uint64_t> block(kBlock / sizeof(std::uint64_t));
  Random random(1);
  for (double left = bytes; left > 0;) {
    for (std::uint64_t& word : block) word = random.next();
    const auto size = static_cast<std::size_t>(std::min(left, static_cast<double>(kBlock)));
    for (std::size_t at = 0; at < size;) {
      const char* bytes_of_block = reinterpret_cast<const char*>(block.data());
      const ssize_t put = write(file.fd(), bytes_of_block + at, size - at);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) file.fail("cannot be written");
      at += static_cast<std::size_t>(put);
    }
    left -= static_cast<double>(size);
  }
  if (fdatasync(file.fd()) != 0) file.fail("cannot be flushed");
}

}  // namespace nereus::data
