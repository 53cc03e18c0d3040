#include "checkpoint/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace nereus::checkpoint {

namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5;

// All supported machines are little-endian, like the hash and safetensors.
static_assert(std::endian::native == std::endian::little);

template <class T>
T load(const std::byte* at) {
  T number;
  std::memcpy(&number, at, sizeof(number));
  return number;
}

std::uint64_t turn(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

// Takes whole blocks of 32 bytes; returns what is left.
std::span<const std::byte> take_blocks(std::array<std::uint64_t, 4>& lanes,
                                       std::span<const std::byte> bytes) {
  std::uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
  const std::byte* at = bytes.data();
  for (std::size_t blocks = bytes.size() / 32; blocks > 0; --blocks, at += 32) {
    a = turn(a, load<std::uint64_t>(at));
    b = turn(b, load<std::uint64_t>(at + 8));
    c = turn(c, load<std::uint64_t>(at + 16));
    d = turn(d, load<std::uint64_t>(at + 24));
  }
  lanes = {a, b, c, d};
  return bytes.last(bytes.size() % 32);
}

}  // namespace

Xxh64::Xxh64() : lanes_{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1} {}  // seed 0

void Xxh64::add(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const std::size_t kept = length_ % 32;
  length_ += bytes.size();
  if (kept > 0) {
    const std::size_t taken = std::min(bytes.size(), 32 - kept);
    std::memcpy(waiting_.data() + kept, bytes.data(), taken);
    if (kept + taken < 32) return;
    take_blocks(lanes_, waiting_);
    bytes = bytes.subspan(taken);
  }
  const std::span<const std::byte> rest = take_blocks(lanes_, bytes);
  if (!rest.empty()) std::memcpy(waiting_.data(), rest.data(), rest.size());
}

std::uint64_t Xxh64::value() const {
  std::uint64_t hash = kPrime5;
  if (length_ >= 32) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = (hash ^ turn(0, lane)) * kPrime1 + kPrime4;
  }
  hash += length_;
  const std::byte* at = waiting_.data();
  std::size_t left = length_ % 32;
  for (; left >= 8; left -= 8, at += 8)
    hash = std::rotl(hash ^ turn(0, load<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
  if (left >= 4) {
    hash = std::rotl(hash ^ load<std::uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    left -= 4, at += 4;
  }
  for (; left > 0; --left, ++at)
    hash = std::rotl(hash ^ static_cast<std::uint64_t>(*at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

std::uint64_t xxh64(std::span<const std::byte> bytes) {
  Xxh64 sum;
  sum.add(bytes);
  return sum.value();
}

std::uint64_t xxh64(std::string_view text) {
  return xxh64(std::as_bytes(std::span(text.data(), text.size())));
}

std::string to_hex(std::uint64_t checksum) { return fmt::format("{:016x}", checksum); }

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (text.size() != 16 || error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

}  // namespace nereus::checkpoint
