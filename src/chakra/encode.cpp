#include "chakra/encode.hpp"

namespace nereus::chakra {

namespace {

constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kDelimited = 2;

void append_tag(std::string& bytes, int field, std::uint64_t type) {
  append_varint(bytes, static_cast<std::uint64_t>(field) << 3 | type);
}

}  // namespace

void append_varint(std::string& bytes, std::uint64_t value) {
  while (value >= 0x80) {
    bytes += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes += static_cast<char>(value);
}

Encoder& Encoder::number(int field, std::uint64_t value) {
  return value == 0 ? *this : set_number(field, value);
}

Encoder& Encoder::text(int field, std::string_view value) {
  return value.empty() ? *this : set_text(field, value);
}

Encoder& Encoder::numbers(int field, const std::vector<std::uint64_t>& values) {
  if (values.empty()) return *this;
  std::string packed;
  for (const std::uint64_t value : values) append_varint(packed, value);
  return set_text(field, packed);
}

Encoder& Encoder::set_number(int field, std::uint64_t value) {
  append_tag(bytes_, field, kVarint);
  append_varint(bytes_, value);
  return *this;
}

Encoder& Encoder::set_text(int field, std::string_view value) {
  append_tag(bytes_, field, kDelimited);
  append_varint(bytes_, value.size());
  bytes_ += value;
  return *this;
}

Encoder& Encoder::message(int field, const Encoder& value) {
  return set_text(field, value.bytes());
}

void append_delimited(std::string& bytes, const Encoder& message) {
  append_varint(bytes, message.bytes().size());
  bytes += message.bytes();
}

}  // namespace nereus::chakra
