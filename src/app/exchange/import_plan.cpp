#include "app/exchange/import_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/exchange/export_plan.hpp"
#include "app/predict/profiles.hpp"
#include "base/format.hpp"
#include "base/write_file.hpp"
#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "model/shape_io.hpp"
#include "plan/expand.hpp"
#include "plan/plan_json.hpp"
#include "plan/rules.hpp"
#include "spec/source.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;
using exporting::Bundle;
using exporting::Engine;
using exporting::Hints;
using exporting::Note;
using exporting::Reading;

constexpr const char* kUnnamed = "imported";
constexpr std::uintmax_t kLargestFile = 8 << 20;

void add_file(Bundle& files, const fs::path& path, const std::string& name) {
  std::error_code error;
  if (fs::file_size(path, error) > kLargestFile || error) return;
  files.push_back({name, spec::read_text_file(path.string())});
}

// Reads the file and the other files that export writes to its folder: the model's configuration,
// and the launch script, whose header names the machines.
Bundle read_files(const std::string& path) {
  Bundle files;
  std::error_code error;
  const fs::path given(path);
  if (!fs::is_directory(given, error)) {
    files.push_back({path, spec::read_text_file(path)});
    const fs::path folder = given.parent_path();
    const bool script = given.extension() == ".sh" || given.extension() == ".slurm" ||
                        given.extension() == ".sbatch" || given.extension().empty();
    if (script) return files;
    const fs::path launch = folder / "launch.sh";
    if (!fs::is_regular_file(launch, error) ||
        spec::read_text_file(launch.string()).find("# nereus: engine=") == std::string::npos)
      return files;
    add_file(files, launch, launch.string());
    if (fs::is_regular_file(folder / "model" / "config.json", error))
      add_file(files, folder / "model" / "config.json", "model/config.json");
    return files;
  }
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(given, error))
    if (entry.is_regular_file(error)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) {
    const std::string ending = entry.extension().string();
    if (entry.filename() == kClusterFile) continue;
    if (ending == ".json" || ending == ".toml" || ending == ".yaml" || ending == ".yml" ||
        ending == ".sh")
      add_file(files, entry, entry.string());
  }
  if (fs::is_regular_file(given / "model" / "config.json", error))
    add_file(files, given / "model" / "config.json", "model/config.json");
  if (files.empty())
    throw_input_error("import.unknown-file",
                      fmt::format("{} contains no script and no configuration", path), {path},
                      "a directory that nereus export wrote");
  return files;
}

cluster::Cluster find_cluster(const ImportRequest& request, const Hints& hints,
                              std::vector<Note>& assumed) {
  std::vector<cluster::Override> overrides;
  for (const Override& o : request.cluster.overrides) overrides.push_back({o.path, o.value});
  std::string spec = request.cluster.cluster.empty() ? hints.cluster : request.cluster.cluster;
  if (request.cluster.cluster.empty() && spec == kClusterFile) {
    const fs::path given(request.path);
    std::error_code error;
    spec = ((fs::is_directory(given, error) ? given : given.parent_path()) / kClusterFile).string();
  }
  if (spec.empty()) {
    std::string said;
    if (hints.devices_per_node > 0)
      said = fmt::format(" It starts {}{} on each node.",
                         hints.nodes > 0 ? fmt::format("{}, ", counted(hints.nodes, "node")) : "",
                         counted(hints.devices_per_node, "process", "processes"));
    throw_input_error(
        "import.no-cluster", fmt::format("{} does not name its machines.{}", hints.main_file, said),
        {hints.main_file},
        fmt::format("for example --cluster {}xdgx-h100; nereus catalog nodes lists the node types",
                    std::max(1, hints.nodes)));
  }
  const cluster::Cluster found = cluster::load_cluster(spec, overrides);
  const int started = hints.nodes * hints.devices_per_node;
  if (started > 0 && started != found.num_devices())
    assumed.push_back(
        {fmt::format("{} has {}, but the file starts {} x {} processes", found.name,
                     counted(found.num_devices(), "device"), hints.nodes, hints.devices_per_node)});
  return found;
}

cost::Stack find_stack(const ImportRequest& request, const Hints& hints,
                       const cluster::Cluster& machines, std::vector<Note>& assumed) {
  if (!request.calibration.stack.empty()) return cost::load_stack(request.calibration.stack);
  if (!hints.stack.empty() && cost::builtin_stacks().has(hints.stack))
    return cost::load_stack(hints.stack);
  const std::string usual =
      hints.usual_stack.empty() ? engine_stack(hints.engine, machines) : hints.usual_stack;
  assumed.push_back({fmt::format("software as in {} (--stack)", usual)});
  return cost::load_stack(usual);
}

