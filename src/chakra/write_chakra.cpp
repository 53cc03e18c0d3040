#include "chakra/write_chakra.hpp"

#include <fmt/format.h>

#include <map>

#include "chakra/encode.hpp"

namespace nereus::chakra {

namespace {

constexpr const char* kSchemaVersion = "0.0.4";

const char* name_of(Action action) {
  switch (action) {
    case Action::kForward:
      return "forward";
    case Action::kBackward:
      return "backward";
    case Action::kInput:
      return "input gradient";
    case Action::kWeight:
      return "weight gradient";
    case Action::kRecompute:
      return "recompute";
    case Action::kOptimizer:
      return "optimizer";
    case Action::kSend:
      return "send";
    case Action::kReceive:
      return "receive";
    case Action::kCollective:
      break;
  }
  return "";
}

const char* name_of(CommType type) {
  switch (type) {
    case CommType::kAllReduce:
      return "all-reduce";
    case CommType::kAllGather:
      return "all-gather";
    case CommType::kAllToAll:
      return "all-to-all";
    case CommType::kReduceScatter:
      return "reduce-scatter";
  }
  return "";
}

// Writes the nodes of one rank; its encoders are kept, so that a node allocates nothing new.
class NodeWriter {
 public:
  NodeWriter(const ChakraStep& step, int rank) : step_(step), rank_(rank) {}

  void write(std::string& out, std::uint64_t number, const GraphNode& node) {
    node_.clear();
    node_.number(field::kId, number);
    name_.clear();
    name_ += node.type == NodeType::kCollective ? name_of(node.comm) : name_of(node.action);
    if (node.layer >= 0) fmt::format_to(std::back_inserter(name_), " layer {}", node.layer);
    if (node.micro_batch >= 0)
      fmt::format_to(std::back_inserter(name_), " mb {}", node.micro_batch);
    node_.text(field::kName, name_);
    node_.number(field::kType, static_cast<std::uint64_t>(node.type));
    node_.numbers(field::kDataDependencies, node.after);
    node_.number(field::kDuration, node.microseconds);
    attribute("is_cpu_op", field::kBool, 0);
    switch (node.type) {
      case NodeType::kCompute:
        attribute("num_ops", field::kInt64, static_cast<std::uint64_t>(node.flops));
        attribute("tensor_size", field::kUint64, static_cast<std::uint64_t>(node.bytes));
        break;
      case NodeType::kCollective:
        attribute("comm_type", field::kInt64, static_cast<std::uint64_t>(node.comm));
        attribute("comm_size", field::kInt64, static_cast<std::uint64_t>(node.bytes));
        text("pg_name", fmt::format("{}", step_.groups.id(node.group, rank_)));
        break;
      case NodeType::kSend:
      case NodeType::kReceive: {
        const int stage = step_.work.degrees.tp * step_.work.degrees.cp * step_.work.degrees.dp;
        const int peer = node.peer * stage + rank_ % stage;
        const bool sends = node.type == NodeType::kSend;
        attribute("comm_size", field::kInt64, static_cast<std::uint64_t>(node.bytes));
        attribute("comm_src", field::kInt32, static_cast<std::uint64_t>(sends ? rank_ : peer));
        attribute("comm_dst", field::kInt32, static_cast<std::uint64_t>(sends ? peer : rank_));
        attribute("comm_tag", field::kInt32, static_cast<std::uint64_t>(node.tag));
        break;
      }
    }
    append_delimited(out, node_);
  }

 private:
  void attribute(std::string_view name, int field, std::uint64_t value) {
    attribute_.clear();
    attribute_.text(field::kAttributeName, name).set_number(field, value);
    node_.message(field::kAttribute, attribute_);
  }
  void text(std::string_view name, std::string_view value) {
    attribute_.clear();
    attribute_.text(field::kAttributeName, name).set_text(field::kString, value);
    node_.message(field::kAttribute, attribute_);
  }

  const ChakraStep& step_;
  int rank_;
  Encoder node_, attribute_;
  std::string name_;
};

}  // namespace

const RankGraph& ChakraStep::graph_of(int rank) const {
  const plan::Degrees& d = work.degrees;
  return graphs[rank / (d.tp * d.cp * d.dp)];
}

std::string ChakraStep::trace(int rank) const {
  std::string out;
  Encoder metadata;
  metadata.text(field::kVersion, kSchemaVersion);
  const auto attribute = [&](std::string_view name, const auto& set) {
    Encoder value;
    set(value.text(field::kAttributeName, name));
    metadata.message(field::kMetadataAttribute, value);
  };
  attribute("model", [&](Encoder& e) { e.set_text(field::kString, model_name); });
  attribute("rank",
            [&](Encoder& e) { e.set_number(field::kInt64, static_cast<std::uint64_t>(rank)); });
  attribute("world_size", [&](Encoder& e) {
    e.set_number(field::kInt64, static_cast<std::uint64_t>(num_ranks()));
  });
  append_delimited(out, metadata);
  NodeWriter writer(*this, rank);
  std::uint64_t number = 0;
  for (const GraphNode& node : graph_of(rank).nodes) writer.write(out, ++number, node);
  return out;
}

std::int64_t ChakraStep::num_bytes(const std::vector<int>& ranks) const {
  // One rank of each stage represents all of its ranks.
  std::map<int, std::int64_t> known;
  std::int64_t sum = 0;
  for (const int rank : ranks) {
    const auto [entry, is_new] = known.try_emplace(graph_of(rank).pipeline_rank, 0);
    if (is_new) entry->second = static_cast<std::int64_t>(trace(rank).size());
    sum += entry->second;
  }
  return sum;
}

std::int64_t ChakraStep::num_nodes(const std::vector<int>& ranks) const {
  std::int64_t sum = 0;
  for (const int rank : ranks) sum += static_cast<std::int64_t>(graph_of(rank).nodes.size());
  return sum;
}

ChakraStep make_step(const model::Model& model, const cluster::Cluster& cluster,
                     const cost::Basis& basis, const plan::Degrees& degrees) {
  StepWork work = make_work(model, cluster, basis, degrees);
  Groups groups(degrees, work.pieces, work.expert_pieces, work.tied_ranks);
  ChakraStep step{model.name, std::move(work), std::move(groups), {}};
  for (int p = 0; p < degrees.pp; ++p) step.graphs.push_back(make_graph(step.work, p));
  return step;
}

}  // namespace nereus::chakra
