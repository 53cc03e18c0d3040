#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "chakra/encode.hpp"
#include "chakra/testing.hpp"
#include "chakra/write.hpp"
#include "cluster/load.hpp"
#include "cost/tables.hpp"
#include "cost/testing.hpp"
#include "plan/expand.hpp"
#include "simulate/step.hpp"

namespace nereus::chakra {
namespace {

using testing::DecodedNode;
using testing::DecodedTrace;

// A random plan that is small enough to look at every node of every rank.
template <class Wanted>
cost::testing::Case small_case(bool may_have_experts, Wanted wanted) {
  while (true) {
    cost::testing::Case c = cost::testing::any_case(may_have_experts);
    const plan::Degrees& d = c.degrees;
    if (d.num_ranks() > 32 || d.global_batch / d.dp / d.micro_batch > 64 || !wanted(d)) continue;
    RC_LOG() << cost::testing::describe(c);
    return c;
  }
}
cost::testing::Case small_case() {
  return small_case(true, [](const plan::Degrees&) { return true; });
}

ChakraStep step_of(const cost::testing::Case& c) {
  return make_step(c.model, c.cluster, c.stack, c.degrees);
}

std::vector<DecodedTrace> all_traces(const ChakraStep& step) {
  std::vector<DecodedTrace> traces;
  for (int rank = 0; rank < step.num_ranks(); ++rank)
    traces.push_back(testing::decode(step.trace(rank)));
  return traces;
}

model::Model small_model() {
  model::TransformerShape shape;
  shape.name = "small";
  shape.layers = 4;
  shape.hidden = 256;
  shape.heads = shape.kv_heads = 8;
  shape.ffn = 1024;
  shape.vocab = 1000;
  shape.seq = 128;
  return model::build_transformer(shape);
}

bool starts_with(const DecodedNode& node, const char* text) {
  return node.name.rfind(text, 0) == 0;
}

TEST(Encode, VarintsAreThoseOfTheDocumentation) {
  std::string bytes;
  append_varint(bytes, 150);
  EXPECT_EQ(bytes, "\x96\x01");  // protobuf.dev, "Encoding"
  Encoder message;
  message.text(2, "testing");
  EXPECT_EQ(message.bytes(), "\x12\x07testing");
  message.clear();
  message.number(3, 0).text(4, "").numbers(6, {3, 270, 86942});
  EXPECT_EQ(message.bytes(), std::string("\x32\x06\x03\x8e\x02\x9e\xa7\x05"));
}

RC_GTEST_PROP(Groups, EveryKindDividesTheRanks, ()) {
  const cost::testing::Case c = small_case();
  const ChakraStep step = step_of(c);
  std::set<int> ids;
  for (int k = 0; k < kNumGroupKinds; ++k) {
    const auto kind = static_cast<GroupKind>(k);
    for (int rank = 0; rank < step.num_ranks(); ++rank) {
      const std::vector<int> ranks = step.groups.members(kind, rank);
      RC_ASSERT(std::is_sorted(ranks.begin(), ranks.end()));
      RC_ASSERT(std::count(ranks.begin(), ranks.end(), rank) == 1);
      for (const int other : ranks) {
        RC_ASSERT(other >= 0 && other < step.num_ranks());
        RC_ASSERT(step.groups.members(kind, other) == ranks);
      }
      const int id = step.groups.id(kind, rank);
      RC_ASSERT((id > 0) == (ranks.size() > 1));
      if (id > 0 && ranks.front() == rank) RC_ASSERT(ids.insert(id).second);
    }
  }
  const auto json = nlohmann::json::parse(step.groups.json());
  RC_ASSERT(json.size() == ids.size());
}

// The ranks among which the expanded plan divides and copies a layer's optimizer state are the
// state and copies groups.
RC_GTEST_PROP(Groups, AgreeWithTheExpandedPlan, ()) {
  const cost::testing::Case c =
      small_case(true, [](const plan::Degrees& d) { return d.offload.optimizer == 0; });
  const ChakraStep step = step_of(c);
  const plan::Placement placement = plan::expand(c.degrees, c.model);
  for (const plan::LayerRun& run : placement.runs)
    for (const plan::StateShare& share : run.state) {
      if (share.kind != plan::StateKind::kOptimizer) continue;
      std::vector<int> ranks;
      for (const plan::RankRange& range : share.ranks)
        for (int i = 0; i < range.count; ++i) ranks.push_back(range.first + i * range.stride);
      const GroupKind inner = share.experts ? GroupKind::kExpertState : GroupKind::kState;
      const GroupKind outer = share.experts ? GroupKind::kExpertCopies : GroupKind::kCopies;
      for (std::size_t j = 0; j < ranks.size(); ++j) {
        const std::vector<int> pieces = step.groups.members(inner, ranks[j]);
        const std::vector<int> copies = step.groups.members(outer, ranks[j]);
        RC_ASSERT(static_cast<int>(pieces.size()) == share.pieces);
        RC_ASSERT(pieces.size() * copies.size() == ranks.size());
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          const bool same = i % pieces.size() == j % pieces.size();
          RC_ASSERT((std::count(copies.begin(), copies.end(), ranks[i]) == 1) == same);
        }
      }
    }
}

RC_GTEST_PROP(Chakra, DependenciesGoBackwardsAndAreThere, ()) {
  const ChakraStep step = step_of(small_case());
  for (const DecodedTrace& trace : all_traces(step)) {
    RC_ASSERT(trace.version == "0.0.4");
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
      RC_ASSERT(trace.nodes[i].id == i + 1);
      for (const std::uint64_t before : trace.nodes[i].after) RC_ASSERT(before >= 1 && before <= i);
    }
  }
}