// A model without a name gets the name of the catalog's model with that shape.
void name_model(model::Model& model) {
  if (!model.transformer || !(model.name.empty() || model.name == kUnnamed)) return;
  model::TransformerShape shape = *model.transformer;
  shape.name = kUnnamed;
  for (const model::CatalogueModel& entry : model::catalogue_models()) {
    const model::Model known = model::load_model(entry.name);
    if (!known.transformer) continue;
    model::TransformerShape candidate = *known.transformer;
    candidate.seq = shape.seq;
    candidate.max_positions = shape.max_positions;
    candidate.name = shape.name;
    candidate.family = shape.family;
    if (candidate == shape) {
      shape.name = known.name;
      shape.family = known.family;
      break;
    }
  }
  model = model::build_transformer(shape);
}

void override_model(model::Model& model, const ModelRequest& request) {
  if (request.overrides.empty() || !request.model.empty() || !model.transformer) return;
  model::Overrides overrides;
  for (const Override& o : request.overrides) overrides.emplace_back(o.path, o.value);
  model::TransformerShape shape = *model.transformer;
  if (shape.name.empty()) shape.name = kUnnamed;
  model =
      model::load_model_text(spec::to_json(model::write_shape(shape)), "imported.json", overrides);
}

std::vector<int> stage_starts(const Reading& reading) {
  const plan::LayerSpan span = plan::layer_span(reading.model);
  std::vector<int> starts;
  int next = 0;
  for (std::size_t s = 0; s < reading.blocks.size(); ++s) {
    starts.push_back(next);
    next += reading.blocks[s] + (s == 0 ? span.leading : 0);
  }
  starts.push_back(span.num_layers());
  return starts;
}

plan::Plan make_plan(const Reading& reading, const cluster::Cluster& machines,
                     const std::string& stack) {
  plan::check_degrees(reading.degrees, reading.model, machines).throw_if_any();
  plan::Plan plan{};
  plan.model = reading.model;
  plan.cluster = machines;
  plan.stack = stack;
  if (reading.blocks.empty()) {
    plan.degrees = reading.degrees;
    plan.placement = plan::expand(reading.degrees, reading.model);
  } else {
    plan.placement = plan::expand(reading.degrees, reading.model, stage_starts(reading));
  }
  ErrorList wrong;
  for (const Error& error : plan::check_plan(plan)) wrong.add(error);
  wrong.throw_if_any();
  return plan;
}

}  // namespace

ImportAnswer import_plan(const ImportRequest& request) {
  const Bundle files = read_files(request.path);
  const Hints hints = exporting::read_hints(files);
  ImportAnswer answer;
  answer.engine = hints.engine;
  answer.file = hints.main_file;
  const cluster::Cluster machines = find_cluster(request, hints, answer.assumed);
  const cost::Stack stack = find_stack(request, hints, machines, answer.assumed);
  exporting::ReadRequest wanted{machines.num_devices(), stack_facts(stack), std::nullopt};
  if (!request.model.model.empty()) {
    model::Overrides overrides;
    for (const Override& o : request.model.overrides) overrides.emplace_back(o.path, o.value);
    wanted.model = model::load_model(request.model.model, overrides);
  }
  Reading reading = exporting::read(files, hints, wanted);
  override_model(reading.model, request.model);
  name_model(reading.model);
  reading.degrees = exporting::normal(reading.degrees, reading.model);
  answer.plan = make_plan(reading, machines, stack.name);

  ResolvedPlan resolved;
  resolved.model = reading.model;
  resolved.cluster = machines;
  resolved.basis = cost::Basis(stack);
  use_profiles(request.calibration, resolved.model, resolved.cluster, resolved.basis);
  check_precision(resolved.basis, reading.degrees.precision);
  resolved.basis =
      resolved.basis.in_precision(reading.degrees.precision, reading.degrees.state_types);
  resolved.degrees = answer.plan.degrees;
  resolved.placement = answer.plan.placement;
  answer.prediction = predict(std::move(resolved));
  answer.assumed.insert(answer.assumed.end(), reading.assumed.begin(), reading.assumed.end());
  answer.not_counted = std::move(reading.not_counted);
  answer.not_understood = std::move(reading.not_understood);
  answer.changes = single_changes(answer.prediction.plan, reading.degrees,
                                  answer.prediction.prediction, answer.engine, wanted.stack);
  answer.best = best_change(answer.prediction.plan, reading.degrees, answer.prediction.prediction,
                            answer.engine, wanted.stack);
  if (!request.plan_file.empty()) write_file(request.plan_file, plan::plan_to_json(answer.plan));
  return answer;
}

}  // namespace nereus::app
