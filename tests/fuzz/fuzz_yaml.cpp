#include "fuzz.hpp"

NEREUS_FUZZER(yaml)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size,
              [](std::string_view text) { check_round_trip(spec::parse_yaml(text, "fuzz.yaml")); });
}
