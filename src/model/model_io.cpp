#include "model/model_io.hpp"

#include "model/shape_io.hpp"

namespace nereus::model {

namespace {

Model build(const AnyShape& shape) {
  if (const auto* transformer = std::get_if<TransformerShape>(&shape))
    return build_transformer(*transformer);
  if (const auto* cnn = std::get_if<CnnShape>(&shape)) return build_cnn(*cnn);
  if (const auto* dlrm = std::get_if<DlrmShape>(&shape)) return build_dlrm(*dlrm);
  return {};
}

AnyShape shape_of(const Model& model) {
  if (model.transformer) return *model.transformer;
  if (model.cnn) return *model.cnn;
  if (model.dlrm) return *model.dlrm;
  return {};
}

}  // namespace

spec::Value model_to_value(const Model& model) {
  // Checks, instead of assuming, that the shape alone gives back exactly this model.
  const AnyShape shape = shape_of(model);
  if (!std::holds_alternative<std::monostate>(shape)) {
    spec::Value value = write_shape(shape);
    ErrorList errors;
    const AnyShape again = read_shape(value, errors);
    if (errors.empty() && again == shape && build(again) == model) return value;
  }
  return layers_to_value(model);
}

std::string model_to_json(const Model& model) { return spec::to_json(model_to_value(model)); }

Model model_from_value(const spec::Value& value, ErrorList& errors) {
  if (value.find("kinds") != nullptr) return layers_from_value(value, errors);
  return build(read_shape(value, errors));
}

}  // namespace nereus::model
