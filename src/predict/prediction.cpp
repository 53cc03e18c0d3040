#include "predict/prediction.hpp"

namespace nereus::cost {

std::string_view to_string(Part part) {
  constexpr std::string_view kNames[] = {
      "compute",       "recompute", "tensor_comm", "context_comm", "expert_comm",
      "pipeline_comm", "data_comm", "bubble",      "optimizer",    "offload",
      "input",         "launch",    "fixed"};
  return kNames[static_cast<std::size_t>(part)];
}

std::string_view to_string(MemoryPart part) {
  constexpr std::string_view kNames[] = {"weights", "gradients", "optimizer", "activations",
                                         "buffers", "logits",    "fixed",     "slack"};
  return kNames[static_cast<std::size_t>(part)];
}

}  // namespace nereus::cost
