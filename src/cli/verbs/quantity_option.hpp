// Options whose value is a quantity with its unit ("24h", "1 GB/s").
//
//   command.custom("--deadline", "TIME", quantity<Seconds>("--deadline", 1, take), "...");
#pragma once

#include <fmt/format.h>

#include <functional>

#include "base/error.hpp"
#include "cli/text/command.hpp"
#include "spec/quantity.hpp"

namespace nereus::cli {

// A quantity of at least `least`, in SI units.
template <class Q>
Command::Take quantity(const char* name, double least, std::function<void(double)> take) {
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

}  // namespace nereus::cli
