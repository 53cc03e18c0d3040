#include "fuzz_engine.hpp"

NEREUS_FUZZER(accelerate)(const std::uint8_t* data, std::size_t size) {
  return nereus::fuzz_engine_file(data, size, "accelerate.yaml");
}
