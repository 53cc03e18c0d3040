// Assignments as --set takes them, one a line, on a small tree.
#include "fuzz.hpp"

NEREUS_FUZZER(set_path)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  static const spec::Value start = spec::parse_json(
      R"({"layers":1,"nodes":[{"count":1},{"count":2}],"inner":{"a":null,"b":[[]]}})",
      "start.json");
  return fuzz(data, size, [](std::string_view text) {
    spec::Value value = start;
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      const std::size_t equals = std::min(line.find('='), line.size());
      spec::set_path(value, line.substr(0, equals),
                     equals < line.size() ? line.substr(equals + 1) : std::string_view());
      text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    check_round_trip(value);
  });
}
