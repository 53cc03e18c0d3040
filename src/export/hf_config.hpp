// A model as a Hugging Face config.json, for engines that are given their model that way.
//
// Which model_type: by family (llama, mistral, mixtral, qwen2, qwen3, deepseek, gpt, gpt_neox,
// gpt_oss, opt, phi3); a shape that the type cannot say is an error. What is written is read back
// by model/read/import_hf.hpp, and the export compares.
#pragma once

#include <string>

#include "base/error.hpp"
#include "export/bundle.hpp"

namespace nereus::exporting {

// Empty where there is no such type; the reason is in `errors`.
std::string hf_config(const model::Model& model, Engine engine, ErrorList& errors);
// The class of its blocks in the transformers library, which FSDP wraps: "LlamaDecoderLayer".
std::string hf_block_class(const model::Model& model);

// What launch.sh of the engines that train Hugging Face models says: the trainer's arguments.
//   --per_device_train_batch_size --gradient_accumulation_steps --block_size
//   --gradient_checkpointing
struct TrainerArguments {
  int micro_batch = 0;  // 0 = not said
  int accumulation = 0;
  int seq = 0;
  bool checkpointing = false;
  bool checkpointing_said = false;
  bool found = false;  // the script has such a command
};
std::string trainer_arguments(const plan::Plan& plan, const RegularPlan& regular,
                              bool gradient_checkpointing);
TrainerArguments read_trainer_arguments(const Bundle& files, ErrorList& errors);

// The model of an export's model/config.json with the header's name, or what the user gave. An
// error
// ("import.no-model") where there is neither.
model::Model read_model(const Bundle& files, const Hints& hints, const ReadRequest& request,
                        const TrainerArguments& trainer);

}  // namespace nereus::exporting
