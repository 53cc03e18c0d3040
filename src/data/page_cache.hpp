// Files in the page cache and out of it, without being root, so that reading is cold or warm by
// construction and not by luck.
//
//   evict(path);                                   // its pages that nobody maps leave the cache
//   const std::int64_t before = bytes_from_storage();
//   ... read it ...
//   bytes_from_storage() - before;                 // what had to come from a disk
//
// Pages are dropped by posix_fadvise(POSIX_FADV_DONTNEED), which leaves those that are mapped or
// not yet written where they are: so no process may map the file, and it is flushed first. Bytes
// are counted by the kernel for this process (/proc/self/io, read_bytes): what other processes
// brought in, and what file systems keep in memory of their own, is not among them.
#pragma once

#include <cstdint>
#include <string>

namespace nereus::data {

// False where the file cannot be opened.
bool evict(const std::string& path);

// Of this process, all its threads; -1 where the kernel does not count.
std::int64_t bytes_from_storage();

}  // namespace nereus::data
