#include "base/write_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"

namespace nereus {

namespace {

[[noreturn]] void cannot_write(const std::string& path, int error) {
  const std::string message = fmt::format("cannot write {}: {}", path, std::strerror(error));
  // A wrong path is the user's to mend; a full or broken disk is the machine's.
  const bool wrong_path = error == ENOENT || error == ENOTDIR || error == EISDIR ||
                          error == EACCES || error == EPERM || error == ENAMETOOLONG;
  if (wrong_path) throw_input_error("output.path", message);
  throw_environment_error("output.write", message);
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

void write_file(const std::string& path, std::string_view text) {
  write_file(path, [&](const TextSink& take) { take(text); });
}

void write_file(const std::string& path, const std::function<void(const TextSink&)>& fill) {
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) cannot_write(path, EISDIR);
  int error = 0;  // the first
  const auto write_into = [&](int file) {
    fill([&](std::string_view text) {
      if (error == 0 && !write_all(file, text)) error = errno;
    });
  };
  if (exists && !S_ISREG(status.st_mode)) {
    // A device or a pipe (/dev/stderr, /dev/null) cannot be replaced: write into it.
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) cannot_write(path, errno);
    write_into(file);
    close(file);
    if (error != 0) cannot_write(path, error);
    return;
  }
  // A link stays a link: what it leads to is replaced.
  std::string target = path;
  if (char* real = exists ? realpath(path.c_str(), nullptr) : nullptr; real != nullptr) {
    target = real;
    std::free(real);
  }
  std::string temporary = target + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) cannot_write(path, errno);
  const mode_t mask = umask(0);
  umask(mask);
  const mode_t mode = exists ? status.st_mode & 07777 : 0666 & ~mask;
  write_into(file);
  if (error == 0 && (fchmod(file, mode) != 0 || fsync(file) != 0)) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  unlink(temporary.c_str());
  cannot_write(path, error);
}

}  // namespace nereus
