// Placements that no degrees describe, with computations short enough to follow by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "plan/check.hpp"
#include "predict/general/general_predictor.hpp"
#include "predict/predict_testing.hpp"

namespace nereus::cost::general_irregular_test {
namespace {

using plan::Gather;
using plan::LayerRun;
using plan::Placement;
using plan::Replicas;
using plan::StateKind;
using plan::StateShare;

constexpr StateKind kKinds[] = {StateKind::kWeights, StateKind::kGradients, StateKind::kOptimizer};

model::Model small_model(int layers = 6) {
  model::TransformerShape shape;
  shape.name = "small";
  shape.layers = layers;
  shape.hidden = 256;
  shape.heads = 4;
  shape.ffn = 1024;
  shape.vocab = 2000;
  shape.seq = 128;
  return model::build_transformer(shape);
}

cluster::NodeGroup nodes(int count, double peak) {
  cluster::NodeGroup group;
  group.count = count;
  group.node.name = "node";
  group.node.num_devices = 1;
  group.node.network = BytesPerSecond{1e10};
  group.node.device.name = group.node.device.short_name = "X1";
  group.node.device.memory = Bytes{16e9};
  group.node.device.memory_bandwidth = BytesPerSecond{1e12};
  group.node.device.peak.fill(FlopsPerSecond{peak});
  group.node.tiers.push_back({"host", Bytes{64e9}, BytesPerSecond{1e10}, Seconds{}});
  return group;
}

cluster::Cluster machines(int count) { return {"test", {nodes(count, 1e14)}, {}}; }

// Launching costs nothing and nothing hides behind anything: times add up.
Basis plain_basis() {
  Basis basis(builtin_stacks().resolve("generic"));
  basis.stack.options = {};
  basis.stack.options.gradient_bytes = 2;
  basis.stack.settings = {{"host_layer", 0},    {"host_collective", 0}, {"host_step", 0},
                          {"host_transfer", 0}, {"data_overlap", 0},    {"zero_overlap", 0},
                          {"shard_overlap", 0}, {"memory_slack", 1},    {"buffer_bytes", 0},
                          {"memory_fixed", 0}};
  return basis;
}

void add_copies(LayerRun& run, const std::vector<int>& ranks) {
  for (const StateKind kind : kKinds) {
    StateShare share;
    share.kind = kind;
    for (const int rank : ranks) share.ranks.push_back({rank, 1, 1});
    run.state.push_back(share);
  }
}

Replicas team_on(int rank, int micro_batch, int num_micro_batches, std::int64_t first_sample) {
  Replicas r;
  r.first = rank;
  r.micro_batch = micro_batch;
  r.num_micro_batches = num_micro_batches;
  r.first_sample = first_sample;
  return r;
}

Placement on_ranks(const model::Model& model, const std::vector<Replicas>& teams) {
  Placement placement;
  LayerRun run;
  run.num_layers = model.num_layers();
  std::vector<int> ranks;
  for (const Replicas& team : teams) {
    placement.global_batch += team.samples_per_team();
    ranks.push_back(team.first);
  }
  run.replicas = teams;
  add_copies(run, ranks);
  placement.runs.push_back(run);
  return placement;
}

Prediction checked(const Placement& placement, const model::Model& model,
                   const cluster::Cluster& cluster, const Basis& basis = plain_basis()) {
  const std::vector<Error> errors = plan::check(placement, model, cluster);
  EXPECT_TRUE(errors.empty()) << errors.front().message;
  return predict(placement, model, cluster, basis);
}

double state_of(const Prediction& p) {
  return p.memory.part(MemoryPart::kWeights) + p.memory.part(MemoryPart::kGradients) +
         p.memory.part(MemoryPart::kOptimizer);
}

// --- samples ------------------------------------------------------------------------------------

TEST(Irregular, ReplicasWaitForTheSlowest) {
  const model::Model model = small_model();
  cluster::Cluster mixed;
  mixed.groups = {nodes(1, 1e14), nodes(1, 2e13)};
  const auto alone = [&](std::size_t group, int micro_batch, int count) {
    cluster::Cluster one;
    one.groups = {mixed.groups[group]};
    return checked(on_ranks(model, {team_on(0, micro_batch, count, 0)}), model, one)
        .part(Part::kCompute);
  };
  for (const int slow : {1, 2, 3}) {
    const Prediction p =
        checked(on_ranks(model, {team_on(0, 2, 4, 0), team_on(1, 1, slow, 8)}), model, mixed);
    EXPECT_DOUBLE_EQ(p.part(Part::kCompute), std::max(alone(0, 2, 4), alone(1, 1, slow)));
    EXPECT_GT(p.part(Part::kDataComm), 0);
  }
}

TEST(Irregular, ASmallerLastMicroBatchCountsForItsSize) {
  const model::Model model = small_model();
  const auto compute = [&](int micro_batch, int count, int last) {
    Replicas team = team_on(0, micro_batch, count, 0);
    team.last_micro_batch = last;
    return checked(on_ranks(model, {team}), model, machines(1)).part(Part::kCompute);
  };
  EXPECT_NEAR(compute(4, 3, 1), compute(4, 2, 0) + compute(1, 1, 0), 1e-12);
}

// --- stages -------------------------------------------------------------------------------------

TEST(Irregular, UnevenStagesAreACaseOfTheFormula) {
  const model::Model model = small_model(6);  // embedding, six blocks, head
  Placement placement;
  placement.global_batch = 8;
  const int layers[] = {3, 5};
  for (int stage = 0; stage < 2; ++stage) {
    LayerRun run;
    run.stage = stage;
    run.first_layer = stage * 3;
    run.num_layers = layers[stage];
    run.replicas = {team_on(stage, 1, 8, 0)};
    add_copies(run, {stage});
    placement.runs.push_back(run);
  }
  const Prediction p = checked(placement, model, machines(2));
  // Eight micro-batches of the slower stage, the last, and one of the other.
  const double all =
      checked(on_ranks(model, {team_on(0, 1, 8, 0)}), model, machines(1)).part(Part::kCompute) / 8;
  const double slower = p.part(Part::kCompute) / 8;
  EXPECT_NEAR(p.part(Part::kBubble), all - slower, 1e-12);
  EXPECT_GT(slower, all / 2);
  EXPECT_GT(p.part(Part::kPipelineComm), 0);
}

TEST(Irregular, LanesAreFollowedThroughTheirStages) {
  // Two pipelines of two stages: a quick one with many micro-batches, a slow one with few. The slow
  // one's fill does not add to the quick one's work.
  const model::Model model = small_model(6);
  cluster::Cluster mixed;
  mixed.groups = {nodes(2, 1e14), nodes(2, 1e13)};
  const auto pipeline = [&](const std::vector<std::pair<int, Replicas>>& lanes) {
    Placement placement;
    for (int stage = 0; stage < 2; ++stage) {
      LayerRun run;
      run.stage = stage;
      run.first_layer = stage * 4;
      run.num_layers = 4;
      std::vector<int> ranks;
      placement.global_batch = 0;
      for (const auto& [base, team] : lanes) {
        run.replicas.push_back(team);
        run.replicas.back().first = base + stage;
        ranks.push_back(base + stage);
        placement.global_batch += team.samples_per_team();
      }
      add_copies(run, ranks);
      placement.runs.push_back(run);
    }
    return placement;
  };
  const auto total = [](const Prediction& p) {
    return p.step - p.part(Part::kDataComm) - p.part(Part::kOptimizer);
  };
  const Replicas quick = team_on(0, 1, 16, 0);
  const Replicas slow = team_on(0, 1, 2, 16);
  Replicas slow_alone = slow;
  slow_alone.first_sample = 0;
  cluster::Cluster fast_half, slow_half;
  fast_half.groups = {mixed.groups[0]};
  slow_half.groups = {mixed.groups[1]};
  const double a = total(checked(pipeline({{0, quick}}), model, fast_half));
  const double b = total(checked(pipeline({{0, slow_alone}}), model, slow_half));
  const double both = total(checked(pipeline({{0, quick}, {2, slow}}), model, mixed));
  EXPECT_NEAR(both, std::max(a, b), 1e-9 * both);
}

// --- state --------------------------------------------------------------------------------------

Placement with_shares(const model::Model& model, const std::vector<double>& shares) {
  std::vector<Replicas> teams;
  for (int rank = 0; rank < static_cast<int>(shares.size()); ++rank)
    teams.push_back(team_on(rank, 1, 2, 2 * rank));
  Placement placement = on_ranks(model, teams);
  LayerRun& run = placement.runs.front();
  run.state.clear();
  for (const StateKind kind : kKinds) {
    std::int64_t begin = 0;
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
      StateShare share;
      share.kind = kind;
      share.ranks = {{static_cast<int>(rank), 1, 1}};
      share.begin = begin;
      share.end = rank + 1 == shares.size()
                      ? plan::kStateUnits
                      : begin + std::llround(shares[rank] * static_cast<double>(plan::kStateUnits));
      begin = share.end;
      run.state.push_back(share);
    }
  }
  return placement;
}

TEST(Irregular, TheLargestShareOfTheStateIsTheFullestRank) {
  const model::Model model = small_model();
  const Prediction p = checked(with_shares(model, {0.6, 0.3, 0.1}), model, machines(3));
  EXPECT_NEAR(state_of(p), 0.6 * 16 * model.parameters(), 1);
  const Prediction empty = checked(with_shares(model, {0.5, 0.5, 0.0}), model, machines(3));
  EXPECT_NEAR(state_of(empty), 0.5 * 16 * model.parameters(), 1);
}

TEST(Irregular, UnevenPiecesCostMoreThanEvenOnes) {
  const model::Model model = small_model();
  const double even = checked(with_shares(model, {1.0 / 3, 1.0 / 3, 1.0 / 3}), model, machines(3))
                          .part(Part::kDataComm);
  const double uneven =
      checked(with_shares(model, {0.6, 0.3, 0.1}), model, machines(3)).part(Part::kDataComm);
  EXPECT_GT(uneven, even);
}

TEST(Irregular, GatheringPerPassDoesNotGrowWithMicroBatches) {
  const model::Model model = small_model();
  const auto comm = [&](Gather gather, int num_micro_batches) {
    Placement placement = with_shares(model, {0.6, 0.3, 0.1});
    placement.gather = gather;
    placement.global_batch = 3 * num_micro_batches;
    for (int rank = 0; rank < 3; ++rank)
      placement.runs.front().replicas[rank] =
          team_on(rank, 1, num_micro_batches, rank * num_micro_batches);
    return checked(placement, model, machines(3)).part(Part::kDataComm);
  };
  EXPECT_NEAR(comm(Gather::kPerMicroBatch, 8), 8 * comm(Gather::kPerMicroBatch, 1), 1e-9);
  EXPECT_NEAR(comm(Gather::kPerPass, 8), comm(Gather::kPerPass, 1), 1e-9);
  EXPECT_LT(comm(Gather::kPerStep, 8), comm(Gather::kPerPass, 8));
}

TEST(Irregular, LayersWaitForEachOtherWhereWeightsAreGathered) {
  // One machine computes quickly and reads slowly, the other the other way round: each is the
  // slower one for some layers, and the sum of the slowest exceeds the slowest of the sums.
  const model::Model model = small_model();
  cluster::Cluster mixed;
  mixed.groups = {nodes(1, 1e14), nodes(1, 1e13)};
  mixed.groups[0].node.device.memory_bandwidth = BytesPerSecond{1e11};
  Placement placement = with_shares(model, {0.5, 0.5});
  const Prediction together = checked(placement, model, mixed);
  placement.runs.front().state.clear();
  add_copies(placement.runs.front(), {0, 1});
  const Prediction apart = checked(placement, model, mixed);
  EXPECT_GT(together.part(Part::kCompute), 1.001 * apart.part(Part::kCompute));
}

TEST(Irregular, PeerCopiesTakeMemoryAndNoTime) {
  const model::Model model = small_model();
  Placement placement = with_shares(model, {0.5, 0.5});
  const Prediction before = checked(placement, model, machines(2));
  StateShare copy = placement.runs.front().state.front();  // the first half of the weights
  copy.ranks = {{1, 1, 1}};
  copy.peer_copy = true;
  placement.runs.front().state.push_back(copy);
  const Prediction after = checked(placement, model, machines(2));
  EXPECT_EQ(before.step, after.step);
  EXPECT_NEAR(after.memory.total - before.memory.total, 0.5 * 2 * model.parameters(), 1);
}

// --- other ranks from layer to layer ------------------------------------------------------------

Placement burst(const model::Model& model, const std::vector<int>& widths, int batch) {
  Placement placement;
  placement.global_batch = batch;
  for (int layer = 0; layer < model.num_layers(); ++layer) {
    const int width = widths[static_cast<std::size_t>(layer) % widths.size()];
    LayerRun run;
    run.first_layer = layer;
    run.num_layers = 1;
    Replicas team;
    team.count = width;
    team.micro_batch = batch / width;
    run.replicas = {team};
    std::vector<int> ranks;
    for (int rank = 0; rank < width; ++rank) ranks.push_back(rank);
    add_copies(run, ranks);
    placement.runs.push_back(run);
  }
  return placement;
}

TEST(Irregular, ABurstPlanSumsItsLayersAndWhatMovesBetweenThem) {
  const model::Model model = small_model(2);  // embedding, two blocks, head
  const Prediction narrow = checked(burst(model, {1}, 4), model, machines(4));
  const Prediction wide = checked(burst(model, {4}, 4), model, machines(4));
  EXPECT_EQ(narrow.part(Part::kPipelineComm), 0);  // nothing moves
  EXPECT_EQ(wide.part(Part::kPipelineComm), 0);
  EXPECT_EQ(narrow.part(Part::kDataComm), 0);
  const Prediction both = checked(burst(model, {4, 4, 4, 1}, 4), model, machines(4));
  EXPECT_GT(both.part(Part::kCompute), wide.part(Part::kCompute));
  EXPECT_LT(both.part(Part::kCompute), narrow.part(Part::kCompute));
  // Three of four samples go to rank 0 before the head and their gradients back: bf16 activations
  // of 128 x 256 over 70 % of 10 GB/s, and two start-ups.
  const Parameters p = plain_basis().stack.parameters_for(machines(1).groups.front().node.device);
  EXPECT_NEAR(both.part(Part::kPipelineComm),
              2 * (3 * 128 * 256 * 2 / (p.network_efficiency * 1e10) + p.network_latency), 1e-12);
}

}  // namespace
}  // namespace nereus::cost::general_irregular_test
