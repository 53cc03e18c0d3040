// Writes a folder of files atomically: a new folder is filled under a temporary name next to the
// target and then renamed. In an existing folder, each file is written separately.
//
//   write_folder("run", [&](const fs::path& folder) { write_file(folder / "launch.sh", text); });
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace nereus::app {

// Throws Errors ("output.path") if the folder cannot be created; exceptions of `fill` pass through.
void write_folder(const std::string& directory,
                  const std::function<void(const std::filesystem::path&)>& fill);

}  // namespace nereus::app
