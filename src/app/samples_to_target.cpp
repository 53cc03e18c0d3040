#include "app/samples_to_target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <vector>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "spec/csv.hpp"

namespace nereus::app {

namespace {

bool number(std::string_view text, double& value) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && value >= 1 &&
         value <= 1e18;
}

}  // namespace

SamplesToTarget read_samples_to_target(const std::string& text) {
  SamplesToTarget out;
  out.name = text;
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    if (!number(std::string_view(text).substr(0, colon), out.least) ||
        !number(std::string_view(text).substr(colon + 1), out.critical))
      throw_input_error("plan.samples-to-target",
                        fmt::format("--samples-to-target is '{}', and takes LEAST:CRITICAL, two "
                                    "numbers from 1",
                                    text),
                        {}, "--samples-to-target 44e6:46900");
    return out;
  }
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path != "batch/critical.csv") continue;
    const spec::Csv csv = spec::parse_csv(file.text, "data/batch/critical.csv");
    for (const spec::CsvRow& row : csv.rows) {
      const auto cell = [&](const char* name) {
        return std::string(csv.cell(row, csv.find(name)));
      };
      names.push_back(cell("benchmark"));
      if (names.back() != text) continue;
      out.least = std::stod(cell("least_samples"));
      out.critical = std::stod(cell("critical_batch"));
      out.smallest = std::stod(cell("smallest_batch"));
      out.largest = std::stod(cell("largest_batch"));
      return out;
    }
  }
  const auto near = nearest(text, names);
  throw_input_error("plan.samples-to-target", fmt::format("no target '{}' is known", text), {},
                    near ? "did you mean " + *near
                         : fmt::format("one of {}, or LEAST:CRITICAL", fmt::join(names, ", ")));
}

}  // namespace nereus::app
