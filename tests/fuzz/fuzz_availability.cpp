// Traces of machines that come and go, in every form. What is accepted keeps its invariants.
#include "fuzz.hpp"
#include "simulate/job/availability_file.hpp"

NEREUS_FUZZER(availability)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  using namespace nereus::simulate;
  for (const CountUnit unit : {CountUnit::kUnknown, CountUnit::kHours})
    fuzz(data, size, [&](std::string_view text) {
      const Availability trace = parse_availability(text, "trace", unit);
      NEREUS_CHECK(first_fault(trace).empty(), "a trace that was read is sound");
      NEREUS_CHECK(trace.duration() > 0, "a trace takes time");
      summary_of(trace);
    });
  return 0;
}
