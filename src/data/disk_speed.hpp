// How fast a file comes from its disk and from the page cache, without root.
//
// Cold: every page of the file is evicted first. posix_fadvise(POSIX_FADV_DONTNEED) drops pages
// that are clean and that nobody maps, so the file is flushed before; whether they were dropped is
// not promised (a file system in memory keeps them), so the kernel's count of what this process
// loaded from a disk (read_bytes of /proc/self/io) says it: the share of the bytes that were read.
// Warm: the file was read through just before.
//
//   const ReadTimes cold = read_file_times(path, 3, true);
//   cold.seconds; cold.bytes_loaded / cold.bytes_read;      // 1: all of it came from the disk
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nereus::data {

// Drops the file's pages from the page cache, as far as the system lets us. Throws Errors where the
// file cannot be opened.
void evict(const std::string& path);

// Bytes that this process has had loaded from disks so far; nothing where the system does not tell.
std::optional<double> bytes_loaded_so_far();

struct ReadTimes {
  std::vector<double> seconds{};  // of each repeat
  double bytes = 0;               // of the file
  double bytes_read = 0;          // of all repeats
  double bytes_loaded = 0;        // of them from a disk
};

// Reads the file from start to end so many times, in blocks of 1 MiB.
ReadTimes read_file_times(const std::string& path, int repeats, bool cold);

// A file of so many bytes that no file system can store smaller, flushed to its disk.
void write_noise(const std::string& path, double bytes);

}  // namespace nereus::data
