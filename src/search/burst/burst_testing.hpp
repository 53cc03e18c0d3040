// Random burst problems for tests.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.hpp"
#include "search/burst/burst_costs.hpp"
#include "search/burst/problem.hpp"

namespace nereus::burst {

inline std::vector<BlockCosts> some_blocks(std::uint64_t seed, int n) {
  Random random(seed);
  std::vector<BlockCosts> out;
  for (int i = 0; i < n; ++i) {
    const double sample = 1e-4 * (1 + random.uniform()), fixed = 1e-3 * random.uniform();
    BlockCosts own;
    own.name = "b" + std::to_string(i);
    own.seconds = [=](int samples) { return fixed + sample * samples; };
    own.backward = [=](int samples) { return (fixed + sample * samples) * 2 / 3; };
    own.gradient_bytes = 4e8 * random.uniform();
    out.push_back(own);
  }
  return out;
}

inline std::vector<Edge> chain_of(int n) {
  std::vector<Edge> out;
  for (int i = 1; i < n; ++i) out.push_back({i - 1, i, 1e6});
  return out;
}

// A random graph that knows how it was built, so that plans can be priced without the code under
// test: a chain of blocks, with an edge or branches between each two.
struct Tree {
  struct Part;
  struct Between {
    double edge = -1;  // bytes of an edge from block to block; below 0: no edge
    std::vector<Part> branches;
  };
  struct Part {
    double in = 0, out = 0;  // bytes, if it is a branch
    std::vector<int> blocks;
    std::vector<Between> between;
  };
  Part trunk;
};

class RandomGraph {
 public:
  // `alike`: only two kinds of blocks and one kind of edges, so that many parts are equal.
  RandomGraph(std::uint64_t seed, int most_blocks, bool branches, bool alike = false,
              std::size_t most_counts = 4)
      : random_(seed), alike_(alike) {
    const int scale = most_counts > 4 ? 16 : 1;
    const int batch = scale * (4 + static_cast<int>(random_.below(13)));
    problem.num_ranks = scale * (2 + static_cast<int>(random_.below(9)));
    std::vector<int> counts = candidate_counts(batch, problem.num_ranks);
    while (counts.size() > most_counts)
      counts.erase(counts.begin() + 1 + random_.below(counts.size() - 2));
    problem.counts = counts;
    problem.trunk_ranks =
        branches ? 1 + static_cast<int>(random_.below(problem.num_ranks)) : problem.num_ranks;
    const std::size_t k = counts.size();
    for (std::size_t i = 0; i < k * k; ++i) {
      problem.near.push_back(i % k == i / k ? MoveCost{} : MoveCost{any(), any()});
      problem.away.push_back({any() + 0.5, any()});
    }
    left_ = most_blocks;
    tree.trunk = part(branches ? 2 : 0, 2 + static_cast<int>(random_.below(3)));
    if (random_.below(3) == 0) {
      double most = 0;
      for (const Block& b : problem.blocks) most += b.memory[0];
      problem.memory_limit = most * (0.5 + 0.5 * random_.uniform());
    }
    std::sort(problem.edges.begin(), problem.edges.end(), [](const Edge& a, const Edge& b) {
      return std::tie(a.from, a.to) < std::tie(b.from, b.to);
    });
  }

  Problem problem;
  Tree tree;

 private:
  double any() { return (1 + static_cast<double>(random_.below(32))) / 16; }
  int block() {
    Block own;
    own.name = "b" + std::to_string(problem.blocks.size());
    --left_;
    const std::size_t kind = alike_ ? random_.below(2) : 2;
    if (kind < problem.blocks.size() && kind < 2) {
      own.seconds = problem.blocks[kind].seconds;
      own.memory = problem.blocks[kind].memory;
      problem.blocks.push_back(own);
      return static_cast<int>(problem.blocks.size()) - 1;
    }
    const double work = any() * 4, fixed = any();
    for (const int count : problem.counts) {
      // Mostly faster on more ranks, but with some noise: the search must not rely on it.
      own.seconds.push_back(work / count + fixed + (random_.below(4) == 0 ? any() : 0));
      own.memory.push_back(1 + 8.0 / count);
    }
    problem.blocks.push_back(own);
    return static_cast<int>(problem.blocks.size()) - 1;
  }
  double bytes() { return alike_ ? 1 : any(); }
  Tree::Part part(int depth, int length) {
    Tree::Part own;
    own.blocks.push_back(block());
    for (int i = 1; i < length && left_ > 0; ++i) {
      const int fork = own.blocks.back();
      Tree::Between between;
      const bool split = depth > 0 && left_ > 2 && random_.below(2) == 0;
      if (split) {
        const int n = 1 + static_cast<int>(random_.below(3));
        for (int j = 0; j < n && left_ > 1; ++j) {
          Tree::Part branch = part(depth - 1, 1 + static_cast<int>(random_.below(2)));
          branch.in = bytes();
          branch.out = bytes();
          problem.edges.push_back({fork, branch.blocks.front(), branch.in});
          between.branches.push_back(branch);
        }
        // A single branch would be part of the chain.
        if (between.branches.size() < 2 || random_.below(2) == 0) between.edge = bytes();
      } else {
        between.edge = bytes();
      }
      const int join = block();
      if (between.edge >= 0) problem.edges.push_back({fork, join, between.edge});
      for (const Tree::Part& branch : between.branches)
        problem.edges.push_back({branch.blocks.back(), join, branch.out});
      own.blocks.push_back(join);
      own.between.push_back(between);
    }
    return own;
  }
  Random random_;
  bool alike_ = false;
  int left_ = 0;
};

}  // namespace nereus::burst
