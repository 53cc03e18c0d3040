// Writes and reads torchtitan's train.toml.
//
// degrees            keys
//   dp, zero, group  parallelism.data_parallel_shard_degree, data_parallel_replicate_degree;
//                    fsdp_reshard_after_forward always = zero 3, never = zero 2
//   tp, cp, pp, ep   tensor_, context_, pipeline_, expert_parallel_degree; tp brings sequence
//                    parallelism with it
//   stages           module_fqns_per_model_part, written out
//   schedule         pipeline_parallel_schedule: GPipe, 1F1B, Interleaved1F1B, LoopedBFS,
//                    ZBVZeroBubble
//   micro, global    training.local_batch_size, global_batch_size,
//                    parallelism.pipeline_parallel_microbatch_size
//   recompute        activation_checkpoint.mode; selective_ac_option 2 = every other block
//   tensor_overlap   enable_async_tensor_parallel, with training.compile
//   offload          training.enable_cpu_offload: weights and optimizer together
//   state_types      training.mixed_precision_reduce; training.dtype bfloat16 = master none with
//                    gradients and moments in bf16
//   precision        training.mixed_precision_param; model.converters float8, mx
// A model is a flavor that is registered in torchtitan's code: any other shape is an error.
//
// Source: torchtitan/config/job_config.py of github.com/pytorch/torchtitan at commit 6404b932421f
// (summer 2025), flavors from torchtitan/models/*/__init__.py.
#pragma once

#include "export/bundle.hpp"
#include "export/keys.hpp"

namespace nereus::exporting {

struct Flavor {
  std::string_view name;    // model.name
  std::string_view flavor;  // model.flavor
  std::string_view model;   // name in our catalog
};
const std::vector<Flavor>& torchtitan_flavors();

struct TitanSection {
  std::string_view name;
  KeySet keys;
};
const std::vector<TitanSection>& torchtitan_sections();

Bundle write_torchtitan(const plan::Plan& plan, const RegularPlan& regular,
                        const StackFacts& stack);
Reading read_torchtitan(const Bundle& files, const Hints& hints, const ReadRequest& request);

}  // namespace nereus::exporting