RC_GTEST_PROP(Chakra, EverySendHasItsReceive, ()) {
  const ChakraStep step = step_of(small_case());
  std::map<std::array<std::uint64_t, 3>, std::uint64_t> sent;
  const std::vector<DecodedTrace> traces = all_traces(step);
  std::size_t receives = 0;
  for (std::size_t rank = 0; rank < traces.size(); ++rank)
    for (const DecodedNode& node : traces[rank].nodes) {
      if (node.type != 5 && node.type != 6) continue;
      RC_ASSERT(node.numbers.at(node.type == 5 ? "comm_src" : "comm_dst") == rank);
      receives += node.type == 6 ? 1 : 0;
      if (node.type == 5)
        RC_ASSERT(sent.emplace(std::array{node.numbers.at("comm_src"), node.numbers.at("comm_dst"),
                                          node.numbers.at("comm_tag")},
                               node.numbers.at("comm_size"))
                      .second);
    }
  RC_ASSERT(receives == sent.size());
  for (const DecodedTrace& trace : traces)
    for (const DecodedNode& node : trace.nodes) {
      if (node.type != 6) continue;
      const auto match = sent.find(std::array{
          node.numbers.at("comm_src"), node.numbers.at("comm_dst"), node.numbers.at("comm_tag")});
      RC_ASSERT(match != sent.end());
      RC_ASSERT(match->second == node.numbers.at("comm_size"));
    }
}

// All ranks together run to the end: what a group does together starts on all its ranks in the
// order of node numbers, a receive ends after its send.
RC_GTEST_PROP(Chakra, TheWholeJobEnds, ()) {
  const ChakraStep step = step_of(small_case());
  const std::vector<DecodedTrace> traces = all_traces(step);
  // Of each group and rank: its collectives in order, and how many are done.
  std::map<std::string, std::map<int, std::vector<const DecodedNode*>>> groups;
  for (std::size_t rank = 0; rank < traces.size(); ++rank)
    for (const DecodedNode& node : traces[rank].nodes)
      if (node.type == 7) groups[node.texts.at("pg_name")][static_cast<int>(rank)].push_back(&node);
  const auto json = nlohmann::json::parse(step.groups.json());
  const plan::Degrees& d = step.work.degrees;
  const int stage_ranks = d.tp * d.cp * d.dp;
  for (const auto& [name, by_rank] : groups) {
    RC_ASSERT(name != "0");
    std::vector<int> ranks;
    for (const auto& entry : by_rank) ranks.push_back(entry.first);
    RC_ASSERT(json.at(name).get<std::vector<int>>() == ranks);
    const auto& first = by_rank.begin()->second;
    for (const auto& [rank, nodes] : by_rank) {
      RC_ASSERT(nodes.size() == first.size());
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        RC_ASSERT(nodes[i]->numbers.at("comm_type") == first[i]->numbers.at("comm_type"));
        RC_ASSERT(nodes[i]->numbers.at("comm_size") == first[i]->numbers.at("comm_size"));
        const bool tied = rank / stage_ranks == step.work.tied_ranks.second &&
                          name == std::to_string(step.groups.id(GroupKind::kTied, rank));
        RC_ASSERT(tied || nodes[i]->name == first[i]->name);
      }
    }
  }
  std::vector<std::vector<bool>> done;
  std::size_t left = 0;
  for (const DecodedTrace& trace : traces) {
    done.emplace_back(trace.nodes.size(), false);
    left += trace.nodes.size();
  }
  std::map<std::string, std::size_t> next;
  std::set<std::array<std::uint64_t, 3>> arrived;
  const auto ready = [&](int rank, const DecodedNode& node) {
    const auto& own = done[static_cast<std::size_t>(rank)];
    return std::all_of(node.after.begin(), node.after.end(),
                       [&](std::uint64_t id) { return own[id - 1]; });
  };
  const auto finish = [&](int rank, const DecodedNode& node) {
    done[static_cast<std::size_t>(rank)][node.id - 1] = true;
    --left;
  };
  for (bool moved = true; moved && left > 0;) {
    moved = false;
    for (std::size_t rank = 0; rank < traces.size(); ++rank)
      for (const DecodedNode& node : traces[rank].nodes) {
        if (done[rank][node.id - 1] || node.type == 7 || !ready(static_cast<int>(rank), node))
          continue;
        const auto key = [&] {
          return std::array{node.numbers.at("comm_src"), node.numbers.at("comm_dst"),
                            node.numbers.at("comm_tag")};
        };
        if (node.type == 6 && !arrived.contains(key())) continue;
        if (node.type == 5) arrived.insert(key());
        finish(static_cast<int>(rank), node);
        moved = true;
      }
    for (const auto& [name, by_rank] : groups) {
      std::size_t& at = next[name];
      while (at < by_rank.begin()->second.size() &&
             std::all_of(by_rank.begin(), by_rank.end(),
                         [&](const auto& own) { return ready(own.first, *own.second[at]); })) {
        for (const auto& [rank, nodes] : by_rank) finish(rank, *nodes[at]);
        ++at;
        moved = true;
      }
    }
  }
  RC_ASSERT(left == 0u);
}

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
      cost::Tables(c.model, c.cluster, c.stack, 1).samples_per_micro_batch(c.degrees) *
      step.work.size.micro_batches * c.degrees.dp;
  const double expected = c.model.training_flops() * samples;
  RC_ASSERT(std::abs(sum - expected) <= count + 1e-9 * expected);
}

