#include "app/validate/log_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/exchange/export_plan.hpp"
#include "calibrate/sites.hpp"
#include "cluster/catalogue.hpp"
#include "model/read/load_model.hpp"
#include "model/shape_io.hpp"
#include "plan/rules.hpp"
#include "spec/source.hpp"

namespace nereus::app {

namespace {

constexpr const char* kModelFile = "model/config.json";
constexpr int kMostDevices = 1 << 20;

// What kind of file a name stands for in a bundle: one of each is enough.
std::string role_of(const std::string& name) {
  return name == kModelFile ? name : std::filesystem::path(name).extension().string();
}

bool decides(const std::string& role) {
  return role == ".json" || role == ".toml" || role == ".yaml" || role == ".yml";
}

exporting::Bundle files_of(const logs::TrainLog& log, const std::vector<std::string>& launch) {
  exporting::Bundle files;
  for (const std::string& path : launch) {
    std::string text = spec::read_text_file(path);
    const bool model = text.find("\"model_type\"") != std::string::npos;
    files.push_back({model ? std::string(kModelFile) : path, std::move(text)});
  }
  const auto has = [&](const auto& what) {
    return std::any_of(files.begin(), files.end(),
                       [&](const auto& file) { return what(role_of(file.name)); });
  };
  const bool decided = has(decides);
  for (const logs::LayoutFile& file : log.layout) {
    const std::string role = role_of(file.name);
    if (has([&](const std::string& other) { return other == role; })) continue;
    if (decided && decides(role)) continue;
    files.push_back({file.name, file.text});
  }
  return files;
}

}  // namespace

LogRun::LogRun(logs::TrainLog log, const LogRequest& request)
    : log_(std::move(log)), steady_(logs::steady(log_)), seq_(request.seq) {
  files_ = files_of(log_, request.launch);
  if (files_.empty())
    throw_input_error("log.no-layout",
                      fmt::format("{} does not print the layout of its run", log_.file),
                      {log_.file},
                      log_.trainer == logs::Trainer::kTorchtitan
                          ? "--launch train.toml (torchtitan prints it with --debug.print_config)"
                          : "--launch FILE: its launch script or configuration");
  hints_ = exporting::read_hints(files_);
  devices_ = request.gpus > 0 ? request.gpus
             : log_.devices > 0
                 ? log_.devices
                 : std::min<int>(kMostDevices, hints_.nodes * hints_.devices_per_node);
  if (devices_ < 1)
    throw_input_error("log.no-devices",
                      fmt::format("{} does not say how many devices it used", log_.file),
                      {log_.file}, "--gpus 64, or a launch script that says it (--launch)");
  const std::string name = !request.gpu.empty()   ? request.gpu
                           : !log_.device.empty() ? log_.device
                                                  : hints_.device;
  const cluster::Catalogue& known = cluster::builtin_catalogue();
  const cluster::Node* node = nullptr;
  if (!request.node.empty()) {
    node = known.find_node(request.node);
    if (node == nullptr) throw Errors({known.unknown_node(request.node)});
  }
  if (name.empty() && node == nullptr)
    throw_input_error("log.no-device",
                      fmt::format("{} does not say which devices it used", log_.file), {log_.file},
                      "--gpu h100, or --node dgx-h100");
  const cluster::Device* device =
      node != nullptr && request.gpu.empty() ? &node->device : known.find_device(name);
  if (device == nullptr) throw Errors({known.unknown_device(name, {log_.file})});
  if (node == nullptr) node = calibrate::reference_node(*device);
  if (node == nullptr)
    throw_input_error("log.no-node", fmt::format("no machine with {} is known", device->name),
                      {log_.file}, "--node NAME (nereus catalog nodes)");
  cluster_ = calibrate::cluster_of(*node, *device, devices_, nullptr);
  if (!request.model.empty()) {
    model::Overrides overrides;
    if (seq_ > 0) overrides.emplace_back("seq", std::to_string(seq_));
    model_ = model::load_model(request.model, overrides);
  }
  if (log_.trainer == logs::Trainer::kHuggingFace && log_.sequence == 0 && seq_ == 0 &&
      request.launch.empty())
    throw_input_error("log.no-sequence",
                      fmt::format("{} does not say how long its samples are", log_.file),
                      {log_.file}, "--seq 4096, or --launch with the trainer's --block_size");
}

std::string LogRun::stack() const {
  switch (log_.trainer) {
    case logs::Trainer::kMegatron:
      return log_.deepspeed ? "my-megatron-deepspeed" : "my-megatron";
    case logs::Trainer::kDeepspeed:
      return "my-deepspeed";
    case logs::Trainer::kTorchtitan:
      return log_.compiled ? "my-torchtitan-compile" : "my-torchtitan";
    case logs::Trainer::kNemo:
      return "my-nemo";
    case logs::Trainer::kHuggingFace:
      break;
  }
  return "my-huggingface";
}

exporting::Reading LogRun::read(const cost::StackLibrary& library, const std::string& stack) const {
  exporting::Reading reading =
      exporting::read(files_, hints_, {devices_, stack_facts(library.resolve(stack)), model_});
  if (seq_ > 0 && reading.model.transformer && reading.model.transformer->seq != seq_) {
    model::TransformerShape shape = *reading.model.transformer;
    shape.seq = seq_;
    reading.model = model::build_transformer(shape);
  }
  if (reading.model.name.empty()) reading.model.name = "model";
  reading.degrees = exporting::normal(reading.degrees, reading.model);
  plan::check_degrees(reading.degrees, reading.model, cluster_).throw_if_any();
  return reading;
}

calibrate::Run LogRun::as(const cost::StackLibrary& library, const std::string& stack) const {
  exporting::Reading reading = read(library, stack);
  calibrate::Run run;
  run.file = log_.file;
  run.line = log_.steps.front().line;
  run.set = std::filesystem::path(log_.file).stem().string();
  run.model_name = reading.model.name;
  run.cluster = cluster_;
  run.degrees = reading.degrees;
  run.stack = stack;
  run.attention = library.stacks.find(stack)->second.options.attention;
  const double samples = reading.degrees.global_batch;
  switch (log_.measure) {
    case logs::Measure::kSecondsPerStep:
      run.step = steady_.value;
      break;
    case logs::Measure::kTokensPerSecondPerDevice:
      run.step = reading.model.tokens_per_sample * samples / (steady_.value * devices_);
      break;
    case logs::Measure::kSamplesPerSecond:
      run.step = samples / steady_.value;
      break;
  }
  if (!std::isfinite(run.step) || run.step < 1e-9 || run.step > 1e9)
    throw_input_error("log.value", fmt::format("a step of {:g} s cannot be", run.step),
                      {log_.file, run.line});
  run.memory = log_.memory;
  run.ranking_group = run.suite = run.set + "|" + run.model_name;
  run.model = std::make_shared<model::Model>(std::move(reading.model));
  return run;
}

LogSummary LogRun::summary(const cost::StackLibrary& library, const std::string& stack) const {
  LogSummary out;
  out.file = log_.file;
  out.trainer = logs::title(log_.trainer);
  out.stack = stack;
  out.step = as(library, stack).step;
  out.used = steady_.used;
  out.dropped = steady_.dropped;
  out.is_mean = log_.is_mean;
  out.memory = log_.memory;
  out.devices = devices_;
  out.device = cluster_.groups.front().node.device.name;
  for (const exporting::Note& note : read(library, stack).assumed) out.assumed.push_back(note.text);
  return out;
}

}  // namespace nereus::app
