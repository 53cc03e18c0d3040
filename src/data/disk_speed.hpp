// How fast a file comes from its disk and from the page cache, without root.
//
// Cold: every page of the file is evicted first (data/page_cache.hpp). Whether they were dropped is
// not promised (a file system in memory keeps them), so the kernel's count of what this process
// loaded from a disk says it: the share of the bytes that were read. Warm: the file was read
// through just before.
//
//   const ReadTimes cold = read_file_times(path, 3, true);
//   cold.seconds; cold.bytes_loaded / cold.bytes_read;      // 1: all of it came from the disk
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nereus::data {

struct ReadTimes {
  std::vector<double> seconds{};  // of each repeat
  double bytes = 0;               // of the file
  double bytes_read = 0;          // of all repeats
  double bytes_loaded = 0;        // of them from a disk
};

// Reads the file from start to end so many times, in blocks of 1 MiB. Throws Errors: measure.file.
ReadTimes read_file_times(const std::string& path, int repeats, bool cold);

// A file of so many bytes that no file system can store smaller, flushed to its disk.
void write_noise(const std::string& path, double bytes);

}  // namespace nereus::data
