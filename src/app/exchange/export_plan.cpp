#include "app/exchange/export_plan.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "app/exchange/write_folder.hpp"
#include "app/predict/predict_plan.hpp"
#include "base/format.hpp"
#include "base/write_file.hpp"
#include "cluster/load_cluster.hpp"
#include "cluster/write_cluster.hpp"
#include "plan/plan_json.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;

void write_into(const exporting::Bundle& files, const fs::path& directory) {
  for (const exporting::TextFile& file : files) {
    const fs::path path = directory / file.name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error)
      throw_input_error("output.path", fmt::format("cannot make the folder {}: {}",
                                                   path.parent_path().string(), error.message()));
    write_file(path.string(), file.text);
  }
}

void write_bundle(const exporting::Bundle& files, const std::string& directory) {
  write_folder(directory, [&](const fs::path& folder) { write_into(files, folder); });
}

// Machines that no SPEC describes go along as a file of their own, and the header names it.
void add_cluster(exporting::Bundle& files, const cluster::Cluster& machines) {
  try {
    if (cluster::load_cluster(machines.name) == machines) return;
  } catch (const Errors&) {
    // A name that is no SPEC: the file it is.
  }
  for (exporting::TextFile& file : files) {
    const std::size_t at = file.text.find("# nereus: cluster=");
    if (at == std::string::npos) continue;
    const std::size_t end = file.text.find('\n', at);
    file.text.replace(at, end - at, fmt::format("# nereus: cluster={}", kClusterFile));
  }
  files.push_back({kClusterFile, cluster::cluster_to_json(machines) + "\n"});
}

}  // namespace

std::string engine_stack(exporting::Engine engine, const cluster::Cluster& machines) {
  switch (engine) {
    case exporting::Engine::kMegatron:
      return cost::default_stack({}, machines);
    case exporting::Engine::kTorchtitan:
      return "torchtitan";
    case exporting::Engine::kFsdp:
      return "fms-fsdp";
    case exporting::Engine::kDeepspeed:
      break;
  }
  return "generic";
}

namespace {

// The stack itself, or one that it goes back to.
bool descends(const cost::StackLibrary& library, std::string stack, const std::string& from) {
  while (!stack.empty() && stack != from) {
    const auto entry = library.stacks.find(stack);
    stack = entry == library.stacks.end() ? "" : entry->second.inherits;
  }
  return !stack.empty();
}

std::string other_software(const plan::Plan& plan, const std::string& made_for,
                           exporting::Engine engine) {
  const std::string usual = engine_stack(engine, plan.cluster);
  const std::string root = engine == exporting::Engine::kMegatron ? "megatron" : usual;
  const cost::StackLibrary& library = cost::builtin_stacks();
  if (!library.has(made_for) || descends(library, made_for, root)) return {};
  const cost::Basis there(library.resolve(usual));
  ResolvedPlan own{plan.model,
                   plan.cluster,
                   there.in_precision(plan.placement.precision, plan.placement.state_types),
                   plan.degrees,
                   plan.placement,
                   {}};
  const PredictAnswer answer = predict(std::move(own));
  const cost::Prediction& p = answer.prediction;
  return fmt::format(
      "this plan was made for {}; predicted for {}{}, its step takes {} and the fullest rank "
      "needs {} of {}{}. nereus plan --engine {} finds the best plan for that engine",
      made_for, usual, usual == "generic" ? " (no measured run is known for this engine)" : "",
      format_seconds(Seconds{p.step}), format_bytes(Bytes{p.memory.total}),
      format_bytes(Bytes{p.memory.capacity}), p.fits ? "" : ": it does NOT fit",
      exporting::to_string(engine));
}

}  // namespace

exporting::StackFacts stack_facts(const cost::Stack& stack) {
  return {stack.name, stack.options.selective == cost::SelectiveRule::kAttention,
          stack.options.local_batch_split};
}

ExportAnswer export_plan(const ExportRequest& request) {
  const plan::Plan plan = plan::load_plan(request.plan_file);
  const std::string stack =
      plan.stack.empty() ? cost::default_stack(plan.model, plan.cluster) : plan.stack;
  // A plan may name a stack of a file that is not here; what matters of it is then the usual.
  exporting::StackFacts facts{stack, true, false};
  if (cost::builtin_stacks().has(stack)) facts = stack_facts(cost::load_stack(stack));
  ExportAnswer answer{request.engine, exporting::write(request.engine, plan, facts),
                      request.directory, other_software(plan, stack, request.engine)};
  add_cluster(answer.files, plan.cluster);
  if (!request.directory.empty()) write_bundle(answer.files, request.directory);
  return answer;
}

}  // namespace nereus::app
