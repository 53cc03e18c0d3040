// Trainers of Hugging Face (transformers): what its example scripts and its Trainer log, and the
// summary at the end:
//
//   Model config LlamaConfig { "hidden_size": 4096, ... }
//   Training/evaluation parameters TrainingArguments(
//   bf16=True,
//   ...
//   ***** Running training *****
//     Instantaneous batch size per device = 4
//     Total train batch size (w. parallel, distributed & accumulation) = 64
//     Gradient Accumulation steps = 2
//   Grouping texts in chunks of 2048
//     3%|3         | 15/500 [00:18<09:40,  1.19s/it]
//   {'train_runtime': 71.5, 'train_samples_per_second': 6.7, 'train_steps_per_second': 0.839, ...}
//
// The bar shows whole seconds, so a step's time is taken over at least twenty of them. Without such
// a bar the summary's mean counts, which includes the warm-up. The number of devices is the total
// batch over that of one device.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/parse_number.hpp"
#include "base/trimmed.hpp"
#include "logs/log_text.hpp"

namespace nereus::logs {

namespace {

constexpr double kShortestWindow = 20;  // seconds

struct BarReport {
  int line = 0;
  int step = 0;
  int total = 0;
  double elapsed = 0;
};

// Seconds of "01:11" or "1:02:03"; below zero if it is no time.
double seconds_of(std::string_view clock) {
  double seconds = 0;
  while (true) {
    const std::size_t colon = clock.find(':');
    const auto part = parse_number<int>(clock.substr(0, colon));
    if (!part || *part < 0 || *part > 1'000'000) return -1;
    seconds = seconds * 60 + *part;
    if (colon == std::string_view::npos) return seconds;
    clock.remove_prefix(colon + 1);
  }
}

// "15/500 [00:18<09:40": nothing if the line has none.
std::optional<BarReport> bar_of(const LogLine& line) {
  const std::size_t bracket = line.text.find(" [");
  const std::size_t less = line.text.find('<', bracket);
  if (bracket == std::string::npos || less == std::string::npos) return std::nullopt;
  const std::string before = line.text.substr(0, bracket);
  const std::size_t space = before.find_last_of(" |");
  const std::string ratio = space == std::string::npos ? before : before.substr(space + 1);
  const std::size_t slash = ratio.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto step = parse_number<int>(std::string_view(ratio).substr(0, slash));
  const auto total = parse_number<int>(std::string_view(ratio).substr(slash + 1));
  const double elapsed =
      seconds_of(std::string_view(line.text).substr(bracket + 2, less - bracket - 2));
  if (!step || !total || *step < 0 || *total < *step || elapsed < 0) return std::nullopt;
  return BarReport{line.number, *step, *total, elapsed};
}

// Steps of the bar that counts `total`, in windows long enough for whole seconds.
std::vector<LoggedStep> steps_of(const std::vector<BarReport>& bars, int total) {
  std::vector<LoggedStep> steps;
  const BarReport* from = nullptr;
  for (const BarReport& bar : bars) {
    if (bar.total != total) continue;
    if (from == nullptr || bar.step < from->step || bar.elapsed < from->elapsed) {
      from = &bar;
      continue;
    }
    if (bar.elapsed - from->elapsed < kShortestWindow || bar.step == from->step) continue;
    steps.push_back({bar.line, (bar.elapsed - from->elapsed) / (bar.step - from->step)});
    from = &bar;
  }
  return steps;
}

using Arguments = std::map<std::string, std::string>;

std::string value_of(const Arguments& arguments, const char* name) {
  const auto at = arguments.find(name);
  return at == arguments.end() ? std::string() : at->second;
}

std::string accelerate_yaml(const Arguments& arguments, int devices) {
  const std::string precision = value_of(arguments, "bf16") == "True"   ? "bf16"
                                : value_of(arguments, "fp16") == "True" ? "fp16"
                                                                        : "no";
  const std::string fsdp = value_of(arguments, "fsdp");
  std::string strategy;
  if (fsdp.find("full_shard") != std::string::npos) strategy = "FULL_SHARD";
  if (fsdp.find("shard_grad_op") != std::string::npos) strategy = "SHARD_GRAD_OP";
  if (fsdp.find("hybrid_shard") != std::string::npos) strategy = "HYBRID_SHARD";
  std::string yaml = fmt::format("distributed_type: {}\nmixed_precision: {}\nnum_processes: {}\n",
                                 strategy.empty() ? "MULTI_GPU" : "FSDP", precision, devices);
  if (!strategy.empty())
    yaml +=
        fmt::format("fsdp_config:\n  fsdp_version: 1\n  fsdp_sharding_strategy: {}\n", strategy);
  return yaml;
}

// The number after a name and whatever quotes it: 'name': 1, "name": 1, name = 1.
std::optional<double> named_number(const LogText& text, const LogLine& line, std::string_view name,
                                   ErrorList& errors) {
  const std::size_t at = line.text.find(name);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t from = line.text.find_first_not_of("'\": =", at + name.size());
  if (from == std::string::npos) return std::nullopt;
  return text.number_after({line.number, line.text.substr(from)}, "", 0, 1e9, errors);
}

class Reader {
 public:
  Reader(const LogText& text, ErrorList& errors) : text_(text), errors_(errors) {}

