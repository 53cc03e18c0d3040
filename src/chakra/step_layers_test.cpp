#include "chakra/step_layers.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "chakra/test_steps.hpp"
#include "predict/predictor_tables.hpp"
#include "simulate/step.hpp"

namespace nereus::chakra::step_layers_test {
namespace {

using namespace testing;

RC_GTEST_PROP(Chakra, FlopsSumToTheModels, ()) {
  const cost::testing::Case c = small_case();
  const ChakraStep step = step_of(c);
  double sum = 0;
  double count = 0;
  for (const DecodedTrace& trace : all_traces(step))
    for (const DecodedNode& node : trace.nodes) {
      if (node.type != 4 || starts_with(node, "recompute")) continue;
      sum += static_cast<double>(node.numbers.at("num_ops"));
      ++count;
    }
  const double samples =
      cost::Tables(c.model, c.cluster, c.basis, 1).samples_per_micro_batch(c.degrees) *
      step.work.size.micro_batches * c.degrees.dp;
  const double expected = c.model.training_flops() * samples;
  RC_ASSERT(std::abs(sum - expected) <= count + 1e-9 * expected);
}

// A rank computes for as long as the simulator keeps it busy, less the collectives that the
// simulator has in its passes.
RC_GTEST_PROP(Chakra, ComputeTimesSumToTheSimulators, ()) {
  const cost::testing::Case c = small_case();
  const ChakraStep step = step_of(c);
  const cost::StepWork work = cost::Predictor(c.model, c.cluster, c.basis, 1).work(c.degrees);
  const simulate::SimulatedStep played = simulate::simulate_step(work, {});
  const simulate::SimulatedTeam& team = played.teams.front();
  const simulate::Order& order = played.order_of(team);
  const cost::LaneWork& lane = work.lanes.front();
  const int stage_ranks = c.degrees.tp * c.degrees.cp * c.degrees.dp;
  for (int p = 0; p < c.degrees.pp; ++p) {
    const auto rank = static_cast<std::size_t>(p);
    double expected = static_cast<double>(team.played.ranks[rank].busy) * 1e-6;
    for (const simulate::PipelineOp& op : order[rank])
      if (op.pass == simulate::Pass::kForward) {
        const auto v = static_cast<std::size_t>(op.stage);
        expected -= 1e6 * lane.passes[v].total() * lane.communication[v];
      }
    // ZeRO-2's reductions of all micro-batches but the last are in the simulator's passes, too.
    if (p == 0) expected -= 1e6 * lane.reduced_each * (lane.num_micro_batches - 1);
    std::uint64_t sum = 0;
    for (const DecodedNode& node : decode(step.trace(p * stage_ranks)).nodes)
      if (node.type == 4 && !starts_with(node, "optimizer")) sum += node.microseconds;
    const double passes = static_cast<double>(order[rank].size());
    RC_ASSERT(std::abs(static_cast<double>(sum) - expected) <=
              1 + 1e-6 * passes + 1e-9 * std::abs(expected));
  }
}

// Played by its dependencies alone a trace ends when the simulator's pipeline does; messages take
// no time in either.
RC_GTEST_PROP(Chakra, PlayedTracesTakeAsLongAsTheSimulator, ()) {
  cost::testing::Case c = cost::testing::any_case(false);
  plan::Degrees& d = c.degrees;
  RC_PRE(d.pp > 1 && d.schedule != plan::Schedule::kDualPipe);
  // A pipeline alone.
  d.tp = d.cp = 1;
  d.sequence_parallel = false;
  d.zero = d.zero_group = 0;
  d.global_batch /= d.dp;
  d.dp = 1;
  d.offload = {};
  c.cluster = cost::testing::any_cluster(d.num_ranks());
  RC_PRE(plan::violated_rules(d, plan::degree_limits(c.model, c.cluster)) == 0);
  RC_PRE(d.num_micro_batches() <= 64);
  // Slow devices, so that whole microseconds are fine enough.
  cluster::Device& device = c.cluster.groups.front().node.device;
  for (FlopsPerSecond& peak : device.peak) peak.value *= 1e-4;
  device.memory_bandwidth.value *= 1e-4;
  const std::vector<DecodedTrace> traces = all_traces(step_of(c));
  const cost::StepWork work = cost::Predictor(c.model, c.cluster, c.basis, 1).work(d);
  const simulate::SimulatedStep simulated = simulate::simulate_step(work, {});
  const simulate::SimulatedLaneOrder& lane = simulated.lanes.front();
  simulate::PassTimes times = lane.times;
  times.blocking = false;
  for (simulate::StageTimes& stage : times.stages) {
    stage.send = stage.send_back = 0;
    stage.send_alone = stage.send_back_alone = simulate::kLikeOthers;
  }
  const simulate::PlayedPipeline played = simulate::play(lane.order, lane.size, times);
  constexpr double kNotYet = -1;
  std::vector<std::vector<double>> ends;
  for (const DecodedTrace& trace : traces) ends.emplace_back(trace.nodes.size(), kNotYet);
  std::map<std::uint64_t, double> arrivals;  // by tag, which is used once here
  double end = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < traces.size(); ++rank)
      for (const DecodedNode& node : traces[rank].nodes) {
        double& own = ends[rank][node.id - 1];
        if (own != kNotYet) continue;
        double start = 0;
        bool ready = true;
        for (const std::uint64_t before : node.after) {
          ready &= ends[rank][before - 1] != kNotYet;
          start = std::max(start, ends[rank][before - 1]);
        }
        if (node.type == 6) {
          const auto arrival = arrivals.find(node.numbers.at("comm_tag"));
          ready &= arrival != arrivals.end();
          if (ready) start = std::max(start, arrival->second);
        }
        if (!ready) continue;
        own = start + static_cast<double>(node.microseconds);
        moved = true;
        if (node.type == 5) arrivals[node.numbers.at("comm_tag")] = start;
        if (node.type == 4 && !starts_with(node, "optimizer")) end = std::max(end, own);
      }
  }
  const double expected = static_cast<double>(played.end) * 1e-6;
  const double hops = lane.size.num_stages() * 2 + 2.0 * lane.size.micro_batches;
  RC_ASSERT(std::abs(end - expected) <= 2 * hops + 1e-9 * expected);
  RC_CLASSIFY(expected > 1000 * hops, "rounding is below 1 in 500");
}

