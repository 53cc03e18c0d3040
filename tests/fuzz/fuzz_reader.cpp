// Reads any tree as if it were a cluster: whatever it holds, the answer is values within their
// ranges or errors.
#include "fuzz.hpp"
#include "spec/reader.hpp"

namespace {

using namespace nereus;

void read(spec::Reader& r, int depth) {
  NEREUS_CHECK(r.required_int("count", 1, 100) >= 1, "below the least");
  NEREUS_CHECK(r.optional_int64("big", 5, 0) >= 0, "below the least");
  NEREUS_CHECK(r.required_double("share", 0, 1) <= 1, "above the most");
  NEREUS_CHECK(r.optional<Bytes>("memory", Bytes{1}).value > 0, "a quantity of nothing");
  NEREUS_CHECK(r.required<Seconds>("latency", spec::Zero::kAllowed).value >= 0, "before its time");
  r.optional_string("name");
  r.optional_bool("fused", true);
  r.optional_enum<int>("kind", 0, {{"nvlink", 1}, {"pcie", 2}});
  for (const int number : r.optional_ints("ints", -5, 5))
    NEREUS_CHECK(number >= -5 && number <= 5, "out of range");
  r.optional_doubles("doubles");
  r.optional_strings("strings");
  if (depth < 3) {
    for (spec::Reader& node : r.optional_tables("nodes")) read(node, depth + 1);
    spec::Reader inner = r.optional_table("inner");
    if (inner.present()) read(inner, depth + 1);
  }
  r.finish();
}

}  // namespace

NEREUS_FUZZER(reader)(const std::uint8_t* data, std::size_t size) {
  return fuzz(data, size, [](std::string_view text) {
    const bool raw = !text.empty() && text[0] == ' ';
    const spec::Value value = spec::parse_json(text, "fuzz.json");
    ErrorList errors;
    spec::Reader reader(value, errors, raw ? spec::Units::kRawSi : spec::Units::kWritten);
    read(reader, 0);
    check_errors(errors.list());
  });
}