// A rank computes for as long as the simulator keeps it busy, less the collectives that the
// simulator has in its passes.
RC_GTEST_PROP(Chakra, ComputeTimesSumToTheSimulators, ()) {
  const cost::testing::Case c = small_case();
  const ChakraStep step = step_of(c);
  const simulate::SimulatedStep played =
      simulate::simulate_step(c.model, c.cluster, c.stack, c.degrees);
  const auto detail = cost::Predictor(c.model, c.cluster, c.stack, 1).detail(c.degrees);
  const int stage_ranks = c.degrees.tp * c.degrees.cp * c.degrees.dp;
  for (int p = 0; p < c.degrees.pp; ++p) {
    double expected = static_cast<double>(played.played.ranks[static_cast<std::size_t>(p)].busy);
    for (const simulate::PipelineOp& op : played.order[static_cast<std::size_t>(p)])
      if (op.pass == simulate::Pass::kForward)
        expected -= 1e12 * detail.stages[static_cast<std::size_t>(op.stage)].communication;
    std::uint64_t sum = 0;
    for (const DecodedNode& node : testing::decode(step.trace(p * stage_ranks)).nodes)
      if (node.type == 4 && !starts_with(node, "optimizer")) sum += node.microseconds;
    const double passes = static_cast<double>(played.order[static_cast<std::size_t>(p)].size());
    RC_ASSERT(std::abs(static_cast<double>(sum) - expected * 1e-6) <=
              1 + 1e-6 * passes + 1e-9 * expected * 1e-6);
  }
}

// Played by its dependencies alone, with the simulator's transfers, a trace ends when the simulator
// does.
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
  const simulate::SimulatedStep played =
      simulate::simulate_step(c.model, c.cluster, c.stack, c.degrees);
  const auto detail = cost::Predictor(c.model, c.cluster, c.stack, 1).detail(c.degrees);
  const double shown = 1 - c.stack.parameters_for(device).pipeline_overlap;
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
        if (node.type == 5) {
          // A tag is (sender's stage, micro-batch, direction); gradients of stage s are as large as
          // the output of s - 1.
          const std::uint64_t tag = node.numbers.at("comm_tag");
          const auto batches = static_cast<std::uint64_t>(played.size.micro_batches);
          const std::uint64_t stage = tag / 2 / batches - tag % 2;
          arrivals[tag] = start + 1e6 * shown * detail.stages[stage].send;
        }
        if (node.type == 4 && !starts_with(node, "optimizer")) end = std::max(end, own);
      }
  }
  const double expected = static_cast<double>(played.played.end) * 1e-6;
  const double hops = played.size.num_stages() * 2 + 2.0 * played.size.micro_batches;
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
  const cost::Tables tables(c.model, c.cluster, c.stack, 1);
  const cost::Wire wire = tables.machine().wire(c.degrees.tp, 1);
  const std::string group = std::to_string(step.groups.id(GroupKind::kTensor, 0));
  double seconds = 0;
  for (const DecodedNode& node : testing::decode(step.trace(0)).nodes) {
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
  const double predicted = cost::Predictor(c.model, c.cluster, c.stack, 1)
                               .predict(c.degrees)
                               .part(cost::Part::kTensorComm);
  RC_ASSERT(std::abs(seconds - predicted) <= 1e-3 * predicted);  // bytes are whole
}

