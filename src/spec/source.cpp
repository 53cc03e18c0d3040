#include "spec/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/nearest.hpp"
#include "base/utf8.hpp"

namespace nereus::spec {

namespace {

constexpr std::size_t kShownCharacters = 160;
constexpr std::size_t kLargestFile = std::size_t{256} << 20;
constexpr std::size_t kMostNamesSearched = 10000;

// Offset of the first byte that no text file may hold, or npos.
std::size_t find_bad_byte(std::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p < end) {
    const auto c = static_cast<unsigned char>(*p);
    const bool is_ascii_text = (c >= 0x20 && c < 0x80) || c == '\n' || c == '\t' || c == '\r';
    const std::string_view rest(p, static_cast<std::size_t>(end - p));
    const std::size_t length = is_ascii_text ? 1 : c >= 0x80 ? decode_utf8(rest).length : 0;
    if (length == 0) return static_cast<std::size_t>(p - text.data());
    p += length;
  }
  return std::string_view::npos;
}

std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

std::string nearest_name_hint(const std::filesystem::path& path) {
  std::error_code code;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, code))
    return fmt::format("there is no directory \"{}\"", folder.string());
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(folder, code);
  for (; !code && entry != std::filesystem::directory_iterator(); entry.increment(code)) {
    names.push_back(entry->path().filename().string());
    if (names.size() == kMostNamesSearched) break;
  }
  std::sort(names.begin(), names.end());  // the order of a directory is chance
  const auto name = nearest(path.filename().string(), names);
  if (!name) return {};
  return fmt::format("did you mean \"{}\"?",
                     path.has_parent_path() ? (folder / *name).string() : *name);
}

}  // namespace

SourcePtr make_source(std::string_view text, const std::string& file) {
  text = without_byte_order_mark(text);
  const std::size_t bad = find_bad_byte(text);
  if (bad != std::string_view::npos) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
    throw_input_error("spec.unreadable",
                      fmt::format("not a text file: byte 0x{:02x} at offset {} is no UTF-8 text",
                                  static_cast<unsigned char>(text[bad]), bad),
                      {file, static_cast<int>(line), 0, {}},
                      "save it as UTF-8, or check that it is the file you meant and complete");
  }
  return std::make_shared<const Source>(Source{file, std::string(text)});
}

Where where_in(const Source& source, int line, int column) {
  Where where{source.file, line, column, {}};
  if (line <= 0) return where;
  const std::string_view text = source.text;
  std::size_t begin = 0;
  for (int i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return where;
    begin = end + 1;
  }
  std::string_view rest = text.substr(begin);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);

  // Walk over whole characters to the window around the column.
  const auto advance = [&rest](std::size_t at, std::size_t characters) {
    for (; characters > 0 && at < rest.size(); --characters) {
      ++at;
      while (at < rest.size() && continues_utf8(rest[at])) ++at;
    }
    return at;
  };
  const auto half = static_cast<int>(kShownCharacters / 2);
  if (column > half && rest.size() > kShownCharacters) where.text_column = column - half;
  const std::size_t first = advance(0, static_cast<std::size_t>(where.text_column - 1));
  where.line_text = rest.substr(first, advance(first, kShownCharacters) - first);
  return where;
}

std::string read_text_file(const std::string& path) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  if (status.type() == std::filesystem::file_type::not_found)
    throw_input_error("spec.no-file", fmt::format("there is no file \"{}\"", path), {},
                      nearest_name_hint(path));
  if (status.type() == std::filesystem::file_type::directory)
    throw_input_error("spec.is-directory",
                      fmt::format("\"{}\" is a directory, a file is needed", path));
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text;
  char buffer[1 << 16];
  while (in.read(buffer, sizeof buffer) || in.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kLargestFile)  // also ends on /dev/zero
      throw_input_error("spec.unreadable",
                        fmt::format("\"{}\" holds more than {} MiB", path, kLargestFile >> 20));
  }
  if (!in.eof() || in.bad())
    throw_input_error("spec.unreadable",
                      fmt::format("cannot read \"{}\": {}", path,
                                  errno != 0 ? std::strerror(errno) : "reading failed"));
  return text;
}

}  // namespace nereus::spec
