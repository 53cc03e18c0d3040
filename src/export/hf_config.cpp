#include "export/hf_config.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "export/flags.hpp"
#include "export/hf_keys.hpp"
#include "export/launch_file.hpp"
#include "export/shell.hpp"
#include "model/read/load_model.hpp"
#include "spec/value.hpp"

namespace nereus::exporting {

namespace {

using Json = nlohmann::ordered_json;
using model::TransformerShape;

struct Type {
  std::string_view family;
  bool experts;
  std::string_view model_type;
  std::string_view architecture;
  std::string_view block;
};
constexpr Type kTypes[] = {
    {"llama", false, "llama", "LlamaForCausalLM", "LlamaDecoderLayer"},
    {"mistral", false, "mistral", "MistralForCausalLM", "MistralDecoderLayer"},
    {"mixtral", true, "mixtral", "MixtralForCausalLM", "MixtralDecoderLayer"},
    {"qwen2", false, "qwen2", "Qwen2ForCausalLM", "Qwen2DecoderLayer"},
    {"qwen3", false, "qwen3", "Qwen3ForCausalLM", "Qwen3DecoderLayer"},
    {"qwen3", true, "qwen3_moe", "Qwen3MoeForCausalLM", "Qwen3MoeDecoderLayer"},
    {"deepseek", true, "deepseek_v3", "DeepseekV3ForCausalLM", "DeepseekV3DecoderLayer"},
    {"gpt", false, "gpt2", "GPT2LMHeadModel", "GPT2Block"},
    {"gpt_neox", false, "gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXLayer"},
    {"gpt_oss", true, "gpt_oss", "GptOssForCausalLM", "GptOssDecoderLayer"},
    {"opt", false, "opt", "OPTForCausalLM", "OPTDecoderLayer"},
    {"phi3", false, "phi3", "Phi3ForCausalLM", "Phi3DecoderLayer"},
};

const Type* type_of(const model::Model& model) {
  if (!model.transformer) return nullptr;
  for (const Type& type : kTypes)
    if (type.family == model.transformer->family &&
        type.experts == (model.transformer->experts > 0))
      return &type;
  return nullptr;
}

void expert_keys(Json& json, const TransformerShape& s, std::string_view type) {
  json["num_experts_per_tok"] = s.top_k;
  if (type == "deepseek_v3") {
    json["n_routed_experts"] = s.experts;
    json["moe_intermediate_size"] = s.expert_ffn;
    json["n_shared_experts"] = s.shared_experts;
    json["first_k_dense_replace"] = s.dense_layers;
    if (s.q_lora > 0)
      json["q_lora_rank"] = s.q_lora;
    else
      json["q_lora_rank"] = nullptr;
    json["kv_lora_rank"] = s.kv_lora;
    json["qk_nope_head_dim"] = s.head_dim;
    json["qk_rope_head_dim"] = s.rope_head_dim;
    json["v_head_dim"] = s.value_head_dim;
  } else if (type == "qwen3_moe") {
    json["num_experts"] = s.experts;
    json["moe_intermediate_size"] = s.expert_ffn;
  } else {
    json["num_local_experts"] = s.experts;
    json["intermediate_size"] = s.expert_ffn;
  }
}

}  // namespace

std::string hf_block_class(const model::Model& model) {
  const Type* type = type_of(model);
  return type == nullptr ? std::string() : std::string(type->block);
}

std::string hf_config(const model::Model& model, Engine engine, ErrorList& errors) {
  const Type* type = type_of(model);
  if (type == nullptr) {
    std::string known;
    for (const Type& t : kTypes) known += (known.empty() ? "" : ", ") + std::string(t.model_type);
    cannot(errors, engine,
           fmt::format("the model {} of family {}: its models are Hugging Face configurations, and "
                       "there is no type for this one",
                       model.name, model.family),
           "one of the types " + known);
    return {};
  }
  const TransformerShape& s = *model.transformer;
  const bool alternates = type->model_type == "gpt_oss" && s.window_interval == 2;
  const bool windows =
      type->model_type == "mistral" || type->model_type == "mixtral" || type->model_type == "phi3";
  if (s.window > 0 && !alternates && !(windows && s.window_interval == 1))
    cannot(errors, engine,
           fmt::format("a window of {} tokens in one of {} blocks of type {}", s.window,
                       s.window_interval, type->model_type));
  if (s.mtp_layers > 0)
    cannot(errors, engine, "multi-token prediction: the transformers library does not train it",
           "model.mtp_layers = 0");
  if (!s.pattern.empty() || s.compress_near > 0 || s.compress_far > 0 || s.expert_latent > 0 ||
      s.streams > 1 || s.output_groups > 0 || s.expert_interval > 1)
    cannot(errors, engine,
           fmt::format("the layers of {} in a configuration of type {}", model.name,
                       type->model_type));
  Json json{{"architectures", {type->architecture}}, {"model_type", type->model_type}};
  if (type->model_type == "gpt2") {
    add_gpt2_keys(json, s);
  } else {
    add_common_keys(json, s);
    // Its table starts at position 2.
    if (type->model_type == "opt") json["max_position_embeddings"] = s.max_positions - 2;
    if (s.ffn > 0) json[type->model_type == "opt" ? "ffn_dim" : "intermediate_size"] = s.ffn;
    if (type->experts)
      expert_keys(json, s, type->model_type);
    else if (s.head_dim * s.heads != s.hidden || type->model_type == "qwen3")
      json["head_dim"] = s.head_dim;
    if (type->experts && type->model_type != "deepseek_v3") json["head_dim"] = s.head_dim;
    if (type->model_type == "llama" || type->model_type == "qwen3" ||
        type->model_type == "gpt_oss" || type->model_type == "qwen3_moe") {
      json["attention_bias"] = s.bias;
      if (type->model_type == "llama") json["mlp_bias"] = s.bias;
    }
    if (windows || alternates) {
      if (s.window > 0)
        json["sliding_window"] = s.window;
      else
        json["sliding_window"] = nullptr;
    }
  }
  return json.dump(2) + "\n";
}

std::string trainer_arguments(const plan::Plan& plan, const RegularPlan& regular,
                              bool gradient_checkpointing) {
  const plan::Degrees& d = regular.degrees;
  const int accumulation = d.global_batch / (d.dp * d.micro_batch);
  std::string text = fmt::format(
      "# The batch and what is recomputed: the plan's.\n"
      "PLAN_ARGS=(\n"
      "  --per_device_train_batch_size {}\n"
      "  --gradient_accumulation_steps {}\n"
      "  --block_size {}\n"
      "  --gradient_checkpointing {}\n",
      d.micro_batch, accumulation, plan.model.transformer->seq,
      gradient_checkpointing ? "True" : "False");
  if (d.precision == cluster::Precision::kBf16) text += "  --bf16 True\n";
  if (d.precision == cluster::Precision::kFp16) text += "  --fp16 True\n";
  return text +
         ")\n\n"
         "# Yours to set: data, tokenizer, learning rate, length. The trainer cuts block_size down "
         "to\n"
         "# the tokenizer's model_max_length, so take one that allows the plan's sequence.\n"
         ": \"${TOKENIZER:?the name or folder of a tokenizer}\"\n"
         "TRAIN_ARGS=(\n"
         "  --config_name model\n"
         "  --tokenizer_name \"$TOKENIZER\"\n"
         "  --dataset_name \"${DATASET:-wikitext}\"\n"
         "  --dataset_config_name \"${DATASET_CONFIG:-wikitext-103-raw-v1}\"\n"
         "  --do_train\n"
         "  --max_steps 100\n"
         "  --learning_rate 1e-4\n"
         "  --logging_steps 1\n"
         "  --output_dir \"${OUTPUT:-output}\"\n"
         ")\n";
}

TrainerArguments read_trainer_arguments(const Bundle& files, ErrorList& errors) {
  TrainerArguments result;
  for (const TextFile& file : files) {
    if (!file.name.ends_with(".sh")) continue;
    const Script script = read_script(file.text, file.name);
    for (const Command& command : script.commands) {
      Flags flags(command.words, 0, spec::make_source(file.text, file.name), errors);
      if (!flags.has("--per_device_train_batch_size")) continue;
      result.found = true;
      result.micro_batch = flags.whole("--per_device_train_batch_size", 8, 1);
      result.accumulation = flags.whole("--gradient_accumulation_steps", 1, 1);
      result.seq = flags.whole("--block_size", 0);
      result.checkpointing_said = flags.has("--gradient_checkpointing");
      result.checkpointing = flags.truth("--gradient_checkpointing", false);
    }
  }
  return result;
}

model::Model read_model(const Bundle& files, const Hints& hints, const ReadRequest& request,
                        const TrainerArguments& trainer) {
  if (request.model) return *request.model;
  const TextFile* config = find_file(files, "model/config.json");
  if (config == nullptr) config = find_file(files, "config.json");
  if (config == nullptr)
    throw_input_error("import.no-model",
                      fmt::format("{} does not contain the model's shape", hints.main_file),
                      {hints.main_file},
                      "give --model: a name (nereus catalog models) or the model's config.json");
  model::Overrides overrides;
  if (trainer.seq > 0) overrides.emplace_back("seq", std::to_string(trainer.seq));
  model::Model model = model::load_model_text(config->text, config->name, overrides);
  if (!model.transformer) return model;
  model::TransformerShape shape = *model.transformer;
  if (!hints.model_name.empty()) shape.name = hints.model_name;
  // Every second block of GPT-OSS has its window.
  const spec::Value json = spec::parse_json(config->text, config->name);
  const spec::Value* window = json.find("sliding_window");
  const auto* size = window == nullptr ? nullptr : std::get_if<std::int64_t>(&window->data);
  if (shape.family == "gpt_oss" && shape.window == 0 && size != nullptr && *size > 0 &&
      *size < 1'000'000'000) {
    shape.window = static_cast<int>(*size);
    shape.window_interval = 2;
  }
  return model::build_transformer(shape);
}

}  // namespace nereus::exporting