// The tensor collectives of a trace, each priced by the cost model, take as long as the prediction
// says they do.
RC_GTEST_PROP(Chakra, TensorCollectivesCostWhatIsPredicted, ()) {
  cost::testing::Case c =
      small_case(true, [](const plan::Degrees& d) { return d.pp == 1 && d.tp > 1; });
  c.degrees.tensor_overlap = false;
  const ChakraStep step = step_of(c);
  const cost::Tables tables(c.model, c.cluster, c.basis, 1);
  const cost::Wire wire = tables.machine().wire(c.degrees.tp, 1);
  const std::string group = std::to_string(step.groups.id(GroupKind::kTensor, 0));
  double seconds = 0;
  for (const DecodedNode& node : decode(step.trace(0)).nodes) {
    if (node.type != 7 || node.texts.at("pg_name") != group) continue;
    const auto bytes = static_cast<double>(node.numbers.at("comm_size"));
    switch (node.numbers.at("comm_type")) {
      case 0:
        seconds += cost::all_reduce_seconds(wire.fabric, wire.group, bytes);
        break;
      case 2:
        seconds += cost::all_gather_seconds(wire.fabric, wire.group, bytes * c.degrees.tp);
        break;
      default:
        seconds += cost::reduce_scatter_seconds(wire.fabric, wire.group, bytes);
    }
  }
  const double predicted = cost::Predictor(c.model, c.cluster, c.basis, 1)
                               .predict(c.degrees)
                               .part(cost::Part::kTensorComm);
  RC_ASSERT(std::abs(seconds - predicted) <= 1e-3 * predicted);  // bytes are whole
}

// Every gradient of the model is reduced once (by ZeRO-2, in every micro-batch); a tied one also
// between the stages that hold it.
RC_GTEST_PROP(Chakra, EveryGradientIsReducedOnce, ()) {
  const cost::testing::Case c = small_case(false, [](const plan::Degrees& d) {
    return d.tp == 1 && d.dp * d.cp > 1 && (d.pp > 1 || d.zero < 3) &&
           (d.pp == 1 || d.schedule != plan::Schedule::kDualPipe);  // which has all twice
  });
  const plan::Degrees& d = c.degrees;
  const ChakraStep step = step_of(c);
  double reduced = 0;
  double tied = 0;
  for (int p = 0; p < d.pp; ++p) {
    const int rank = p * d.cp * d.dp;
    const std::string pieces = std::to_string(step.groups.id(GroupKind::kState, rank));
    const std::string copies = std::to_string(step.groups.id(GroupKind::kCopies, rank));
    const std::string shared = std::to_string(step.groups.id(GroupKind::kTied, rank));
    for (const DecodedNode& node : decode(step.trace(rank)).nodes) {
      if (node.type != 7) continue;
      const auto bytes = static_cast<double>(node.numbers.at("comm_size"));
      const std::string& group = node.texts.at("pg_name");
      if (node.numbers.at("comm_type") == (step.work.pieces > 1 ? 7u : 0u) &&
          group == (step.work.pieces > 1 ? pieces : copies))
        reduced += bytes;
      if (shared != "0" && group == shared) tied += bytes;
    }
  }
  double again = 0;
  if (step.work.tied_bytes > 0)
    for (const model::TiedWeights& pair : c.model.tied) again += pair.parameters;
  const bool each = d.zero == 2 && d.pp == 1 && step.work.pieces > 1 &&
                    c.basis.stack.options.zero2 != cost::Zero2Rule::kReduceOnce;
  const double expected = (c.model.parameters() + again) * c.basis.stack.options.reduce_bytes *
                          (each ? d.num_micro_batches() : 1);
  RC_ASSERT(std::abs(reduced - expected) <= 1e-9 * expected + c.model.num_layers());
  RC_ASSERT(std::abs(tied - 2 * again * c.basis.stack.options.reduce_bytes) <= 2);
}

