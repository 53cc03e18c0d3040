#include "chakra/rank_graph.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "chakra/test_steps.hpp"

namespace nereus::chakra::rank_graph_test {
namespace {

using namespace testing;

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
    const auto& own = done[rank];
    return std::all_of(node.after.begin(), node.after.end(),
                       [&](std::uint64_t id) { return own[id - 1]; });
  };
  const auto finish = [&](int rank, const DecodedNode& node) {
    done[rank][node.id - 1] = true;
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

}  // namespace
}  // namespace nereus::chakra::rank_graph_test
