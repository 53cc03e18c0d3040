#include "reproduce/sailor_runs.hpp"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/parse_number.hpp"
#include "cluster/catalogue.hpp"
#include "cluster/read.hpp"
#include "model/read/load_model.hpp"
#include "plan/check.hpp"
#include "profile/import_file.hpp"
#include "spec/csv.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

constexpr const char* kModel = "opt-350m";
constexpr int kMostTeams = 1 << 12;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

// A row of a table, whose faults are collected.
class Row {
 public:
  Row(const spec::Csv& csv, const spec::CsvRow& row, ErrorList& errors)
      : csv_(csv), row_(row), errors_(errors) {}

  const std::string& text(const char* column) const { return csv_.cell(row_, csv_.find(column)); }
  int whole(const char* column) const {
    const std::optional<int> value = parse_number<int>(text(column));
    if (value && *value >= 1) return *value;
    wrong(column, "a whole number from 1");
    return 1;
  }
  double above_zero(const char* column) const {
    const std::optional<double> value = parse_number<double>(text(column));
    if (value && *value > 0 && *value < 1e15) return *value;
    wrong(column, "a number above 0");
    return 1;
  }
  void wrong(const char* column, const std::string& rule) const {
    errors_.add("sailor.value", fmt::format("{} is '{}'", column, text(column)),
                csv_.where(row_, csv_.find(column)), rule);
  }

 private:
  const spec::Csv& csv_;
  const spec::CsvRow& row_;
  ErrorList& errors_;
};

// "2xTitan-RTX RTX-2080": the device of each team.
std::optional<std::vector<std::string>> teams_of(const std::string& text) {
  std::vector<std::string> teams;
  for (const std::string& part : split(text, ' ')) {
    const std::size_t x = part.find('x');
    const std::optional<int> count =
        x == std::string::npos ? std::nullopt : parse_number<int>(part.substr(0, x));
    if (part.empty() || (count && (*count < 1 || *count > kMostTeams))) return std::nullopt;
    teams.insert(teams.end(), static_cast<std::size_t>(count.value_or(1)),
                 count ? part.substr(x + 1) : part);
  }
  return teams;
}

SailorRun read_run(const Row& row) {
  SailorRun run;
  run.name = row.text("name");
  run.machines = row.text("machines");
  run.tp = row.whole("tp");
  run.micro_batch = row.whole("micro_batch");
  run.global_batch = row.whole("global_batch");
  run.measured = row.above_zero("measured_s");
  if (!row.text("memory_b").empty()) run.measured_memory = row.above_zero("memory_b");
  run.source = fmt::format("{} @ {}", row.text("path"), row.text("commit"));
  run.suspect = row.text("suspect");
  run.teams_text = row.text("teams");
  for (const std::string& part : split(row.text("layers"), '/'))
    run.layers.push_back(parse_number<int>(part).value_or(0));
  for (const std::string& part : split(run.teams_text, '/'))
    run.teams.push_back(teams_of(part).value_or(std::vector<std::string>{}));
  bool even = !run.teams.empty() && run.teams.size() == run.layers.size();
  for (const std::vector<std::string>& stage : run.teams)
    even &= !stage.empty() && stage.size() == run.teams.front().size();
  for (const int layers : run.layers) even &= layers >= 1;
  if (!even) {
    row.wrong("teams", "as many stages as layers has, each of as many teams: Titan-RTX/RTX-2080");
  } else if (const auto teams = static_cast<int>(run.teams.front().size());
             run.global_batch % (teams * run.micro_batch) != 0) {
    row.wrong("global_batch",
              fmt::format("a multiple of teams x micro_batch = {} x {}", teams, run.micro_batch));
  }
  return run;
}

cluster::Node node_of(const SailorRun& run, const std::string& device) {
  const cluster::Catalogue& known = cluster::builtin_catalogue();
  const cluster::Device* found = known.find_device(device);
  NEREUS_CHECK(found, "devices of data/sailor are in the catalogue");
  ErrorList errors;
  const spec::Csv csv =
      spec::parse_csv(embedded_text("sailor/machines.csv"), "data/sailor/machines.csv");
  for (const spec::CsvRow& line : csv.rows) {
    const Row row(csv, line, errors);
    if (row.text("machines") != run.machines || row.text("device") != device ||
        row.whole("devices") != run.tp)
      continue;
    cluster::Node node;
    node.name = device;
    node.device = *found;
    node.num_devices = run.tp;
    const std::optional<cluster::LinkKind> kind = cluster::parse_link_kind(row.text("inside"));
    NEREUS_CHECK(kind, "links of data/sailor are known");
    node.inside.name = row.text("inside");
    node.inside.kind = *kind;
    node.inside.size = run.tp;
    node.inside.bandwidth = BytesPerSecond{row.above_zero("inside_gb_s") * 1e9};
    node.inside.latency = known.usual_latency(*kind).value_or(Seconds{});
    node.network_kind = cluster::LinkKind::kEthernet;
    node.network = BytesPerSecond{row.above_zero("network_gb_s") * 1e9};
    node.network_latency = known.usual_latency(node.network_kind).value_or(Seconds{});
    node.source = "Sailor, " + row.text("network_source");
    errors.throw_if_any();
    return node;
  }
  throw_input_error(
      "sailor.machines",
      fmt::format("no node of {} {} in the machines '{}'", run.tp, device, run.machines), {},
      "data/sailor/machines.csv has what was measured");
}

