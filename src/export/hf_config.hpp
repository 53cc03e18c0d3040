// A model as a Hugging Face config.json, for engines that read their model in this form.
//
// The model_type depends on the family (llama, mistral, mixtral, qwen2, qwen3, deepseek, gpt,
// gpt_neox, gpt_oss, opt, phi3). A shape that the type cannot express is an error. The export reads
// the result back with model/read/import_hf.hpp, and compares.
#pragma once

#include <string>

#include "base/error.hpp"
#include "export/bundle.hpp"

namespace nereus::exporting {

// Empty if there is no such type; `errors` has the reason.
std::string hf_config(const model::Model& model, Engine engine, ErrorList& errors);
// The class of the model's blocks in the transformers library, which FSDP wraps:
// "LlamaDecoderLayer".
std::string hf_block_class(const model::Model& model);

// The arguments of the trainer in launch.sh, for engines that train Hugging Face models.
//   --per_device_train_batch_size --gradient_accumulation_steps --block_size
//   --gradient_checkpointing
struct TrainerArguments {
  int micro_batch = 0;  // 0 = not given
  int accumulation = 0;
  int seq = 0;
  bool checkpointing = false;
  bool checkpointing_said = false;
  bool found = false;  // whether the script has such a command
};
std::string trainer_arguments(const plan::Plan& plan, const RegularPlan& regular,
                              bool gradient_checkpointing);
TrainerArguments read_trainer_arguments(const Bundle& files, ErrorList& errors);

// The model in an export's model/config.json with the name in the header, or the user's model. An
// error ("import.no-model") if there is neither.
model::Model read_model(const Bundle& files, const Hints& hints, const ReadRequest& request,
                        const TrainerArguments& trainer);

}  // namespace nereus::exporting
