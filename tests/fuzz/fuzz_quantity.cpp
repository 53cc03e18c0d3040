// A quantity that is read and written again must be the same number.
#include <cmath>

#include "fuzz.hpp"
#include "spec/quantity.hpp"

namespace {

using namespace nereus;

template <class Q>
void check(std::string_view text) {
  const spec::Parsed<Q> parsed = spec::parse_quantity<Q>(text);
  if (!parsed.value) {
    NEREUS_CHECK(!parsed.code.empty() && !parsed.reason.empty(), "refused without a reason");
    return;
  }
  NEREUS_CHECK(std::isfinite(parsed.value->value), "not a finite number");
  const spec::Parsed<Q> back = spec::parse_quantity<Q>(spec::write_quantity(*parsed.value));
  NEREUS_CHECK(back.value && *back.value == *parsed.value, "another number comes back");
}

}  // namespace

NEREUS_FUZZER(quantity)(const std::uint8_t* data, std::size_t size) {
  return fuzz(data, size, [](std::string_view text) {
    check<Bytes>(text);
    check<BytesPerSecond>(text);
    check<Seconds>(text);
    check<Flops>(text);
    check<FlopsPerSecond>(text);
    check<Watts>(text);
    check<Usd>(text);
    check<UsdPerHour>(text);
  });
}
