// XXH64, the 64-bit hash of xxHash (Y. Collet; the algorithm's description, doc/xxhash_spec.md):
// four lanes of 8 bytes are multiplied, rotated and added, then mixed into one number.
//
// Reasons for this hash: it runs at memory speed in plain C++ on x86-64 and arm64, while CRC-32
// needs special instructions for that; and 64 bits miss one error in 1.8e19 instead of one in
// 4.3e9. `xxhsum -H64 FILE` prints the same number. It detects broken disks and truncated files,
// not forgery.
//
//   Xxh64 sum;
//   sum.add(first); sum.add(rest);      // any split of the bytes gives the same value
//   sum.value();
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nereus::checkpoint {

class Xxh64 {
 public:
  Xxh64();
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  std::array<std::uint64_t, 4> lanes_;
  std::array<std::byte, 32> waiting_{};  // bytes that do not fill four lanes yet
  std::uint64_t length_ = 0;
};

std::uint64_t xxh64(std::span<const std::byte> bytes);
std::uint64_t xxh64(std::string_view text);

// 16 hexadecimal digits, as xxhsum prints them.
std::string to_hex(std::uint64_t checksum);
std::optional<std::uint64_t> parse_hex(std::string_view text);

}  // namespace nereus::checkpoint
