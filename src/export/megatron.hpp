// Writes and reads Megatron-LM launch scripts with the flags of pretrain_gpt.py.
//
// degrees                  flags
//   tp, pp, cp, ep         --tensor-model-parallel-size and similar; dp is derived
//   interleave             --num-virtual-stages-per-pipeline-rank
//   uneven stages          --pipeline-model-parallel-layout "Et*3|t*4|t*3L"
//   context                --cp-comm-type p2p (zig-zag), a2a (all-to-all)
//   zero 1                 --use-distributed-optimizer, with zero_group
//                          --num-distributed-optimizer-instances
//   zero 2, 3              --use-megatron-fsdp
//                          --data-parallel-sharding-strategy optim_grads[_params]
//   recompute              --recompute-activations, or --recompute-granularity full with
//                          --recompute-method block --recompute-num-layers N (recompute_blocks)
//   data_overlap           --overlap-grad-reduce [--overlap-param-gather]
//   tensor_overlap         --tp-comm-overlap
//   offload                --optimizer-cpu-offload, --cpu-offloading-num-layers
//   state_types            --grad-reduce-in-bf16 (gradients and reduced), --fp8-param-gather,
//                          --exp-avg-dtype, --exp-avg-sq-dtype, --main-params-dtype
//   precision              --bf16, --fp16, --fp8-format with --fp8-recipe, --fp4-format
// The rules that Megatron-LM checks (validate_args of the commit in megatron_flags.hpp) are errors
// here too.
#pragma once

#include "export/bundle.hpp"
#include "export/flags.hpp"
#include "export/shell.hpp"

namespace nereus::exporting {

Bundle write_megatron(const plan::Plan& plan, const RegularPlan& regular, const StackFacts& stack);

// The command of a script that has Megatron-LM's flags; nullptr if there is none.
const Command* find_megatron_command(const Script& script);
Reading read_megatron(const TextFile& file, const Hints& hints, const ReadRequest& request);

// The model that the flags describe. Adds errors to `errors`, assumptions to `reading`.
model::TransformerShape megatron_shape(Flags& flags, const Hints& hints,
                                       const std::map<std::string, std::string>& facts,
                                       Reading& reading, ErrorList& errors);

// Sets the virtual stages per rank, and returns the blocks of each stage if flags set them
// explicitly. The last `further` of the layers predict further tokens.
std::vector<int> megatron_stages(Flags& flags, int layers, int further, plan::Degrees& d,
                                 Reading& reading);

// "Et*3|(t|)*2L": the blocks of each stage; empty if the text is not a layout.
std::optional<std::vector<int>> blocks_of_layout(std::string_view layout);
// The last `further` blocks are written as m.
std::string layout_of_blocks(const std::vector<int>& blocks, int further = 0);
// The list that "([0]*3+[1]*58)" stands for; empty if it is not a list.
std::optional<std::vector<int>> python_list(std::string_view expression);
// Which of the model's blocks have experts, as a list with 1 or 0 per block: leading dense blocks,
// then every n-th.
std::vector<int> expert_list(const model::TransformerShape& shape);

}  // namespace nereus::exporting
