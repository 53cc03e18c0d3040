// Any text is a good trace or a list of faults, and a trace that is good stays so when zipped.
#include "base/gzip.hpp"
#include "fuzz.hpp"
#include "timeline/check_trace.hpp"

NEREUS_FUZZER(trace)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size, [](std::string_view text) {
    const timeline::TraceCheck check = timeline::check_trace(text);
    NEREUS_CHECK(check.faults.empty() == (check.num_faults == 0), "faults and their number differ");
    NEREUS_CHECK(check.faults.size() <= timeline::kMostFaults, "too many faults spelt out");
    const std::string plain = gunzip_if_zipped(std::string(text));  // throws where broken
    NEREUS_CHECK(gunzip(gzip(plain)) == plain, "zipping changes the text");
  });
}
