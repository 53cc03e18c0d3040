// A header that is accepted gives every byte of the file to exactly one tensor.
#include <span>

#include "checkpoint/safetensors.hpp"
#include "fuzz.hpp"

NEREUS_FUZZER(safetensors)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size, [](std::string_view text) {
    const std::span<const std::byte> file = std::as_bytes(std::span(text));
    const checkpoint::SafetensorsHeader header =
        checkpoint::parse_safetensors(file, "fuzz.safetensors");
    std::uint64_t at = 0;
    for (const checkpoint::StoredTensor& tensor : header.tensors) {
      NEREUS_CHECK(tensor.begin == at && tensor.end >= at, "a hole or an overlap");
      NEREUS_CHECK(checkpoint::num_bytes(tensor.dtype, tensor.shape) == tensor.end - tensor.begin,
                   "a size that is none");
      at = tensor.end;
    }
    NEREUS_CHECK(header.data_begin + at == file.size(), "bytes of nobody");
  });
}
