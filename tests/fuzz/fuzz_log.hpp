// What the readers of logs promise, whatever the log says.
#pragma once

#include <cmath>
#include <string_view>

#include "fuzz.hpp"
#include "logs/log_text.hpp"

namespace nereus {

template <class Read>
int fuzz_log(const std::uint8_t* data, std::size_t size, Read read) {
  return fuzz(data, size, [&](std::string_view raw) {
    const logs::LogText text(raw, "fuzz.log");
    ErrorList errors;
    const logs::TrainLog log = read(text, errors);
    check_errors(errors.list());
    for (const logs::LoggedStep& step : log.steps)
      NEREUS_CHECK(std::isfinite(step.value) && step.value > 0 && step.line >= 1,
                   "a step without a time or a place");
    NEREUS_CHECK(std::isfinite(log.memory) && log.memory >= 0, "memory below zero");
    NEREUS_CHECK(log.devices >= 0, "fewer than no devices");
    for (const logs::LayoutFile& file : log.layout)
      NEREUS_CHECK(!file.name.empty(), "a file without a name");
  });
}

}  // namespace nereus