// Published: Megatron-LM's tensor parallelism all-reduces twice forward and twice backward in every
// block (Shoeybi 2019), each of batch x sequence x hidden elements.
TEST(Chakra, TensorCollectivesAreMegatrons) {
  const model::Model model = small_model();
  const cluster::Cluster cluster = cluster::load_cluster("1xdgx-h100");
  plan::Degrees d;
  d.tp = 4;
  d.dp = 2;
  d.micro_batch = 2;
  d.global_batch = 12;
  const ChakraStep step =
      make_step(model, cluster, cost::Basis(cost::builtin_stacks().resolve("megatron")), d);
  int blocks = 0;
  int gradients = 0;
  for (const DecodedNode& node : decode(step.trace(5)).nodes) {
    if (node.type != 7) continue;
    EXPECT_EQ(node.numbers.at("comm_type"), 0u);
    if (node.texts.at("pg_name") == std::to_string(step.groups.id(GroupKind::kTensor, 5))) {
      blocks += node.numbers.at("comm_size") == std::uint64_t{2} * 128 * 256 * 2 ? 1 : 0;
    } else {
      EXPECT_EQ(node.texts.at("pg_name"), std::to_string(step.groups.id(GroupKind::kCopies, 5)));
      ++gradients;
    }
  }
  const int micro_batches = 3;
  EXPECT_GE(blocks, micro_batches * 4 * 4);  // and those of embedding and head
  EXPECT_LE(blocks, micro_batches * (4 * 4 + 4));
  EXPECT_EQ(gradients, model.num_layers());
}

// Two vectors of eight columns in 16 bit for four samples on each of two ranks; two copies.
TEST(Work, TablesExchangeIndicesVectorsAndCopies) {
  model::DlrmShape shape;
  shape.name = "tables";
  shape.rows = {1'000'000, 1'000'000};
  shape.lookups = {3};
  shape.dim = 8;
  shape.bottom = {8};
  shape.top = {1};
  const model::Model model = model::build_dlrm(shape);
  const cluster::Cluster cluster = cluster::load_cluster("1xdgx-a100-80", {});
  plan::Degrees d;
  d.dp = 8;
  d.ep = 2;
  d.micro_batch = 4;
  d.global_batch = 32;
  const auto tables_of = [&](plan::TableSplit split) {
    d.table_split = split;
    const StepWork work =
        make_work(model, cluster, cost::Basis(cost::builtin_stacks().resolve("recommender")), d);
    return work.stages[0].layers[model.table_layer()];
  };
  const auto expect = [](const Collectives& list, CommType type, std::int64_t bytes) {
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].type, type);
    EXPECT_EQ(list[0].group, GroupKind::kExperts);
    EXPECT_EQ(list[0].bytes, bytes);
  };
  const LayerWork whole = tables_of(plan::TableSplit::kTable);
  expect(whole.before_forward, CommType::kAllToAll, std::int64_t{4} * 2 * 3 * 8);
  expect(whole.after_forward, CommType::kAllToAll, std::int64_t{2} * 4 * 8 * 2);
  expect(whole.before_backward, CommType::kAllToAll, std::int64_t{2} * 4 * 8 * 2);
  const LayerWork rows = tables_of(plan::TableSplit::kRow);
  expect(rows.before_forward, CommType::kAllToAll, std::int64_t{4} * 2 * 3 * 8);
  expect(rows.after_forward, CommType::kReduceScatter, std::int64_t{2} * 4 * 2 * 8 * 2);
  expect(rows.before_backward, CommType::kAllGather, std::int64_t{4} * 2 * 8 * 2);
  const LayerWork columns = tables_of(plan::TableSplit::kColumn);
  expect(columns.before_forward, CommType::kAllGather, std::int64_t{4} * 2 * 3 * 8);
  expect(columns.after_forward, CommType::kAllToAll, std::int64_t{2} * 4 * 2 * 4 * 2);
  // Eight samples of a group look 24 rows of one table up, hardly any twice: an index and 32 bytes.
  ASSERT_EQ(whole.reduce.size(), 1U);
  EXPECT_EQ(whole.reduce[0].group, GroupKind::kExpertCopies);
  EXPECT_EQ(whole.reduce[0].type, CommType::kAllGather);
  EXPECT_EQ(whole.reduce[0].bytes, 24 * (8 + 32));
}

}  // namespace
}  // namespace nereus::chakra::step_layers_test
