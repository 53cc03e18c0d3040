#include "checkpoint/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/remove_tree.hpp"

namespace nereus::checkpoint {

namespace fs = std::filesystem;

int write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // Linux writes at most 2 GiB at a time; we split explicitly.
    const std::size_t chunk = std::min<std::size_t>(bytes.size(), 1U << 30);
    const ssize_t written = write(file, bytes.data(), chunk);
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

void cannot_write(const std::string& path, int error) {
  const std::string message = fmt::format("cannot write {}: {}", path, std::strerror(error));
  const bool wrong_path = error == ENOENT || error == ENOTDIR || error == EISDIR ||
                          error == EACCES || error == EPERM || error == EROFS ||
                          error == ENAMETOOLONG;
  if (wrong_path) throw_input_error("checkpoint.write", message);
  throw_environment_error("checkpoint.write", message,
                          error == ENOSPC || error == EDQUOT
                              ? "make room, or keep fewer checkpoints; the last complete one stays"
                              : "the last complete checkpoint stays");
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) cannot_write(path, error.value());
}

void flush_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) cannot_write(path, errno);
  // Some file systems cannot flush a folder and say EINVAL: there is nothing more to do then.
  const int error = fsync(folder) == 0 || errno == EINVAL ? 0 : errno;
  close(folder);
  if (error != 0) cannot_write(path, error);
}

void replace_folder(const std::string& from, const std::string& to) {
  const std::string parent =
      fs::path(to).has_parent_path() ? fs::path(to).parent_path().string() : std::string(".");
  flush_folder(from);
  if (rename(from.c_str(), to.c_str()) != 0) {
    if (errno != EEXIST && errno != ENOTEMPTY) cannot_write(to, errno);
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
      // A file system that cannot exchange: for a moment neither is there, but others are.
      remove_folder(to);
      if (rename(from.c_str(), to.c_str()) != 0) cannot_write(to, errno);
    }
  }
  flush_folder(parent);
  remove_tree(from);  // the old one, where they were exchanged
}

void remove_folder(const std::string& path) {
  std::string doomed = path;
  if (!path.ends_with(kPartial)) {
    doomed = path + ".old" + std::string(kPartial);
    remove_tree(doomed);
    if (rename(path.c_str(), doomed.c_str()) != 0 && errno != ENOENT) cannot_write(path, errno);
  }
  if (const int error = remove_tree(doomed)) cannot_write(doomed, error);
}

}  // namespace nereus::checkpoint
