#include "app/train/train_steps.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace nereus::app {

namespace {

using WaitField = double job::Waits::*;
constexpr WaitField kWaits[] = {&job::Waits::data,   &job::Waits::tensor, &job::Waits::pipeline,
                                &job::Waits::gather, &job::Waits::reduce, &job::Waits::checkpoint};

void add(job::Waits& sum, const job::Waits& waits) {
  for (const WaitField field : kWaits) sum.*field += waits.*field;
}
void divide(job::Waits& waits, double by) {
  for (const WaitField field : kWaits) waits.*field /= by;
}

std::vector<const TrainStep*> measured(const std::vector<TrainStep>& steps) {
  std::vector<const TrainStep*> list;
  for (std::size_t i = steps.size() > 2 ? 1 : 0; i < steps.size(); ++i) list.push_back(&steps[i]);
  return list;
}

}  // namespace

std::vector<TrainStep> StepCollector::take(const job::Message& message) {
  if (message.kind != job::MessageKind::kStep || !ranks_.contains(message.rank)) return {};
  Open& open = open_[message.step];
  TrainStep& step = open.step;
  step.step = message.step;
  if (message.rank == *ranks_.begin()) {
    step.loss = message.loss;
    if (message.gradient_norm > 0) step.gradient_norm = message.gradient_norm;
    step.rate = message.rate;
    step.tokens = message.tokens;
  }
  step.seconds = std::max(step.seconds, message.seconds);
  step.memory_bytes = std::max(step.memory_bytes, message.memory_bytes);
  add(step.waits, message.waits);
  open.heard.insert(message.rank);

  std::vector<TrainStep> whole;
  while (!open_.empty() && open_.begin()->second.heard == ranks_) {
    whole.push_back(close(open_.begin()->second));
    open_.erase(open_.begin());
  }
  return whole;
}

std::vector<TrainStep> StepCollector::rest() {
  std::vector<TrainStep> steps;
  for (const auto& [number, open] : open_) {
    if (!open.heard.contains(*ranks_.begin())) break;
    steps.push_back(close(open));
  }
  open_.clear();
  return steps;
}

TrainStep StepCollector::close(const Open& open) const {
  TrainStep step = open.step;
  divide(step.waits, static_cast<double>(open.heard.size()));
  return step;
}

std::string metrics_line(const TrainStep& step, bool counts_tokens) {
  using Json = nlohmann::ordered_json;
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  Json json;
  json["step"] = step.step;
  json["loss"] = number(step.loss);
  json["gradient_norm"] = step.gradient_norm ? number(*step.gradient_norm) : Json(nullptr);
  json["rate"] = step.rate;
  json["step_s"] = step.seconds;
  json[counts_tokens ? "tokens_per_s" : "samples_per_s"] =
      number(static_cast<double>(step.tokens) / step.seconds);
  json["memory_bytes"] = step.memory_bytes;
  if (step.mfu) json["mfu"] = *step.mfu;
  json["waits"] = {{"data", step.waits.data},         {"tensor", step.waits.tensor},
                   {"pipeline", step.waits.pipeline}, {"gather", step.waits.gather},
                   {"reduce", step.waits.reduce},     {"checkpoint", step.waits.checkpoint}};
  return json.dump();
}

double median_step(const std::vector<TrainStep>& steps) {
  std::vector<double> seconds;
  for (const TrainStep* step : measured(steps)) seconds.push_back(step->seconds);
  if (seconds.empty()) return 0;
  std::sort(seconds.begin(), seconds.end());
  const std::size_t half = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
}

job::Waits mean_waits(const std::vector<TrainStep>& steps) {
  job::Waits waits;
  const std::vector<const TrainStep*> list = measured(steps);
  for (const TrainStep* step : list) add(waits, step->waits);
  if (!list.empty()) divide(waits, static_cast<double>(list.size()));
  return waits;
}

std::vector<ComparedPart> compare(const TrainAnswer& answer) {
  if (!answer.predicted || answer.steps.empty()) return {};
  using cost::Part;
  const cost::Prediction& p = *answer.predicted;
  const job::Waits& w = answer.waits;
  const auto predicted = [&](std::initializer_list<Part> parts) {
    double sum = 0;
    for (const Part part : parts) sum += p.part(part);
    return sum;
  };
  const double waited = w.data + w.tensor + w.pipeline + w.gather + w.reduce + w.checkpoint;
  std::vector<ComparedPart> parts = {
      {"computing",
       predicted({Part::kCompute, Part::kRecompute, Part::kOptimizer, Part::kOffload, Part::kLaunch,
                  Part::kFixed}),
       std::max(0.0, answer.step_s - waited)},
      {"inside layers", predicted({Part::kTensorComm, Part::kContextComm, Part::kExpertComm}),
       w.tensor},
      {"between stages", predicted({Part::kPipelineComm, Part::kBubble}), w.pipeline},
      {"weights and gradients", predicted({Part::kDataComm}), w.gather + w.reduce},
      {"input", predicted({Part::kInput}), w.data},
      {"checkpoints", 0, w.checkpoint}};
  std::erase_if(parts,
                [](const ComparedPart& part) { return part.predicted == 0 && part.measured == 0; });
  parts.push_back({"step", p.step, answer.step_s});
  return parts;
}

}  // namespace nereus::app
