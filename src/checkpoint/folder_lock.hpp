// Ensures that only one job at a time writes checkpoints to a folder. The kernel holds the lock
// FOLDER/.lock (flock) during the object's lifetime, so nothing is left to clean up, however the
// process ends. Without it, two jobs would remove each other's partial checkpoints as leftovers,
// and replace each other's complete ones.
//
//   const FolderLock lock("run");      // creates the folder; throws Errors (checkpoint.running)
//
// If the file system does not support locks, no lock is taken, and the job continues.
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
