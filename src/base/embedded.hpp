// Files of data/ and python/shim/ that are part of the program (cmake/embed.cmake lists them).
//
//   for (const EmbeddedFile& file : embedded_files())
//     if (file.path.starts_with("catalog/models/")) ...
#pragma once

#include <string_view>
#include <vector>

namespace nereus {

struct EmbeddedFile {
  std::string_view
      path;  // relative to data/: "catalog/devices.csv", "../python/shim/nereus_shim.py"
  std::string_view text;
};

const std::vector<EmbeddedFile>& embedded_files();

}  // namespace nereus
