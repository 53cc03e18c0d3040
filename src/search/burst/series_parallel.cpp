#include "search/burst/series_parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"

namespace nereus::burst {

namespace {

void check_graph(const Problem& problem) {
  const auto n = static_cast<int>(problem.blocks.size());
  if (n == 0) throw_input_error("burst.empty", "a graph without blocks has nothing to plan");
  for (const Edge& edge : problem.edges)
    if (edge.from < 0 || edge.to >= n || edge.from >= edge.to)
      throw_input_error(
          "burst.edge",
          fmt::format("an edge goes from block {} to block {} of {}", edge.from, edge.to, n), {},
          "edges to a later block: the order is topological");
}

class Reducer {
 public:
  explicit Reducer(const Problem& problem) {
    check_graph(problem);
    out_.problem = problem;
    add_ends(problem);
    const auto n = static_cast<int>(out_.problem.blocks.size());
    next_.resize(static_cast<std::size_t>(n));
    for (const Edge& edge : out_.problem.edges) next_[edge.from][edge.to] += edge.bytes;
    std::vector<int> inner;
    for (int i = 1; i + 1 < n; ++i) inner.push_back(i);
    if (n == 1)
      out_.chain.blocks = {0};
    else
      out_.chain = chain_between(0, n - 1, inner, true);
  }
  Reduced take() { return std::move(out_); }

 private:
  // One first and one last block: of several, one of no cost before or behind them.
  void add_ends(const Problem& given) {
    const std::size_t n = given.blocks.size();
    std::vector<bool> fed(n, false), read(n, false);
    for (const Edge& edge : given.edges) {
      fed[edge.to] = true;
      read[edge.from] = true;
    }
    const bool first = std::count(fed.begin(), fed.end(), false) > 1;
    const bool last = std::count(read.begin(), read.end(), false) > 1;
    const int shift = first ? 1 : 0;
    Problem& p = out_.problem;
    const Block none{"", std::vector<double>(p.counts.size(), 0.0), {}};
    for (Edge& edge : p.edges) {
      edge.from += shift;
      edge.to += shift;
    }
    if (first) p.blocks.insert(p.blocks.begin(), none);
    if (last) p.blocks.push_back(none);
    out_.members.resize(p.blocks.size());
    for (std::size_t i = 0; i < n; ++i) {
      const int own = static_cast<int>(i) + shift;
      out_.members[own] = {static_cast<int>(i)};
      if (first && !fed[i]) p.edges.push_back({0, own, 0});
      if (last && !read[i]) p.edges.push_back({own, static_cast<int>(n) + shift, 0});
    }
  }

  // The chain of all paths from a to b over `inner`, in order, and the edge between them, unless it
  // is a separate branch.
  Chain chain_between(int a, int b, const std::vector<int>& inner, bool with_edge) {
    Chain chain;
    chain.blocks.push_back(a);
    std::vector<int> between;
    int farthest = farthest_reader(a, b, inner, with_edge);
    for (const int x : inner) {
      if (farthest <= x) {  // no edge jumps over x: all paths pass it
        chain.links.push_back(link(chain.blocks.back(), x, between));
        chain.blocks.push_back(x);
        between.clear();
      } else {
        between.push_back(x);
      }
      farthest = std::max(farthest, farthest_reader(x, b, inner, true));
    }
    if (chain.blocks.size() == 1 && !with_edge) return {};  // no block that all pass
    chain.links.push_back(link(chain.blocks.back(), b, between));
    chain.blocks.push_back(b);
    return chain;
  }
  int farthest_reader(int from, int b, const std::vector<int>& inner, bool with_b) const {
    int farthest = -1;
    for (const auto& [to, bytes] : next_[from])
      if ((to == b && with_b) || std::binary_search(inner.begin(), inner.end(), to))
        farthest = std::max(farthest, to);
    return farthest;
  }

  Link link(int a, int b, const std::vector<int>& between) {
    Link out;
    const auto& reads = next_[a];
    if (const auto direct = reads.find(b); direct != reads.end())
      out.branches.push_back({{}, {}, direct->second});
    for (const std::vector<int>& part : parts_of(between))
      out.branches.push_back(branch(a, b, part));
    return out;
  }

  // Blocks that hang together without a and b.
  std::vector<std::vector<int>> parts_of(const std::vector<int>& blocks) const {
    std::map<int, int> part;
    for (const int x : blocks) part[x] = x;
    const auto root = [&](int x) {
      while (part[x] != x) x = part[x];
      return x;
    };
    for (const int x : blocks)
      for (const auto& [to, bytes] : next_[x])
        if (part.count(to) > 0) {
          const int one = root(x), other = root(to);
          part[std::max(one, other)] = std::min(one, other);
        }
    std::map<int, std::vector<int>> parts;
    for (const int x : blocks) parts[root(x)].push_back(x);
    std::vector<std::vector<int>> out;
    for (auto& [first, own] : parts) out.push_back(std::move(own));
    return out;
  }

  Branch branch(int a, int b, const std::vector<int>& part) {
    Chain whole = chain_between(a, b, part, false);
    if (whole.blocks.empty()) return collapsed(a, b, part);
    Branch out;
    out.ends = {whole.links.front(), whole.links.back()};
    out.inner.blocks.assign(whole.blocks.begin() + 1, whole.blocks.end() - 1);
    out.inner.links.assign(whole.links.begin() + 1, whole.links.end() - 1);
    return out;
  }

  Branch collapsed(int a, int b, const std::vector<int>& part) {
    Problem& p = out_.problem;
    const std::size_t k = p.counts.size();
    Block sum{"", std::vector<double>(k, 0.0), std::vector<double>(k, 0.0)};
    std::vector<int> members;
    double in = 0, out = 0;
    for (const int x : part) {
      const auto own = static_cast<std::size_t>(x);
      const Block& block = p.blocks[own];
      sum.name += sum.name.empty() ? block.name : "+" + block.name;
      for (std::size_t i = 0; i < k; ++i) {
        sum.seconds[i] += block.seconds[i];
        if (!block.memory.empty()) sum.memory[i] += block.memory[i];
      }
      members.insert(members.end(), out_.members[own].begin(), out_.members[own].end());
      if (const auto edge = next_[a].find(x); edge != next_[a].end()) in += edge->second;
      if (const auto edge = next_[own].find(b); edge != next_[own].end()) out += edge->second;
    }
    out_.notes.push_back(fmt::format(
        "{} blocks from {} to {} are not series-parallel: they are planned as one, on one set of "
        "ranks",
        part.size(), p.blocks[part.front()].name, p.blocks[part.back()].name));
    p.blocks.push_back(std::move(sum));
    out_.members.push_back(std::move(members));
    Branch branch;
    branch.inner.blocks = {static_cast<int>(p.blocks.size()) - 1};
    branch.ends = {Link{{{{}, {}, in}}}, Link{{{{}, {}, out}}}};
    return branch;
  }

  Reduced out_;
  std::vector<std::map<int, double>> next_;  // by block: who reads it, bytes
};

}  // namespace

Reduced reduce(const Problem& problem) { return Reducer(problem).take(); }

}  // namespace nereus::burst
