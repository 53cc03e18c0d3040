#include "app/train/output_checks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace nereus::app {

namespace {

namespace fs = std::filesystem;

// errno of making a file in a folder that is there, or 0.
int try_file_in(const std::string& folder) {
  std::string name = folder + "/.nereus-XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return errno;
  close(file);
  unlink(name.c_str());
  return 0;
}

// Creates the folder, tests it, and removes what it created.
int try_folder(const fs::path& path) {
  std::vector<fs::path> made;
  std::error_code error;
  fs::path missing;
  for (const fs::path& part : fs::absolute(path)) {
    missing /= part;
    if (part.empty() || fs::exists(missing, error)) continue;
    if (!fs::create_directory(missing, error)) break;
    made.push_back(missing);
  }
  const int number = error ? error.value() : try_file_in(path.string());
  for (auto at = made.rbegin(); at != made.rend(); ++at) fs::remove(*at, error);
  return number;
}

void refuse(const std::string& code, const std::string& option, const std::string& path, int error,
            const std::string& hint, ErrorList& errors) {
  errors.add(code, fmt::format("{} {} cannot be written: {}", option, path, std::strerror(error)),
             {path}, hint);
}

}  // namespace

void check_output_file(const std::string& code, const std::string& option, const std::string& path,
                       ErrorList& errors) {
  if (path.empty()) return;
  std::error_code unknown;
  int error = 0;
  if (fs::is_directory(path, unknown)) {
    error = EISDIR;
  } else if (fs::exists(path, unknown) && !fs::is_regular_file(path, unknown)) {
    error = access(path.c_str(), W_OK) == 0 ? 0 : errno;  // a device or a pipe
  } else {
    const fs::path folder = fs::path(path).parent_path();
    error = try_file_in(folder.empty() ? "." : folder.string());
  }
  if (error != 0)
    refuse(code, option, path, error, "a file in an existing, writable folder", errors);
}

void check_output_folder(const std::string& code, const std::string& option,
                         const std::string& path, ErrorList& errors) {
  if (path.empty()) return;
  std::error_code unknown;
  const int error =
      fs::exists(path, unknown) && !fs::is_directory(path, unknown) ? ENOTDIR : try_folder(path);
  if (error != 0) refuse(code, option, path, error, "a writable folder", errors);
}

}  // namespace nereus::app
