#include "base/remove_tree.hpp"

#include <ftw.h>
#include <stdio.h>

#include <cerrno>

namespace nereus {

int remove_tree(const std::string& path) {
  constexpr int kOpenFolders = 16;
  const auto remove_one = [](const char* name, const struct stat*, int, FTW*) {
    return remove(name) == 0 || errno == ENOENT ? 0 : -1;
  };
  return nftw(path.c_str(), remove_one, kOpenFolders, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT
             ? 0
             : errno;
}

}  // namespace nereus
