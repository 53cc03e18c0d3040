#include "data/page_cache.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

namespace nereus::data {

bool evict(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ::fdatasync(file);  // dirty pages would stay
  const bool dropped = ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0;
  ::close(file);
  return dropped;
}

std::int64_t bytes_from_storage() {
  std::ifstream file("/proc/self/io");
  for (std::string key; file >> key;) {
    std::int64_t number = 0;
    file >> number;
    if (key == "read_bytes:") return number;
  }
  return -1;
}

}  // namespace nereus::data
