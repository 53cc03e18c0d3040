// Writes and reads accelerate.yaml: Hugging Face accelerate with FSDP. The model is a Hugging Face
// configuration in the same folder, and the launch line is that of transformers' run_clm.py.
//
// degrees          keys
//   zero 3, 2      fsdp_config.fsdp_version 2, fsdp_reshard_after_forward true, false
//   zero 0         distributed_type MULTI_GPU
//   zero_group     parallelism_config_dp_shard_size; the rest of dp is dp_replicate_size (HSDP)
//   tp, cp         parallelism_config_tp_size, parallelism_config_cp_size
//   recompute full fsdp_activation_checkpointing
//   offload        fsdp_offload_params: weights and optimizer together
//   precision      mixed_precision
//   micro, global  arguments of the trainer in launch.sh
//
// Source: src/accelerate/commands/config/cluster.py of github.com/huggingface/accelerate at commit
// 002dd35a68fd, its ParallelismConfig (1.10) and the FSDP2 migration guide in its documentation.
#pragma once

#include "export/bundle.hpp"
#include "export/keys.hpp"

namespace nereus::exporting {

const KeySet& accelerate_keys();
const KeySet& accelerate_fsdp_keys();
const KeySet& accelerate_parallelism_keys();

Bundle write_fsdp(const plan::Plan& plan, const RegularPlan& regular, const StackFacts& stack);
Reading read_fsdp(const Bundle& files, const Hints& hints, const ReadRequest& request);

}  // namespace nereus::exporting
