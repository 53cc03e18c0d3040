#include "app/train/step_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/train/train_steps.hpp"
#include "base/error.hpp"
#include "spec/reader.hpp"
#include "spec/source.hpp"

namespace nereus::app {

namespace fs = std::filesystem;

StepLog::StepLog(const std::string& folder, const std::string& metrics_file,
                 const TrainWatch& watch, TrainAnswer& answer)
    : watch_(watch), answer_(answer) {
  const std::string file = folder + "/steps.jsonl";
  // Only whole lines: a kill may have truncated the last one.
  std::error_code error;
  if (fs::exists(file)) fs::resize_file(file, read(file), error);
  log_.open(file, std::ios::app);
  if (!log_ || error)
    throw_environment_error("elastic.folder", fmt::format("{} cannot be written", file));
  if (metrics_file.empty()) return;
  metrics_.open(metrics_file, answer_.steps.empty() ? std::ios::trunc : std::ios::app);
  if (!metrics_)
    throw_environment_error("train.metrics", fmt::format("{} cannot be written", metrics_file));
}

void StepLog::take(const job::Message& message, bool clips) {
  if (!answer_.steps.empty() && message.step <= answer_.steps.back().step) {
    // Another rank's, or done again after a checkpoint was read.
    TrainStep& last = answer_.steps.back();
    if (message.step == last.step) last.seconds = std::max(last.seconds, message.seconds);
    return;
  }
  TrainStep step;
  step.step = message.step;
  step.loss = message.loss;
  if (clips) step.gradient_norm = message.gradient_norm;
  step.rate = message.rate;
  step.seconds = message.seconds;
  step.tokens = message.tokens;
  step.memory_bytes = message.memory_bytes;
  step.waits = message.waits;
  const std::string line = metrics_line(step, answer_.counts_tokens);
  const bool could = log_.good();
  log_ << line << std::endl;
  if (could && !log_ && watch_.say)
    watch_.say("steps.jsonl of the job can no longer be written; losses are kept in memory");
  if (metrics_.is_open()) metrics_ << line << std::endl;
  answer_.steps.push_back(step);
  if (watch_.step) watch_.step(step);
}

std::uintmax_t StepLog::read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::uintmax_t bytes = 0;
  for (std::string line; std::getline(in, line) && !in.eof();) {
    try {
      const spec::Value root = spec::parse_json(line, file);
      ErrorList errors;
      spec::Reader r(root, errors, spec::Units::kRawSi);
      TrainStep step;
      step.step = r.required_int64("step", 0);
      step.loss = r.required_double("loss");
      step.rate = r.required_double("rate");
      step.seconds = r.required_double("step_s");
      const char* rate = answer_.counts_tokens ? "tokens_per_s" : "samples_per_s";
      step.tokens = static_cast<std::int64_t>(r.required_double(rate) * step.seconds + 0.5);
      step.memory_bytes = r.required_double("memory_bytes");
      const spec::Value* norm = r.raw("gradient_norm");  // null without --clip
      if (norm != nullptr && std::holds_alternative<double>(norm->data))
        step.gradient_norm = std::get<double>(norm->data);
      errors.throw_if_any();
      if (answer_.steps.empty() || step.step > answer_.steps.back().step)
        answer_.steps.push_back(step);
    } catch (const Errors&) {
      break;  // of a process that was killed
    }
    bytes += line.size() + 1;
  }
  return bytes;
}

}  // namespace nereus::app
