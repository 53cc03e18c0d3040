#include "launch/tensorboard.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/bits.hpp"
#include "base/error.hpp"
#include "launch/child.hpp"

namespace nereus::launch {

namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78u : 0);
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

template <class T>
void put_fixed(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}

enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void put_key(std::string& out, int field, WireType type) {
  put_varint(out, static_cast<std::uint64_t>(field << 3 | type));
}
void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_key(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}
void put_time(std::string& out, double wall_time) {
  put_key(out, 1, kFixed64);
  put_fixed(out, bits_as<std::uint64_t>(wall_time));
}

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes)
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

std::string tf_record(std::string_view data) {
  std::string out;
  put_fixed(out, static_cast<std::uint64_t>(data.size()));
  put_fixed(out, masked(crc32c(out)));
  out += data;
  put_fixed(out, masked(crc32c(data)));
  return out;
}

std::string version_event(double wall_time) {
  std::string event;
  put_time(event, wall_time);
  put_bytes(event, 3, "brain.Event:2");
  return event;
}

std::string scalar_event(double wall_time, std::int64_t step, const Scalars& scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    put_bytes(value, 1, tag);
    put_key(value, 2, kFixed32);
    put_fixed(value, bits_as<std::uint32_t>(static_cast<float>(number)));
    put_bytes(summary, 1, value);
  }
  std::string event;
  put_time(event, wall_time);
  put_key(event, 2, kVarint);
  put_varint(event, static_cast<std::uint64_t>(step));
  put_bytes(event, 5, summary);
  return event;
}

EventFile::EventFile(const std::string& folder, double wall_time) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  path_ =
      fmt::format("{}/events.out.tfevents.{:.0f}.{}.{}", folder, wall_time, host_name(), getpid());
  file_.open(path_, std::ios::binary);
  if (!file_)
    throw_environment_error("train.tensorboard", fmt::format("{} cannot be written", path_),
                            "--tensorboard takes a folder");
  write(version_event(wall_time));
}

void EventFile::add(double wall_time, std::int64_t step, const Scalars& scalars) {
  write(scalar_event(wall_time, step, scalars));
}

void EventFile::write(std::string_view data) {
  const std::string record = tf_record(data);
  file_.write(record.data(), static_cast<std::streamsize>(record.size()));
  file_.flush();
  if (!file_)
    throw_environment_error("train.tensorboard", fmt::format("{} cannot be written", path_),
                            "is the disk full?");
}

}  // namespace nereus::launch
