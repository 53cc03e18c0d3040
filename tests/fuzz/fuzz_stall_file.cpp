// A file of stalls, and anything else, is a step that what-ifs can be made of, or an error.
#include <cmath>

#include "fuzz.hpp"
#include "measure/what_if.hpp"

NEREUS_FUZZER(stall_file)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size, [](std::string_view text) {
    const measure::MeasuredStep now = measure::read_stall_file(text, "stalls.json");
    NEREUS_CHECK(now.report.stalls.size() == measure::kNumStalls, "a stall of each kind");
    for (const measure::Change& change : measure::usual_changes(now)) {
      const measure::ChangedStep then = measure::what_if(now, {change});
      NEREUS_CHECK(std::isfinite(then.seconds) && then.low <= then.high, "a step is a number");
    }
  });
}
