#include "app/exchange/write_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.hpp"

namespace nereus::app {

namespace fs = std::filesystem;

void write_folder(const std::string& directory, const std::function<void(const fs::path&)>& fill) {
  const fs::path target(directory);
  std::error_code error;
  if (fs::exists(target, error)) {
    if (!fs::is_directory(target, error))
      throw_input_error("output.path", fmt::format("{} is not a directory", directory), {},
                        "-o names a directory, which is created if it does not exist");
    fill(target);
    return;
  }
  // Beside the target, so that the last step is one rename.
  fs::path parent = target;
  if (!parent.has_filename()) parent = parent.parent_path();
  std::string pattern = parent.string() + ".XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr)
    throw_input_error("output.path", fmt::format("cannot make the folder {}", directory), {},
                      "its parent must exist and be writable");
  const fs::path temporary(pattern);
  try {
    fill(temporary);
    fs::permissions(temporary, fs::perms::owner_all | fs::perms::group_read |
                                   fs::perms::group_exec | fs::perms::others_read |
                                   fs::perms::others_exec);
    fs::rename(temporary, parent);
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }
}

}  // namespace nereus::app
