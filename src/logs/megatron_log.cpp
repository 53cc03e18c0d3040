// Megatron-LM: its arguments, "  tensor_model_parallel_size ...................... 8" between
// "---- arguments ----" and "---- end of arguments ----", and a line per logging interval:
//
//   iteration  10/ 1000 | consumed samples: 160 | elapsed time per iteration (ms): 820.7 | ...
//   [Rank 0] (after 10 iterations) memory (MB) | allocated: 1464.3 | ... | max reserved: 1576.0
//
// with mebibytes. Arguments become the flags of a launch script.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/parse_number.hpp"
#include "base/trimmed.hpp"
#include "base/units.hpp"
#include "logs/log_text.hpp"

namespace nereus::logs {

namespace {

// Flags with a value of the same name.
constexpr std::string_view kValues[] = {"num_layers",
                                        "hidden_size",
                                        "ffn_hidden_size",
                                        "num_attention_heads",
                                        "kv_channels",
                                        "max_position_embeddings",
                                        "position_embedding_type",
                                        "normalization",
                                        "padded_vocab_size",
                                        "tokenizer_type",
                                        "seq_length",
                                        "encoder_seq_length",
                                        "num_experts",
                                        "moe_ffn_hidden_size",
                                        "moe_shared_expert_intermediate_size",
                                        "moe_router_topk",
                                        "expert_model_parallel_size",
                                        "expert_tensor_parallel_size",
                                        "tensor_model_parallel_size",
                                        "pipeline_model_parallel_size",
                                        "context_parallel_size",
                                        "decoder_first_pipeline_num_layers",
                                        "decoder_last_pipeline_num_layers",
                                        "micro_batch_size",
                                        "global_batch_size",
                                        "recompute_granularity",
                                        "recompute_method",
                                        "recompute_num_layers",
                                        "data_parallel_sharding_strategy",
                                        "num_distributed_optimizer_instances",
                                        "optimizer_offload_fraction",
                                        "cpu_offloading_num_layers",
                                        "fp8_recipe",
                                        "mtp_num_layers",
                                        "zero_stage"};
// Flags without a value.
constexpr std::string_view kSwitches[] = {"group_query_attention",
                                          "use_rotary_position_embeddings",
                                          "swiglu",
                                          "quick_geglu",
                                          "untie_embeddings_and_output_weights",
                                          "qk_layernorm",
                                          "multi_latent_attention",
                                          "account_for_embedding_in_pipeline_split",
                                          "account_for_loss_in_pipeline_split",
                                          "sequence_parallel",
                                          "tp_comm_overlap",
                                          "recompute_activations",
                                          "checkpoint_activations",
                                          "use_distributed_optimizer",
                                          "use_megatron_fsdp",
                                          "use_custom_fsdp",
                                          "use_torch_fsdp2",
                                          "overlap_grad_reduce",
                                          "overlap_param_gather",
                                          "optimizer_cpu_offload",
                                          "fp16",
                                          "bf16",
                                          "deepspeed",
                                          "no_pipeline_parallel"};
// They have values even where they say nothing: only with the switch.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOnlyWith = {
    {{"num_query_groups", "group_query_attention"},
     {"q_lora_rank", "multi_latent_attention"},
     {"kv_lora_rank", "multi_latent_attention"},
     {"qk_head_dim", "multi_latent_attention"},
     {"qk_pos_emb_head_dim", "multi_latent_attention"},
     {"v_head_dim", "multi_latent_attention"}}};

bool among(std::string_view name, const auto& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string dashed(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

struct Argument {
  std::string value;
  int line = 0;
};

// "  name ......... value", after the time stamps or ranks that launchers put before lines.
bool argument_of(const std::string& text, std::string& name, std::string& value) {
  const std::size_t dots = text.find(" ..");
  if (dots == std::string::npos) return false;
  const std::size_t after = text.find_first_not_of('.', dots + 1);
  if (after == std::string::npos || text[after] != ' ') return false;
  name = std::string(trimmed(std::string_view(text).substr(0, dots)));
  if (const std::size_t space = name.rfind(' '); space != std::string::npos)
    name.erase(0, space + 1);
  value = std::string(trimmed(std::string_view(text).substr(after)));
  return !name.empty();
}

}  // namespace

std::string megatron_flag(std::string_view name, std::string_view value) {
  const bool none = value == "None" || value == "null" || value.empty();
  const bool yes = value == "True" || value == "true";
  // A word that a shell reads back as it is.
  const bool word = value.find_first_not_of(
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
                    std::string_view::npos;
  if (none) return {};
  if (name == "add_bias_linear") return yes ? "" : "--disable-bias-linear";
  if (name == "fp8" || name == "fp4")
    return word && value != "False" ? fmt::format("--{}-format {}", name, value) : "";
  if (name == "virtual_pipeline_model_parallel_size")
    return word ? fmt::format("--num-virtual-stages-per-pipeline-rank {}", value) : "";
  if (name == "cp_comm_type" || name == "moe_layer_freq") {
    std::string list(value);
    // "['p2p']": one kind for all layers.
    if (name == "cp_comm_type")
      std::erase_if(list, [](char c) { return c == '[' || c == ']' || c == '\''; });
    if (list.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_+*,()[] ") !=
        std::string::npos)
      return {};
    return fmt::format("{} '{}'", dashed(name), list);
  }
  if (among(name, kSwitches)) return yes ? dashed(name) : "";
  const bool gated = std::any_of(kOnlyWith.begin(), kOnlyWith.end(),
                                 [&](const auto& pair) { return pair.first == name; });
  if (!gated && !among(name, kValues)) return {};
  // None of these counts is zero where it means something.
  return word && value != "0" ? fmt::format("{} {}", dashed(name), value) : "";
}

TrainLog read_megatron_log(const LogText& text, ErrorList& errors) {
  TrainLog log;
  std::map<std::string, Argument> arguments;
  bool inside = false;
  int padded = 0;
  for (const LogLine& line : text.lines()) {
    std::string name;
    std::string value;
    if (line.text.find("- end of ") != std::string::npos) {
      inside = false;
    } else if (line.text.find("- arguments -") != std::string::npos) {
      inside = true;
      arguments.clear();  // of the last start, if a job was started again
      log.steps.clear();
    } else if (inside && argument_of(line.text, name, value)) {
      arguments[name] = {value, line.number};
    } else if (line.text.find("padded vocab (size:") != std::string::npos) {
      padded = text.count_after(line, "new size:", errors);
    } else if (line.text.find("memory (MB)") != std::string::npos) {
      if (const auto mib = text.number_after(line, "max reserved:", 0, 1e9, errors))
        log.memory = std::max(log.memory, *mib * 1024 * 1024);
    } else if (const auto ms =
                   text.number_after(line, "elapsed time per iteration (ms):", 1e-3, 1e9, errors)) {
      log.steps.push_back({line.number, *ms / 1000});
    }
  }
  const auto given = [&](const char* name) {
    const auto at = arguments.find(name);
    return at == arguments.end() ? std::string() : at->second.value;
  };
  if (const auto world = parse_number<int>(given("world_size")); world && *world > 0)
    log.devices = *world;
  log.deepspeed = given("deepspeed") == "True";
  if (arguments.empty()) return log;
  std::vector<std::pair<int, std::string>> flags;
  int first = arguments.begin()->second.line;
  for (const auto& [name, argument] : arguments) {
    const auto gate = std::find_if(kOnlyWith.begin(), kOnlyWith.end(),
                                   [&n = name](const auto& pair) { return pair.first == n; });
    first = std::min(first, argument.line);
    if (gate != kOnlyWith.end() && given(std::string(gate->second).c_str()) != "True") continue;
    if (name == "padded_vocab_size" && padded > 0) continue;
    if (const std::string flag = megatron_flag(name, argument.value); !flag.empty())
      flags.emplace_back(argument.line, flag + " \\");
  }
  std::sort(flags.begin(), flags.end());
  PlacedLines script("\\");
  script.add(1, "pretrain_gpt.py \\");
  for (const auto& [line, flag] : flags) script.add(line, flag);
  if (padded > 0) script.add(1, fmt::format("--padded-vocab-size {} \\", padded));
  log.layout.push_back({text.file() + " (arguments).sh", script.text() + "\n"});
  return log;
}

}  // namespace nereus::logs
