// The part of protobuf's wire format that Chakra's messages need (protobuf.dev, "Encoding"):
// varints, length-delimited fields, packed lists.
//
//   Encoder node;
//   node.number(field::kId, 7).text(field::kName, "forward");
//   append_delimited(file, node);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::chakra {

class Encoder {
 public:
  // Zero and empty values are left out, as proto3 does with plain fields.
  Encoder& number(int field, std::uint64_t value);
  Encoder& text(int field, std::string_view value);
  Encoder& numbers(int field, const std::vector<std::uint64_t>& values);  // packed
  // Written even if zero or empty, because a field of a oneof counts as set only if it is present.
  Encoder& set_number(int field, std::uint64_t value);
  Encoder& set_text(int field, std::string_view value);
  Encoder& message(int field, const Encoder& value);

  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

void append_varint(std::string& bytes, std::uint64_t value);
// Appends the length of the message, then the message.
void append_delimited(std::string& bytes, const Encoder& message);

}  // namespace nereus::chakra
