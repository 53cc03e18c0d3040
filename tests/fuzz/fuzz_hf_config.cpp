#include "fuzz.hpp"
#include "model/read/load_model.hpp"

NEREUS_FUZZER(hf_config)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size,
              [](std::string_view text) { model::load_model_text(text, "config.json"); });
}
