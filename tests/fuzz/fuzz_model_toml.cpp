// A model file that is accepted must also come back equal from a plan's JSON.
#include "fuzz.hpp"
#include "model/model_io.hpp"
#include "model/read/load_model.hpp"

NEREUS_FUZZER(model_toml)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size, [](std::string_view text) {
    const model::Model m = model::load_model_text(text, "fuzz.toml");
    ErrorList errors;
    const std::string json = model::model_to_json(m);
    if (!(model::model_from_value(spec::parse_json(json, "again.json"), errors) == m)) std::abort();
  });
}
