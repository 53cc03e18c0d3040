#include "reproduce/reproduce_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/parse_number.hpp"

namespace nereus::app {

ReproduceSettings read_settings(std::span<const ReproduceField> fields,
                                const ReproduceRequest& request) {
  ReproduceSettings out;
  std::vector<std::string> names;
  for (const ReproduceField& own : fields) {
    out.text[own.name] = own.usual;
    names.emplace_back(own.name);
  }
  ErrorList errors;
  for (const auto& [path, value] : request.overrides) {
    const std::size_t dot = path.find('.');
    const std::string study = path.substr(0, dot), name = path.substr(dot + 1);
    const ReproduceField* field = nullptr;
    for (const ReproduceField& own : fields)
      if (name == own.name) field = &own;
    if (study != "all" || !field) {
      const std::optional<std::string> near = nearest(name, names);
      errors.add("reproduce.field", fmt::format("no field '{}'", path), {},
                 near ? "did you mean all." + *near
                      : fmt::format("all. and one of {}", fmt::join(names, ", ")));
      continue;
    }
    if (field->most > 0) {
      const std::optional<double> number = parse_number<double>(value);
      if (!number || !(*number >= field->least) || !(*number <= field->most) ||
          (field->whole && *number != std::floor(*number))) {
        errors.add(
            "reproduce.value", fmt::format("{} is '{}'", path, value), {},
            field->whole
                ? fmt::format("a whole number from {:.0f} to {:.0f}", field->least, field->most)
                : fmt::format("a number from {:g} to {:g}", field->least, field->most));
        continue;
      }
    }
    out.text[name] = value;
    out.given.insert(name);
    if (!field->chooses) out.options += fmt::format(" --set 'all.{}={}'", name, value);
  }
  errors.throw_if_any();
  return out;
}

double ReproduceSettings::number(const std::string& field) const {
  return std::stod(text.at(field));
}

bool ReproduceSettings::wants(const std::string& field, const std::string& value) const {
  const std::string& wanted = text.at(field);
  return wanted.empty() || wanted == value;
}

void ReproduceSettings::require_one_of(const std::string& field,
                                       const std::vector<std::string>& known,
                                       ErrorList& errors) const {
  const std::string& own = text.at(field);
  if ((!own.empty() || given.contains(field)) &&
      std::find(known.begin(), known.end(), own) == known.end())
    errors.add("reproduce.value", fmt::format("all.{} is '{}'", field, own), {},
               fmt::format("one of {}", fmt::join(known, ", ")));
}

}  // namespace nereus::app