// Every gradient of the model is reduced once; a tied one also between the stages that hold it.
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
    for (const DecodedNode& node : testing::decode(step.trace(rank)).nodes) {
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
  const double expected = (c.model.parameters() + again) * c.stack.options.reduce_bytes;
  RC_ASSERT(std::abs(reduced - expected) <= 1e-9 * expected + c.model.num_layers());
  RC_ASSERT(std::abs(tied - 2 * again * c.stack.options.reduce_bytes) <= 2);
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
  const ChakraStep step = make_step(model, cluster, cost::builtin_stacks().resolve("megatron"), d);
  int blocks = 0;
  int gradients = 0;
  for (const DecodedNode& node : testing::decode(step.trace(5)).nodes) {
    if (node.type != 7) continue;
    EXPECT_EQ(node.numbers.at("comm_type"), 0u);
    if (node.texts.at("pg_name") == std::to_string(step.groups.id(GroupKind::kTensor, 5))) {
      blocks += node.numbers.at("comm_size") == 2 * 128 * 256 * 2u ? 1 : 0;
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

// protoc, which knows nothing of either side, reads the same messages.
TEST(Chakra, ProtocReadsTheSame) {
  const model::Model model = small_model();
  plan::Degrees d;
  d.tp = 2;
  d.pp = 2;
  d.dp = 2;
  d.global_batch = 8;
  d.zero = 1;
  d.sequence_parallel = true;
  const ChakraStep step = make_step(model, cluster::load_cluster("1xdgx-h100"),
                                    cost::builtin_stacks().resolve("megatron"), d);
  const std::string bytes = step.trace(3);
  const DecodedTrace trace = testing::decode(bytes);
  // A stream of messages is one message with field 1 repeated, once each has that field's tag.
  std::string wrapped;
  for (testing::WireReader stream(bytes); !stream.done();) {
    Encoder one;
    wrapped += one.set_text(1, stream.delimited()).bytes();
  }
  const auto folder = std::filesystem::temp_directory_path() / "nereus_chakra_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "trace", std::ios::binary) << wrapped;
  FILE* pipe =
      popen(("protoc --decode_raw < " + (folder / "trace").string() + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::vector<std::string> ids;
  std::vector<std::string> durations;
  std::size_t messages = 0;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr) {
    const std::string text(line.data());
    if (text.rfind("1 {", 0) == 0) ++messages;
    if (text.rfind("  1: ", 0) == 0 && text.find('"') == std::string::npos)
      ids.push_back(text.substr(5, text.size() - 6));
    if (text.rfind("  7: ", 0) == 0) durations.push_back(text.substr(5, text.size() - 6));
  }
  EXPECT_EQ(pclose(pipe), 0);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(messages, trace.nodes.size() + 1);
  ASSERT_EQ(ids.size(), trace.nodes.size());
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(ids[i], std::to_string(trace.nodes[i].id));
    if (trace.nodes[i].microseconds > 0)
      expected.push_back(std::to_string(trace.nodes[i].microseconds));
  }
  EXPECT_EQ(durations, expected);
}

TEST(Chakra, TheSizeIsKnownBeforehand) {
  plan::Degrees d;
  d.tp = d.pp = 2;
  d.dp = 4;
  d.global_batch = 16;
  const ChakraStep step = make_step(small_model(), cluster::load_cluster("2xdgx-h100"),
                                    cost::builtin_stacks().resolve("megatron"), d);
  std::vector<int> ranks(16);
  std::iota(ranks.begin(), ranks.end(), 0);
  double bytes = 0;
  std::int64_t nodes = 0;
  for (const int rank : ranks) {
    bytes += static_cast<double>(step.trace(rank).size());
    nodes += static_cast<std::int64_t>(testing::decode(step.trace(rank)).nodes.size());
  }
  EXPECT_NEAR(static_cast<double>(step.num_bytes(ranks)) / bytes, 1, 0.01);
  EXPECT_EQ(step.num_nodes(ranks), nodes);
}

}  // namespace
}  // namespace nereus::chakra
