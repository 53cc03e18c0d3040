// An ONNX graph that is accepted must also come back equal from a plan's JSON.
#include "fuzz.hpp"
#include "model/model_io.hpp"
#include "model/read/import_onnx.hpp"

NEREUS_FUZZER(onnx)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size, [](std::string_view bytes) {
    const model::Model m = model::import_onnx(bytes, "fuzz.onnx", {.seq = 8});
    ErrorList errors;
    const std::string json = model::model_to_json(m);
    if (!(model::model_from_value(spec::parse_json(json, "again.json"), errors) == m)) std::abort();
  });
}
