// A folder of files that is there whole or not at all: a new one is filled beside the target and
// renamed; in one that exists, each file is written on its own.
//
//   write_folder("run", [&](const fs::path& folder) { write_file(folder / "launch.sh", text); });
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace nereus::app {

// Throws Errors ("output.path") where the folder cannot be made; what `fill` throws passes through.
void write_folder(const std::string& directory,
                  const std::function<void(const std::filesystem::path&)>& fill);

}  // namespace nereus::app
