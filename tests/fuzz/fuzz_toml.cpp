#include "fuzz.hpp"

NEREUS_FUZZER(toml)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size,
              [](std::string_view text) { check_round_trip(spec::parse_toml(text, "fuzz.toml")); });
}
