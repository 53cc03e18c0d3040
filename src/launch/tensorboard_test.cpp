#include "launch/tensorboard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/temporary_folder.hpp"

namespace nereus::launch::tensorboard_test {
namespace {

// A reader that shares no code with the writer: wire format by the specification alone.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  // varint or fixed
  std::string bytes{};
};

std::uint64_t read_varint(const std::string& text, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(text.at(at++));
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

std::vector<Field> read_fields(const std::string& text) {
  std::vector<Field> fields;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint64_t key = read_varint(text, at);
    Field field{key >> 3, 0, {}};
    switch (key & 7) {
      case 0:
        field.value = read_varint(text, at);
        break;
      case 1:
        std::memcpy(&field.value, &text.at(at), 8);
        at += 8;
        break;
      case 2: {
        const std::uint64_t size = read_varint(text, at);
        field.bytes = text.substr(at, size);
        at += size;
        break;
      }
      case 5:
        std::memcpy(&field.value, &text.at(at), 4);
        at += 4;
        break;
      default:
        ADD_FAILURE() << "wire type " << (key & 7);
        return fields;
    }
    fields.push_back(field);
  }
  return fields;
}

// Bit by bit, most significant first: the definition of the checksum (RFC 3720), not its table.
std::uint32_t slow_crc32c(const std::string& text) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char c : text)
    for (int bit = 0; bit < 8; ++bit) {
      const std::uint32_t in = (static_cast<unsigned char>(c) >> bit) & 1u;
      const std::uint32_t out = crc >> 31;
      crc = (crc << 1) ^ ((in ^ out) != 0 ? 0x1EDC6F41u : 0u);
    }
  std::uint32_t mirrored = 0;
  for (int bit = 0; bit < 32; ++bit) mirrored |= ((crc >> bit) & 1u) << (31 - bit);
  return ~mirrored;
}

std::vector<std::string> read_records(const std::string& text) {
  std::vector<std::string> records;
  const auto masked = [](std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; };
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t length = 0;
    std::uint32_t length_crc = 0, data_crc = 0;
    std::memcpy(&length, &text.at(at), 8);
    std::memcpy(&length_crc, &text.at(at + 8), 4);
    EXPECT_EQ(length_crc, masked(slow_crc32c(text.substr(at, 8))));
    const std::string data = text.substr(at + 12, length);
    std::memcpy(&data_crc, &text.at(at + 12 + length), 4);
    EXPECT_EQ(data_crc, masked(slow_crc32c(data)));
    records.push_back(data);
    at += 16 + length;
  }
  return records;
}

TEST(Tensorboard, ChecksumsOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);  // the check value of CRC-32C
  // RFC 3720, B.4: 32 bytes of zeros, of ones, and counting up.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  std::string up;
  for (int i = 0; i < 32; ++i) up += static_cast<char>(i);
  EXPECT_EQ(crc32c(up), 0x46DD794Eu);
}

RC_GTEST_PROP(Tensorboard, ChecksumIsTheDefinitionsForAnyBytes, (const std::string& text)) {
  RC_ASSERT(crc32c(text) == slow_crc32c(text));
}

// Event { wall_time: 0, file_version: "brain.Event:2" } and its frame, spelt out: key 0x09 and
// eight bytes of time, key 0x1a, length 13; the file starts with the length, 24.
TEST(Tensorboard, TheFirstRecordIsTheKnownBytes) {
  const std::string data = std::string("\x09\0\0\0\0\0\0\0\0\x1a\x0d", 11) + "brain.Event:2";
  EXPECT_EQ(version_event(0), data);
  const std::string record = tf_record(version_event(0));
  EXPECT_EQ(record.substr(0, 12), std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12));
  EXPECT_EQ(record.substr(12, 24), data);
  EXPECT_EQ(record.size(), 40u);
}

TEST(Tensorboard, WhatIsWrittenReadsBack) {
  const TemporaryFolder folder;
  std::string path;
  {
    EventFile events(folder / "deep", 1700000000.5);
    path = events.path();
    events.add(1700000001.25, 0, {{"loss", 3.5}, {"tokens_per_s", 12345}});
    events.add(1700000002, 1LL << 40, {{"loss", NAN}});
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    const std::vector<std::string> records = read_records(text.str());  // also before it is closed
    ASSERT_EQ(records.size(), 3u);
    const std::vector<Field> event = read_fields(records[1]);
    ASSERT_EQ(event.size(), 3u);
    EXPECT_EQ(std::bit_cast<double>(event[0].value), 1700000001.25);
    EXPECT_EQ(event[1].number, 2u);
    EXPECT_EQ(event[1].value, 0u);
    EXPECT_EQ(event[2].number, 5u);
    const std::vector<Field> values = read_fields(event[2].bytes);
    ASSERT_EQ(values.size(), 2u);
    const std::vector<Field> value = read_fields(values[1].bytes);
    EXPECT_EQ(value[0].bytes, "tokens_per_s");
    EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(value[1].value)), 12345.0f);
    const std::vector<Field> later = read_fields(records[2]);
    EXPECT_EQ(later[1].value, 1ULL << 40);
  }
  EXPECT_NE(path.find("tfevents"), std::string::npos);
}

}  // namespace
}  // namespace nereus::launch::tensorboard_test
