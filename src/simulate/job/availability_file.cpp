#include "simulate/job/availability_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "simulate/job/availability_forms.hpp"

namespace nereus::simulate {

namespace {

std::optional<std::string> text_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (file) {
    std::ostringstream text;
    text << file.rdbuf();
    std::error_code unknown;  // an empty file is one all the same, a folder is none
    if (!text.str().empty() || std::filesystem::is_regular_file(name, unknown)) return text.str();
  }
  const std::optional<std::string_view> own = find_embedded("traces/" + name);
  return own ? std::optional(std::string(*own)) : std::nullopt;
}

}  // namespace

Availability parse_availability(std::string_view text, const std::string& file, CountUnit unit) {
  AvailabilityBuilder builder(file);
  read_form(text, file, unit, builder);
  return builder.finish(file);
}

std::vector<std::string> known_traces() {
  std::vector<std::string> names;
  for (const EmbeddedFile& own : embedded_files())
    if (own.path.starts_with("traces/") && !own.path.ends_with("LICENSE.txt") &&
        !own.path.ends_with(".md"))
      names.emplace_back(own.path.substr(7));
  return names;
}

Availability read_availability(const std::string& what, std::uint64_t seed) {
  if (what.starts_with("regular:") || what.starts_with("poisson:"))
    return generated_availability(what, seed);
  std::string name = what;
  CountUnit unit = CountUnit::kUnknown;
  for (const auto& [prefix, own] :
       {std::pair("hours:", CountUnit::kHours), std::pair("seconds:", CountUnit::kSeconds),
        std::pair("milliseconds:", CountUnit::kMilliseconds)})
    if (what.starts_with(prefix)) {
      name = what.substr(std::string_view(prefix).size());
      unit = own;
    }
  const std::optional<std::string> text = text_of(name);
  if (!text) {
    const std::optional<std::string> near = nearest(name, known_traces());
    throw_input_error("availability.file", fmt::format("no file and no trace '{}'", name), {},
                      near ? "did you mean " + *near
                           : fmt::format("a file, or one of {}", fmt::join(known_traces(), ", ")));
  }
  return parse_availability(*text, name, unit);
}

}  // namespace nereus::simulate
