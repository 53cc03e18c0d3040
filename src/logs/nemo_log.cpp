// NeMo, on Lightning: its configuration (YAML, of NeMo 1.x; NeMo 2 prints none), the number of
// processes, and a line or a bar per step:
//
//   ************** Experiment configuration ***********
//   trainer:
//     num_nodes: 2
//   ...
//   ... Padded vocab_size: 32000, original vocab_size: 31993, dummy tokens: 7.
//   All distributed processes registered. Starting with 16 processes
//   Training epoch 0, iteration 1/249 | lr: .. | global_batch_size: 8 | ... | train_step_timing in s: 2.505
//   Epoch 0: : 100%|####| 100/100 [10:48<00:00, ..., train_step_timing in s=3.130]
//
// The `model` section has the names of Megatron-LM's arguments, or older ones for the same.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "logs/log_text.hpp"
#include "spec/value.hpp"

namespace nereus::logs {

namespace {

const spec::Value* member(const spec::Value* table, std::string_view key) {
  return table == nullptr ? nullptr : table->find(key);
}

std::string word_of(const spec::Value* value) {
  if (value == nullptr) return {};
  if (const auto* text = std::get_if<std::string>(&value->data)) return *text;
  if (const auto* yes = std::get_if<bool>(&value->data)) return *yes ? "True" : "False";
  if (const auto* whole = std::get_if<std::int64_t>(&value->data)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value->data)) return fmt::format("{}", *real);
  return {};
}

int count_of(const spec::Value* value) {
  const auto* whole = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->data);
  return whole != nullptr && *whole > 0 && *whole <= 1 << 20 ? static_cast<int>(*whole) : 0;
}

// NeMo's own names for what Megatron-LM's arguments say.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"activations_checkpoint_granularity", "recompute_granularity"},
    {"activations_checkpoint_method", "recompute_method"},
    {"activations_checkpoint_num_layers", "recompute_num_layers"},
    {"encoder_seq_length", "seq_length"},
    {"ub_tp_comm_overlap", "tp_comm_overlap"},
    {"num_moe_experts", "num_experts"},
    {"moe_router_topk", "moe_router_topk"},
    {"bias", "add_bias_linear"}};

// The configuration as the launch script that Megatron-LM would have.
std::string script_of(const spec::Value& config) {
  const spec::Value* model = config.find("model");
  const auto* table = model == nullptr ? nullptr : std::get_if<spec::Table>(&model->data);
  if (table == nullptr) return {};
  std::vector<std::pair<int, std::string>> flags;
  const auto add = [&](int line, std::string flag) {
    if (!flag.empty()) flags.emplace_back(line, std::move(flag) + " \\");
  };
  for (const auto& [key, value] : *table) {
    const std::string word = word_of(&value);
    std::string name = key;
    for (const auto& [theirs, ours] : kNames)
      if (key == theirs) name = ours;
    if (name == "num_query_groups") {
      if (count_of(&value) > 0)
        add(value.line, fmt::format("--group-query-attention --num-query-groups {}", word));
    } else if (name == "normalization") {
      add(value.line, megatron_flag(name, word == "rmsnorm"               ? "RMSNorm"
                                          : word.starts_with("layernorm") ? "LayerNorm"
                                                                          : word));
    } else if (name == "activation") {
      if (word.find("swiglu") != std::string::npos) add(value.line, "--swiglu");
    } else if (name == "share_embeddings_and_output_weights") {
      if (word == "False") add(value.line, "--untie-embeddings-and-output-weights");
    } else if (name == "fp8") {
      if (word == "True")
        add(value.line,
            fmt::format("--fp8-format {}",
                        word_of(member(model, "fp8_e4m3")) == "True" ? "e4m3" : "hybrid"));
    } else {
      add(value.line, megatron_flag(name, word));
    }
  }
  const spec::Value* optim = model->find("optim");
  if (const std::string name = word_of(member(optim, "name"));
      name.find("distributed") == 0 || name == "mcore_distributed_optim") {
    add(optim->line, "--use-distributed-optimizer");
    if (word_of(member(optim, "overlap_grad_sync")) != "False")
      add(optim->line, "--overlap-grad-reduce --overlap-param-gather");
  }
  const spec::Value* trainer = config.find("trainer");
  const std::string precision = word_of(member(trainer, "precision"));
  if (precision.starts_with("bf16"))
    add(member(trainer, "precision")->line, "--bf16");
  else if (precision.starts_with("16"))
    add(member(trainer, "precision")->line, "--fp16");
  std::stable_sort(flags.begin(), flags.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  PlacedLines script("\\");
  script.add(1, "pretrain_gpt.py \\");
  for (const auto& [line, flag] : flags) script.add(line, flag);
  return script.text() + "\n";
}

// The lines of YAML that follow; a line that begins a new message of the logger ends them.
std::string yaml_from(const LogText& text, std::size_t& i) {
  std::string yaml;
  int at = 1;
  for (; i < text.lines().size(); ++i) {
    const LogLine& line = text.lines()[i];
    const std::size_t colon = line.text.find(':');
    const bool indented = line.text.starts_with(' ') || line.text.starts_with('-');
    const bool key = colon != std::string::npos && colon > 0 &&
                     line.text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == colon;
    if (!indented && !key && line.text.find("[NeMo") == std::string::npos) break;
    if (!indented && !key) {
      if (!yaml.empty()) break;
      continue;
    }
    yaml.append(static_cast<std::size_t>(std::max(0, line.number - at)), '\n');
    at = line.number + 1;
    yaml += line.text + "\n";
  }
  return yaml;
}

}  // namespace

TrainLog read_nemo_log(const LogText& text, ErrorList& errors) {
  TrainLog log;
  int vocabulary = 0;
  for (std::size_t i = 0; i < text.lines().size(); ++i) {
    const LogLine& line = text.lines()[i];
    if (line.text.find("Experiment configuration") != std::string::npos) {
      const std::string yaml = yaml_from(text, ++i);
      --i;
      if (yaml.empty()) continue;
      const spec::Value config = spec::parse_yaml(yaml, text.file());
      const spec::Value* trainer = config.find("trainer");
      const double devices = double(count_of(member(trainer, "devices"))) *
                             std::max(1, count_of(member(trainer, "num_nodes")));
      if (devices >= 1 && devices <= 1 << 20) log.devices = static_cast<int>(devices);
      if (std::string script = script_of(config); !script.empty())
        log.layout = {{text.file() + " (configuration).sh", std::move(script)}};
    } else if (line.text.find("Padded vocab_size:") != std::string::npos) {
      vocabulary = text.count_after(line, "Padded vocab_size:", errors);
    } else if (line.text.find("registered. Starting with ") != std::string::npos) {
      log.devices = text.count_after(line, "registered. Starting with ", errors);
    } else if (line.text.find("train_step_timing in s") != std::string::npos) {
      const bool bar = line.text.find("train_step_timing in s=") != std::string::npos;
      const bool field = line.text.find("train_step_timing in s:") != std::string::npos;
      if (!bar && !field) continue;
      if (const auto s = text.number_after(
              line, bar ? "train_step_timing in s=" : "train_step_timing in s:", 0, 1e7, errors))
        if (*s > 0) log.steps.push_back({line.number, *s});
    }
  }
  if (!log.layout.empty() && vocabulary > 0) {
    std::string& script = log.layout.front().text;
    script.insert(script.size() - 1, fmt::format("--padded-vocab-size {} \\\n", vocabulary));
  }
  return log;
}

}  // namespace nereus::logs
