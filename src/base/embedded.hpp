// Files of data/ and python/shim/ that are part of the program (cmake/embed.cmake lists them).
//
//   for (const EmbeddedFile& file : embedded_files())
//     if (file.path.starts_with("catalog/models/")) ...
//   find_embedded("traces/" + name);                  // empty if there is no such path
//   embedded_text("amp/stack.toml");                  // the path must exist
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace nereus {

struct EmbeddedFile {
  std::string_view
      path;  // relative to data/: "catalog/devices.csv", "../python/shim/nereus_shim.py"
  std::string_view text;
};

const std::vector<EmbeddedFile>& embedded_files();

inline std::optional<std::string_view> find_embedded(std::string_view path) {
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == path) return file.text;
  return std::nullopt;
}

inline std::string_view embedded_text(std::string_view path) {
  const std::optional<std::string_view> text = find_embedded(path);
  NEREUS_CHECK(text, "data/" + std::string(path) + " is part of the program");
  return *text;
}

}  // namespace nereus
