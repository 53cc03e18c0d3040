#include "checkpoint/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "checkpoint/files.hpp"

namespace nereus::checkpoint {

FolderLock::FolderLock(const std::string& folder) {
  make_folder(folder);
  const std::string path = folder + "/.lock";
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) cannot_write(path, errno);
  if (flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  close(file_);
  throw_environment_error("checkpoint.running",
                          fmt::format("another job writes checkpoints to {}", folder),
                          "another folder, or wait until that job has ended");
}

FolderLock::~FolderLock() { close(file_); }

}  // namespace nereus::checkpoint
