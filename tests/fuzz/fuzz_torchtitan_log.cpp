// A log of this trainer: read, or refused with its line. Numbers are finite and above zero.
#include "fuzz_log.hpp"

NEREUS_FUZZER(torchtitan_log)(const std::uint8_t* data, std::size_t size) {
  return nereus::fuzz_log(data, size, nereus::logs::read_torchtitan_log);
}
