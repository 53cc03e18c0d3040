// One job at a time writes checkpoints to a folder: FOLDER/.lock, held by the kernel for as long as
// this lives (flock), so that nothing is left to clean up however the process ends. Two jobs would
// take each other's half-written steps for leftovers, and replace each other's complete ones.
//
//   const FolderLock lock("run");      // makes the folder; throws Errors (checkpoint.running)
//
// Where the file system knows no locks there is none, and the job goes on.
#pragma once

#include <string>

namespace nereus::checkpoint {

class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace nereus::checkpoint
