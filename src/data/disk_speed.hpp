// Measures how fast a file is read from its disk and from the page cache, without root.
//
// Cold: every page of the file is evicted first (data/page_cache.hpp). Eviction is not guaranteed
// (a file system in memory keeps its pages), so the kernel's count of bytes that this process
// loaded from a disk gives the share that was really cold. Warm: the file was read just before.
//
//   const ReadTimes cold = read_file_times(path, 3, true);
//   cold.seconds; cold.bytes_loaded / cold.bytes_read;      // 1: everything came from the disk
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nereus::data {

struct ReadTimes {
  std::vector<double> seconds{};  // one per repeat
  double bytes = 0;               // size of the file
  double bytes_read = 0;          // over all repeats
  double bytes_loaded = 0;        // part of bytes_read that came from a disk
};

// Reads the file from start to end `repeats` times, in blocks of 1 MiB. Throws Errors:
// measure.file.
ReadTimes read_file_times(const std::string& path, int repeats, bool cold);

// Writes a file of that size that no file system can compress, and flushes it to disk.
void write_noise(const std::string& path, double bytes);

}  // namespace nereus::data
