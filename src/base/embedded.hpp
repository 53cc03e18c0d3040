// Files of data/catalog, data/stacks and data/studies that are part of the program.
//
//   for (const EmbeddedFile& file : embedded_files())
//     if (file.path.starts_with("catalog/models/")) ...
#pragma once

#include <string_view>
#include <vector>

namespace nereus {

struct EmbeddedFile {
  std::string_view path;  // relative to data/: "catalog/devices.csv"
  std::string_view text;
};

const std::vector<EmbeddedFile>& embedded_files();

}  // namespace nereus
