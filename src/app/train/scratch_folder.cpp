#include "app/train/scratch_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include "base/error.hpp"

namespace nereus::app {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const std::string& verb) {
  std::string name = fs::temp_directory_path() / fmt::format("nereus-{}-XXXXXX", verb);
  if (mkdtemp(name.data()) == nullptr)
    throw_environment_error(verb + ".scratch", fmt::format("{} cannot be made", name),
                            "TMPDIR names a folder that can be written to");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace nereus::app
