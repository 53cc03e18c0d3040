#include "cli/reports/degrees_json.hpp"

namespace nereus::cli {

nlohmann::ordered_json degrees_json(const plan::Degrees& d) {
  nlohmann::ordered_json json{{"tp", d.tp},
                              {"pp", d.pp},
                              {"dp", d.dp},
                              {"cp", d.cp},
                              {"ep", d.ep},
                              {"expert_tp", d.expert_tp},
                              {"interleave", d.interleave},
                              {"micro_batch", d.micro_batch},
                              {"global_batch", d.global_batch},
                              {"num_micro_batches", d.num_micro_batches()},
                              {"recompute", to_string(d.recompute)},
                              {"recompute_blocks", d.recompute_blocks},
                              {"zero", d.zero},
                              {"zero_group", d.zero_group},
                              {"sequence_parallel", d.sequence_parallel},
                              {"tensor_overlap", d.tensor_overlap},
                              {"data_overlap", d.data_overlap},
                              {"offload",
                               {{"weights", d.offload.weights},
                                {"optimizer", d.offload.optimizer},
                                {"activations", d.offload.activations}}},
                              {"precision", to_string(d.precision)},
                              {"schedule", to_string(d.schedule)},
                              {"context", to_string(d.context)}};
  if (d.offload.tier != plan::Tier::kHost) json["offload"]["tier"] = to_string(d.offload.tier);
  return json;
}

}  // namespace nereus::cli
