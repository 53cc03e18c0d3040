#include "search/burst/deeppool_rule.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace nereus::burst {

namespace {

constexpr double kTooShort = 300e-6;  // seconds on one rank

struct State {
  double best = 0;  // seconds up to here
  double own = 0;   // of this block, with the move into it
  int before = 0;   // candidate of the block before
};

}  // namespace

std::vector<int> deeppool_rule(const Problem& problem, double limit) {
  const std::size_t n = problem.blocks.size();
  const std::size_t k = problem.counts.size();
  NEREUS_CHECK(problem.counts.front() == 1 && problem.edges.size() + 1 == n,
               "a chain, from 1 rank");
  std::vector<std::vector<State>> states(n, std::vector<State>(k));
  for (std::size_t g = 0; g < k; ++g) {
    const double own = problem.blocks[0].seconds[g];
    states[0][g] = {own, own, 0};
  }
  for (std::size_t i = 1; i < n; ++i)
    for (std::size_t g = 0; g < k; ++g) {
      double best = 0, best_move = 0, best_amplification = 0;
      int taken = -1;
      for (std::size_t from = 0; from < k; ++from) {
        const double alone = problem.blocks[i - 1].seconds[0];
        const double amplification =
            alone <= kTooShort ? 1 : states[i - 1][from].own * problem.counts[from] / alone;
        const double move =
            from == g ? 0
                      : move_seconds(problem.near_of(static_cast<int>(from), static_cast<int>(g)),
                                     problem.edges[i - 1].bytes);
        const double seconds = states[i - 1][from].best + move;
        if (taken >= 0 &&
            !(seconds < best && (amplification < limit || amplification < best_amplification)))
          continue;
        taken = static_cast<int>(from);
        best = seconds;
        best_move = move;
        best_amplification = amplification;
      }
      const double own = problem.blocks[i].seconds[g];
      states[i][g] = {best + own, best_move + own, taken};
    }
  const auto& last = states.back();
  auto at = static_cast<int>(
      std::min_element(last.begin(), last.end(),
                       [](const State& a, const State& b) { return a.best < b.best; }) -
      last.begin());
  std::vector<int> out(n);
  for (std::size_t i = n; i-- > 0; at = states[i][at].before) out[i] = at;
  return out;
}

}  // namespace nereus::burst
