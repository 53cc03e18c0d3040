#include "api/reports/degrees_json.hpp"

#include "plan/degree_fields.hpp"

namespace nereus::api {

namespace {

nlohmann::ordered_json offload_json(const plan::Offload& offload) {
  nlohmann::ordered_json json{{"weights", offload.weights},
                              {"optimizer", offload.optimizer},
                              {"activations", offload.activations}};
  if (offload.tier != plan::Tier::kHost) json["tier"] = to_string(offload.tier);
  return json;
}

}  // namespace

nlohmann::ordered_json degrees_json(const plan::Degrees& d) {
  nlohmann::ordered_json json;
  plan::for_each_degree([&](const auto& field) {
    const auto& value = d.*field.degree;
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<T, plan::TableSplit> || std::is_same_v<T, plan::Offload>) {
      // The split of tables is reported for models that have tables (prediction_report), and
      // offload is reported before the precision.
    } else if constexpr (std::is_same_v<T, plan::StateTypes>) {
      for (const plan::StateTypePart& part : plan::kStateTypeParts)
        if (value.*part.type != plan::NumberType::kStack)
          json["state_types"][std::string(part.name)] = to_string(value.*part.type);
    } else if constexpr (std::is_enum_v<T>) {
      if (std::is_same_v<T, cluster::Precision>) json["offload"] = offload_json(d.offload);
      json[std::string(field.name)] = to_string(value);
    } else {
      json[std::string(field.name)] = value;
    }
    if (field.name == "global_batch") json["num_micro_batches"] = d.num_micro_batches();
  });
  return json;
}

}  // namespace nereus::api
