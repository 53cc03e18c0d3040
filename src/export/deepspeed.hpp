// Writes and reads DeepSpeed's ds_config.json. The model is a Hugging Face configuration in the
// same folder, and the launch line is that of transformers' run_clm.py.
//
// degrees          keys
//   tp             tensor_parallel.autotp_size (AutoTP training, ZeRO 0 to 2)
//   micro, global  train_micro_batch_size_per_gpu, train_batch_size, gradient_accumulation_steps
//   zero           zero_optimization.stage; zero_group of stage 3: mics_shard_size (MiCS)
//   data_overlap   zero_optimization.overlap_comm
//   offload        offload_optimizer (a share by ratio under stage 3), offload_param (stage 3)
//   state_types    communication_data_type (reduced), data_types.grad_accum_dtype (gradients)
//   precision      bf16, fp16; neither = fp32
//   recompute full --gradient_checkpointing of the trainer
// These need program code instead of JSON, and are therefore errors: pipeline stages
// (PipelineModule), experts (its MoE layers), context parallelism (Ulysses attention).
//
// Source: deepspeed/runtime/constants.py, zero/config.py and tensor_parallel/config.py of
// github.com/deepspeedai/DeepSpeed at commits 088be892c749, 1b88ac366fc9 and 18e7227e0b36 (2026);
// www.deepspeed.ai/docs/config-json.
#pragma once

#include "export/bundle.hpp"
#include "export/keys.hpp"

namespace nereus::exporting {

const KeySet& deepspeed_keys();
const KeySet& deepspeed_zero_keys();

Bundle write_deepspeed(const plan::Plan& plan, const RegularPlan& regular, const StackFacts& stack);
Reading read_deepspeed(const Bundle& files, const Hints& hints, const ReadRequest& request);

}  // namespace nereus::exporting
