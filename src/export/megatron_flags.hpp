// The flags that Megatron-LM accepts, and their effect on a plan.
//
// Source: megatron/training/arguments.py of github.com/NVIDIA/Megatron-LM at commit 000c4ac24f61
// (October 2025, Megatron Core 0.15), every add_argument in the groups that training can use; and
// the flags of Megatron-DeepSpeed that affect cost (megatron/arguments.py of
// github.com/deepspeedai/Megatron-DeepSpeed, and deepspeed.add_config_arguments).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nereus::exporting {

enum class Bearing {
  kRead,     // becomes part of the plan or of the model
  kCost,     // affects time or memory, but a plan cannot express it
  kHarmless  // data, logging, checkpoints, learning rate, numerics
};

struct MegatronFlag {
  std::string_view name;  // "--num-layers"
  Bearing bearing = Bearing::kHarmless;
};

const std::vector<MegatronFlag>& megatron_flags();  // in alphabetical order
const MegatronFlag* find_megatron_flag(std::string_view name);
std::vector<std::string> megatron_flag_names();

}  // namespace nereus::exporting
