// Any text is a trace or an error, and what is read of a trace is in order: parts of steps add up
// to them.
#include <cmath>
#include <sstream>

#include "fuzz.hpp"
#include "measure/trace_stalls.hpp"

NEREUS_FUZZER(kineto)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size, [](std::string_view text) {
    std::istringstream in{std::string(text)};
    measure::Trace trace = measure::read_kineto(in, "trace.json");
    if (trace.rank < 0) trace.rank = 0;
    if (trace.num_ranks == 0) trace.num_ranks = 2;
    for (const measure::Span& span : trace.work)
      NEREUS_CHECK(span.begin <= span.end, "an event ends before it begins");
    const measure::StallReport report = measure::stalls_of({trace});
    double sum = report.alone_s;
    for (const measure::Stall& stall : report.stalls)
      if (stall.kind != measure::StallKind::kLaunch) sum += stall.seconds;
    NEREUS_CHECK(std::abs(sum - report.step_s) <= 1e-6 * std::max(1.0, std::abs(report.step_s)),
                 "parts do not add up to the step");
  });
}
