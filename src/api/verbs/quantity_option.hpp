// Options whose value is a quantity with a unit ("24h", "1 GB/s").
//
//   add_quantity<Seconds>(command, "--deadline", "TIME", 1, take, "...");
#pragma once

#include <fmt/format.h>

#include <functional>

#include "api/form/command.hpp"
#include "base/error.hpp"
#include "spec/quantity.hpp"

namespace nereus::api {

// A quantity of at least `least`; `take` receives it in SI units.
template <class Q>
Take quantity(const char* name, double least, std::function<void(double)> take) {
  return [=](const std::string& text, ErrorList& errors) {
    const spec::Parsed<Q> parsed = spec::parse_quantity<Q>(text);
    if (!parsed.value)
      errors.add("cli.bad-value", fmt::format("{} takes a quantity: {}", name, parsed.reason), {},
                 parsed.hint.empty() ? std::string(spec::example_quantity<Q>()) : parsed.hint);
    else if (!(parsed.value->value >= least))
      errors.add("cli.bad-value", fmt::format("{} is '{}'", name, text), {},
                 fmt::format("at least {:g}", least));
    else
      take(parsed.value->value);
  };
}

template <class Q>
void add_quantity(Command& command, const char* name, const char* value, double least,
                  std::function<void(double)> take, const char* help) {
  command.quantity(
      name, value, [](double number) { return spec::write_quantity(Q{number}); },
      quantity<Q>(name, least, std::move(take)), help);
}

}  // namespace nereus::api