  TrainLog read() {
    for (std::size_t i = 0; i < text_.lines().size(); ++i) i = read_line(i);
    log_.steps = steps_of(bars_, total_ > 0 ? total_ : bars_.empty() ? 0 : bars_.back().total);
    if (log_.steps.size() < 2 && mean_rate_ > 0) {
      log_.steps = {{mean_line_, 1 / mean_rate_}};
      log_.is_mean = true;
    }
    if (micro_ > 0 && batch_ > 0) {
      const double devices = double(batch_) / micro_ / std::max(1, accumulation_);
      if (devices >= 1 && devices == static_cast<int>(devices))
        log_.devices = static_cast<int>(devices);
    }
    if (micro_ > 0) add_layout();
    return std::move(log_);
  }

 private:
  // Returns the last line that it has read.
  std::size_t read_line(std::size_t i) {
    const LogLine& line = text_.lines()[i];
    const auto has = [&](std::string_view what) {
      return line.text.find(what) != std::string::npos;
    };
    const auto count = [&](std::string_view key, int& into) {
      if (has(key)) into = text_.count_after(line, key, errors_);
    };
    if (has("Model config ") && has(" {")) return read_block(i, line.text.find(" {"), config_);
    if (has("json = {")) return read_block(i, line.text.find("json = {"), deepspeed_);
    if (has("TrainingArguments(")) {
      if (const auto block = text_.block(i, line.text.find("TrainingArguments("), '(')) {
        read_arguments(block->text);
        return block->end - 1;
      }
      return i;
    }
    count("Instantaneous batch size per device =", micro_);
    count("distributed & accumulation) =", batch_);
    count("Gradient Accumulation steps =", accumulation_);
    count("Total optimization steps =", total_);
    count("Grouping texts in chunks of", seq_);
    if (const auto rate = named_number(text_, line, "train_steps_per_second", errors_)) {
      mean_rate_ = *rate;
      mean_line_ = line.number;
    } else if (const auto bar = bar_of(line)) {
      bars_.push_back(*bar);
    }
    return i;
  }

  std::size_t read_block(std::size_t i, std::size_t column, std::string& into) {
    const auto block = text_.block(i, column, '{');
    if (!block) {
      errors_.add("log.value", "what begins here in brackets does not end",
                  text_.where(text_.lines()[i]));
      return i;
    }
    into = std::string(static_cast<std::size_t>(std::max(0, block->line - 1)), '\n') + block->text;
    return block->end - 1;
  }

  // "name=value," per line.
  void read_arguments(const std::string& block) {
    std::size_t start = 0;
    while (start < block.size()) {
      const std::size_t end = std::min(block.find('\n', start), block.size());
      std::string_view line = trimmed(std::string_view(block).substr(start, end - start));
      start = end + 1;
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) continue;
      std::string_view value = line.substr(equals + 1);
      if (value.ends_with(',')) value.remove_suffix(1);
      arguments_[std::string(line.substr(0, equals))] = std::string(value);
    }
  }

  void add_layout() {
    std::string launch =
        fmt::format("run_clm.py --per_device_train_batch_size {} --gradient_accumulation_steps {}",
                    micro_, std::max(1, accumulation_));
    if (seq_ > 0) launch += fmt::format(" --block_size {}", seq_);
    const bool again = value_of(arguments_, "gradient_checkpointing") == "True";
    launch += fmt::format(" --gradient_checkpointing {}\n", again ? "True" : "False");
    log_.layout.push_back({text_.file() + " (arguments).sh", launch});
    if (deepspeed_.empty())
      log_.layout.push_back(
          {text_.file() + " (arguments).yaml", accelerate_yaml(arguments_, log_.devices)});
    else
      log_.layout.push_back({text_.file() + " (json).json", deepspeed_});
    if (!config_.empty()) log_.layout.push_back({"model/config.json", config_});
    log_.sequence = seq_;
  }

  const LogText& text_;
  ErrorList& errors_;
  TrainLog log_;
  Arguments arguments_;
  std::string config_;
  std::string deepspeed_;
  int micro_ = 0;
  int batch_ = 0;
  int accumulation_ = 0;
  int total_ = 0;
  int seq_ = 0;
  double mean_rate_ = 0;
  int mean_line_ = 0;
  std::vector<BarReport> bars_;
};

}  // namespace

TrainLog read_huggingface_log(const LogText& text, ErrorList& errors) {
  return Reader(text, errors).read();
}

}  // namespace nereus::logs