// Nodes by kind, in the order in which the run names them; and the first rank of each kind.
cluster::Cluster cluster_of(const SailorRun& run, std::map<std::string, int>& next_rank) {
  std::vector<std::string> order;
  std::map<std::string, int> count;
  for (const std::vector<std::string>& stage : run.teams)
    for (const std::string& device : stage)
      if (++count[device] == 1) order.push_back(device);
  cluster::Cluster cluster;
  cluster.name = run.name;
  int rank = 0;
  for (const std::string& device : order) {
    cluster.groups.push_back({count[device], node_of(run, device)});
    next_rank[device] = rank;
    rank += count[device] * run.tp;
  }
  cluster.levels = {cluster::node_network_level(cluster)};
  return cluster;
}

plan::LayerRun stage_of(const SailorRun& run, std::size_t stage, int first_layer,
                        std::map<std::string, int>& next_rank) {
  const std::vector<std::string>& teams = run.teams[stage];
  const int samples = run.global_batch / static_cast<int>(teams.size());
  plan::LayerRun out;
  out.first_layer = first_layer;
  out.num_layers = run.layers[stage];
  out.stage = static_cast<int>(stage);
  plan::StateShare share;
  share.cut = share.num_slices = run.tp;
  for (std::size_t team = 0; team < teams.size(); ++team) {
    int& rank = next_rank[teams[team]];
    plan::Replicas replicas;
    replicas.first = rank;
    replicas.tp = run.tp;
    replicas.micro_batch = run.micro_batch;
    replicas.num_micro_batches = samples / run.micro_batch;
    replicas.first_sample = static_cast<std::int64_t>(team) * samples;
    out.replicas.push_back(replicas);
    share.ranks.push_back({rank, 1, 1});
    rank += run.tp;
  }
  for (const plan::StateKind kind :
       {plan::StateKind::kWeights, plan::StateKind::kGradients, plan::StateKind::kOptimizer}) {
    share.kind = kind;
    out.state.push_back(share);
  }
  return out;
}

}  // namespace

bool SailorRun::is_mixed() const {
  for (const std::vector<std::string>& stage : teams)
    for (const std::string& device : stage)
      if (device != teams.front().front()) return true;
  return false;
}

std::vector<SailorRun> parse_sailor_runs(std::string_view text, const std::string& file) {
  const spec::Csv csv = spec::parse_csv(text, file);
  csv.require_all({"name", "machines", "tp", "micro_batch", "global_batch", "layers", "teams",
                   "measured_s", "memory_b", "path", "commit", "suspect"});
  ErrorList errors;
  std::vector<SailorRun> runs;
  for (const spec::CsvRow& row : csv.rows) runs.push_back(read_run(Row(csv, row, errors)));
  errors.throw_if_any();
  return runs;
}

std::vector<SailorRun> read_sailor_runs() {
  return parse_sailor_runs(embedded_text("sailor/runs.csv"), "data/sailor/runs.csv");
}

plan::Plan plan_of(const SailorRun& run) {
  plan::Plan out;
  out.model = model::load_model(kModel);
  std::map<std::string, int> next_rank;
  out.cluster = cluster_of(run, next_rank);
  out.stack = "megatron-deepspeed";
  plan::Placement& placement = out.placement;
  placement.global_batch = run.global_batch;
  placement.precision = cluster::Precision::kFp32;
  placement.data_overlap = false;
  int layer = 0;
  for (std::size_t stage = 0; stage < run.teams.size(); ++stage) {
    placement.runs.push_back(stage_of(run, stage, layer, next_rank));
    layer += run.layers[stage];
  }
  ErrorList errors;
  for (const Error& error : plan::check(placement, out.model, out.cluster)) errors.add(error);
  errors.throw_if_any();
  return out;
}

cost::Stack sailor_stack() {
  cost::StackLibrary library = cost::builtin_stacks();
  cost::overlay_stacks(library, embedded_text("sailor/stack.toml"), "data/sailor/stack.toml");
  return library.resolve("sailor");
}

std::shared_ptr<const cost::MeasuredLayers> sailor_layers(const plan::Plan& plan) {
  const std::string folder = "profiles/sailor/";
  std::vector<profile::ProfileFile> files;
  for (const cluster::NodeGroup& group : plan.cluster.groups) {
    const std::string path = folder + "OPT-350/" + group.node.name + "/profile.json";
    files.push_back({"data/" + path, std::string(embedded_text(path))});
  }
  files.push_back(
      {"data/" + folder + "llm_info.json", std::string(embedded_text(folder + "llm_info.json"))});
  return std::make_shared<const cost::MeasuredLayers>(cost::match_layers(
      {{profile::import_profiles(files), files.front().name}}, plan.model, plan.cluster));
}

}  // namespace nereus::app
