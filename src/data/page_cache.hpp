// Evicts files from the page cache without root, so that reads are reliably cold or warm.
//
//   evict(path);                                   // removes its unmapped pages from the cache
//   const std::int64_t before = bytes_from_storage();
//   ... read it ...
//   bytes_from_storage() - before;                 // bytes that came from a disk
//
// Pages are evicted with posix_fadvise(POSIX_FADV_DONTNEED), which keeps pages that are mapped or
// not yet written. So no process may map the file, and it is flushed first. The kernel counts bytes
// for this process (/proc/self/io, read_bytes); pages loaded by other processes, or kept in memory
// by a file system, are not included.
#pragma once

#include <cstdint>
#include <string>

namespace nereus::data {

// Returns false if the file cannot be opened.
bool evict(const std::string& path);

// For this process, with all its threads; -1 if the kernel does not count.
std::int64_t bytes_from_storage();

}  // namespace nereus::data
