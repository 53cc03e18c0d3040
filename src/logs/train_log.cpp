#include "logs/train_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/median.hpp"
#include "logs/log_text.hpp"

namespace nereus::logs {

namespace {

struct Mark {
  std::string_view text;
  Trainer trainer;
};
// What only this trainer prints, the surest first: Megatron-LM may run inside DeepSpeed, and
// DeepSpeed inside the Trainer of Hugging Face.
constexpr Mark kMarks[] = {{"train_step_timing in s", Trainer::kNemo},
                           {"elapsed time per iteration (ms):", Trainer::kMegatron},
                           {"tps: ", Trainer::kTorchtitan},
                           {"***** Running training *****", Trainer::kHuggingFace},
                           {"'train_runtime':", Trainer::kHuggingFace},
                           {"train_steps_per_second", Trainer::kHuggingFace},
                           {"CurrSamplesPerSec=", Trainer::kDeepspeed},
                           {"iter time (s):", Trainer::kDeepspeed}};

std::optional<Trainer> trainer_of(std::string_view text) {
  for (const Mark& mark : kMarks) {
    if (text.find(mark.text) == std::string_view::npos) continue;
    // Other programs have a tps as well.
    if (mark.trainer == Trainer::kTorchtitan && text.find("memory: ") == std::string_view::npos)
      continue;
    return mark.trainer;
  }
  return std::nullopt;
}

TrainLog read_of(Trainer trainer, const LogText& text, ErrorList& errors) {
  switch (trainer) {
    case Trainer::kMegatron:
      return read_megatron_log(text, errors);
    case Trainer::kDeepspeed:
      return read_deepspeed_log(text, errors);
    case Trainer::kTorchtitan:
      return read_torchtitan_log(text, errors);
    case Trainer::kNemo:
      return read_nemo_log(text, errors);
    case Trainer::kHuggingFace:
      break;
  }
  return read_huggingface_log(text, errors);
}

}  // namespace

std::string_view title(Trainer trainer) {
  constexpr std::string_view kTitles[] = {"Megatron-LM", "DeepSpeed", "torchtitan", "NeMo",
                                          "Hugging Face"};
  return kTitles[static_cast<std::size_t>(trainer)];
}

bool is_log(std::string_view text) { return trainer_of(text).has_value(); }

TrainLog read_log(std::string_view raw, const std::string& file) {
  const std::optional<Trainer> trainer = trainer_of(raw);
  if (!trainer)
    throw_input_error("log.unknown",
                      fmt::format("{} is no log of a trainer that Nereus reads", file), {file},
                      "logs of Megatron-LM, DeepSpeed, torchtitan, NeMo and Hugging Face trainers, "
                      "with the lines of their steps");
  const LogText text(raw, file);
  ErrorList errors;
  TrainLog log = read_of(*trainer, text, errors);
  log.trainer = *trainer;
  log.file = file;
  errors.throw_if_any();
  if (log.steps.empty())
    throw_input_error("log.no-steps",
                      fmt::format("{} looks like a log of {}, but has no step with a time", file,
                                  title(*trainer)),
                      {file}, "a log of a job that ran for a few logging intervals");
  return log;
}

Steady steady(const TrainLog& log) {
  Steady out;
  const std::size_t n = log.steps.size();
  const std::size_t dropped = n < 2 ? 0 : std::clamp<std::size_t>(n / 5, 1, 10);
  std::vector<double> values;
  for (std::size_t i = dropped; i < n; ++i) values.push_back(log.steps[i].value);
  out.value = median(values);
  out.used = static_cast<int>(values.size());
  out.dropped = static_cast<int>(dropped);
  return out;
}

}  // namespace nereus::logs
