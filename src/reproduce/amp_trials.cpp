#include "reproduce/amp_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/parse_number.hpp"
#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "plan/check.hpp"
#include "spec/csv.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

constexpr const char* kCluster = "3xp3.8xlarge+1xg4dn.12xlarge";
constexpr int kDevices = 16;
constexpr int kSamples = 32;  // of a step
constexpr int kPieces = 30;   // embedding, nothing, 24 blocks, nothing twice, head, nothing
constexpr int kBlocks = 24;

// Layers before a cut of AMP's: embedding, blocks, head.
int layers_before(int cut) {
  if (cut <= 2) return std::min(cut, 1);
  if (cut <= kBlocks + 2) return cut - 1;
  return cut <= kBlocks + 4 ? kBlocks + 1 : kBlocks + 2;
}

AmpTrial read_trial(const spec::Csv& csv, const spec::CsvRow& row, ErrorList& errors) {
  const auto wrong = [&](const char* column, const std::string& rule) {
    const int at = csv.find(column);
    errors.add("amp.value", fmt::format("{} is '{}'", column, csv.cell(row, at)),
               csv.where(row, at), rule);
  };
  const auto whole = [&](const char* column) {
    const std::optional<int> value = parse_number<int>(csv.cell(row, csv.find(column)));
    if (value && *value >= 1 && *value <= kSamples) return *value;
    wrong(column, fmt::format("a whole number from 1 to {}", kSamples));
    return 1;
  };
  const auto seconds = [&](const char* column) {
    const std::optional<double> value = parse_number<double>(csv.cell(row, csv.find(column)));
    if (value && *value > 0 && *value < 1e6) return *value;
    wrong(column, "seconds above 0");
    return 1.0;
  };
  AmpTrial trial;
  trial.name = csv.cell(row, csv.find("trial"));
  trial.micro_batch = whole("micro_batch");
  trial.tp = whole("tp");
  trial.dp = whole("dp");
  trial.pp = whole("pp");
  trial.amp = seconds("amp_s");
  if (!csv.cell(row, csv.find("measured_s")).empty()) trial.measured = seconds("measured_s");
  if (trial.tp * trial.dp * trial.pp != kDevices)
    wrong("pp", fmt::format("tp x dp x pp = {}", kDevices));
  if (kSamples % (trial.dp * trial.micro_batch) != 0)
    wrong("micro_batch", fmt::format("dp x micro_batch divides {}", kSamples));
  std::istringstream cuts(csv.cell(row, csv.find("cuts")));
  for (std::string cut; std::getline(cuts, cut, '/');)
    trial.cuts.push_back(parse_number<int>(cut).value_or(-1));
  if (trial.cuts.size() != static_cast<std::size_t>(trial.pp) + 1 || trial.cuts.front() != 0 ||
      trial.cuts.back() != kPieces || !std::is_sorted(trial.cuts.begin(), trial.cuts.end()))
    wrong("cuts", fmt::format("pp + 1 whole numbers, rising from 0 to {}", kPieces));
  return trial;
}

plan::LayerRun stage_of(const AmpTrial& trial, int stage) {
  plan::LayerRun run;
  run.stage = stage;
  run.first_layer = layers_before(trial.cuts[stage]);
  run.num_layers = layers_before(trial.cuts[static_cast<std::size_t>(stage) + 1]) - run.first_layer;
  plan::Replicas teams;
  teams.count = trial.dp;
  teams.first = stage * trial.dp * trial.tp;
  teams.tp = teams.team_stride = trial.tp;
  teams.micro_batch = trial.micro_batch;
  teams.num_micro_batches = kSamples / (trial.dp * trial.micro_batch);
  run.replicas = {teams};
  plan::StateShare share;
  share.cut = share.num_slices = trial.tp;
  share.ranks = {{teams.first, trial.dp, trial.tp}};
  for (const plan::StateKind kind :
       {plan::StateKind::kWeights, plan::StateKind::kGradients, plan::StateKind::kOptimizer}) {
    share.kind = kind;
    run.state.push_back(share);
  }
  return run;
}

}  // namespace

std::vector<AmpTrial> parse_amp_trials(std::string_view text, const std::string& file) {
  const spec::Csv csv = spec::parse_csv(text, file);
  csv.require_all({"trial", "micro_batch", "tp", "dp", "pp", "cuts", "amp_s", "measured_s"});
  ErrorList errors;
  std::vector<AmpTrial> trials;
  for (const spec::CsvRow& row : csv.rows) trials.push_back(read_trial(csv, row, errors));
  errors.throw_if_any();
  return trials;
}

std::vector<AmpTrial> read_amp_trials() {
  return parse_amp_trials(embedded_text("amp/mixed_cluster.csv"), "data/amp/mixed_cluster.csv");
}

plan::Plan plan_of(const AmpTrial& trial) {
  plan::Plan out;
  out.model = model::load_model("gpt2-medium", {{"vocab", "52256"}});
  out.cluster = cluster::load_cluster(kCluster);
  out.stack = "megatron-deepspeed";
  out.placement.global_batch = kSamples;
  out.placement.precision = cluster::Precision::kFp16;
  out.placement.data_overlap = false;
  for (int stage = 0; stage < trial.pp; ++stage)
    out.placement.runs.push_back(stage_of(trial, stage));
  ErrorList errors;
  for (const Error& error : plan::check(out.placement, out.model, out.cluster)) errors.add(error);
  errors.throw_if_any();
  return out;
}

cost::Stack amp_stack() {
  cost::StackLibrary library = cost::builtin_stacks();
  cost::overlay_stacks(library, embedded_text("amp/stack.toml"), "data/amp/stack.toml");
  return library.resolve("amp");
}

}  // namespace nereus::app
