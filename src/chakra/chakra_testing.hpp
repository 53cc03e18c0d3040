// An independent decoder of Chakra traces, for tests: it knows protobuf's wire format and nothing
// about the writer. Throws std::runtime_error if bytes do not follow the format.
//
//   for (const DecodedNode& node : decode(step.trace(0)).nodes) ...
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::chakra::testing {

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) throw std::runtime_error("varint ends early");
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("varint too long");
  }
  std::string_view delimited() {
    const std::uint64_t length = varint();
    if (length > bytes_.size()) throw std::runtime_error("length beyond the end");
    const std::string_view part = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return part;
  }

 private:
  std::string_view bytes_;
};

// A message as lists of its fields, separated into numbers and texts.
struct Message {
  std::map<int, std::vector<std::uint64_t>> numbers;
  std::map<int, std::vector<std::string_view>> texts;

  explicit Message(std::string_view bytes) {
    WireReader reader(bytes);
    while (!reader.done()) {
      const std::uint64_t tag = reader.varint();
      const int field = static_cast<int>(tag >> 3);
      if ((tag & 7) == 0)
        numbers[field].push_back(reader.varint());
      else if ((tag & 7) == 2)
        texts[field].push_back(reader.delimited());
      else
        throw std::runtime_error("a wire type that Chakra's fields here do not have");
    }
  }
  std::uint64_t number(int field) const {
    const auto entry = numbers.find(field);
    return entry == numbers.end() ? 0 : entry->second.at(0);
  }
  std::string text(int field) const {
    const auto entry = texts.find(field);
    return entry == texts.end() ? "" : std::string(entry->second.at(0));
  }
};

struct DecodedNode {
  std::uint64_t id = 0;
  std::string name;
  std::uint64_t type = 0;
  std::vector<std::uint64_t> after;
  std::uint64_t microseconds = 0;
  std::map<std::string, std::uint64_t> numbers;  // attributes
  std::map<std::string, std::string> texts;
};

struct DecodedTrace {
  std::string version;
  std::vector<DecodedNode> nodes;
};

inline DecodedTrace decode(std::string_view bytes) {
  WireReader stream(bytes);
  DecodedTrace trace;
  trace.version = Message(stream.delimited()).text(1);
  while (!stream.done()) {
    const Message message(stream.delimited());
    DecodedNode node;
    node.id = message.number(1);
    node.name = message.text(2);
    node.type = message.number(3);
    node.microseconds = message.number(7);
    if (message.texts.contains(5)) {
      WireReader packed(message.texts.at(5).at(0));
      while (!packed.done()) node.after.push_back(packed.varint());
    }
    for (const std::string_view attribute : message.texts.at(10)) {
      const Message inner(attribute);
      for (const auto& [field, values] : inner.numbers) node.numbers[inner.text(1)] = values.at(0);
      if (inner.texts.contains(29)) node.texts[inner.text(1)] = inner.text(29);
    }
    trace.nodes.push_back(std::move(node));
  }
  return trace;
}

}  // namespace nereus::chakra::testing
