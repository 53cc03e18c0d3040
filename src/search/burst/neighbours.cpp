#include "search/burst/neighbours.hpp"
#include "search/burst/never.hpp"

#include <algorithm>
#include <utility>

namespace nereus::burst {

namespace {

constexpr int kLongestWithin = 4;   // blocks between the ends of a run
constexpr double kRounding = 1e-9;  // a plan that is better by less is the same

std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

// The cost of a plan is a sum over blocks and edges.
struct Totals {
  double seconds = 0, rank_seconds = 0;  // kernels and moves
  Sums sums{};
  double memory = 0;

  void add(const Totals& other, double sign) {
    seconds += sign * other.seconds;
    rank_seconds += sign * other.rank_seconds;
    sums.seconds += sign * other.sums.seconds;
    sums.rank_seconds += sign * other.sums.rank_seconds;
    sums.hiding += sign * other.sums.hiding;
    memory += sign * other.memory;
  }
};

struct Known {
  double seconds = 0, rank_seconds = 0;
  Totals totals{};
  std::vector<int> candidates{};
  bool is_done = false;     // its neighbours are known
  bool pairs_done = false;  // so are those with two runs changed
};

Known made(const Totals& totals, std::vector<int> candidates) {
  return {totals.seconds + totals.sums.exposed(), totals.rank_seconds + totals.sums.exposed_held(),
          totals, std::move(candidates)};
}

class Pricing {
 public:
  explicit Pricing(const Overlapped& own)
      : problem_(own.problem), in_(problem_.blocks.size()), out_(problem_.blocks.size()) {
    for (const Edge& edge : problem_.edges) {
      in_[at(edge.to)].push_back(&edge);
      out_[at(edge.from)].push_back(&edge);
    }
    for (std::size_t i = 0; i < problem_.blocks.size(); ++i)
      for (std::size_t k = 0; k < problem_.counts.size(); ++k) {
        const Block& block = problem_.blocks[i];
        const double sums = own.sums[i][k], kernels = block.seconds[k] - own.exposed[k] * sums;
        const int count = problem_.counts[k];
        blocks_.push_back({kernels,
                           kernels * count,
                           {sums, sums * count, own.hiding[i][k]},
                           block.memory.empty() ? 0 : block.memory[k]});
      }
  }

  Totals totals(const std::vector<int>& candidates) const {
    Totals out;
    for (std::size_t i = 0; i < candidates.size(); ++i) out.add(block(i, candidates[i]), 1);
    for (const Edge& edge : problem_.edges)
      add_move(edge, candidates[at(edge.from)], candidates[at(edge.to)], 1, out);
    return out;
  }

  // One block of `candidates` at k instead.
  void change(std::vector<int>& candidates, int i, int k, Totals& totals) const {
    totals.add(block(at(i), candidates[at(i)]), -1);
    add_moves(candidates, i, -1, totals);
    candidates[at(i)] = k;
    totals.add(block(at(i), k), 1);
    add_moves(candidates, i, 1, totals);
  }

  bool is_allowed(int k) const {
    const int most = problem_.trunk_ranks > 0 ? problem_.trunk_ranks : problem_.num_ranks;
    return k >= 0 && k < problem_.num_candidates() && problem_.counts[at(k)] <= most;
  }
  bool fits(const Totals& totals) const {
    return totals.memory <= problem_.memory_limit && totals.seconds < kNever;
  }

 private:
  const Totals& block(std::size_t i, int k) const {
    return blocks_[i * problem_.counts.size() + at(k)];
  }
  void add_moves(const std::vector<int>& candidates, int block, int sign, Totals& to) const {
    const int own = candidates[at(block)];
    for (const Edge* edge : in_[at(block)])
      add_move(*edge, candidates[at(edge->from)], own, sign, to);
    for (const Edge* edge : out_[at(block)])
      add_move(*edge, own, candidates[at(edge->to)], sign, to);
  }
  void add_move(const Edge& edge, int from, int to, int sign, Totals& totals) const {
    if (from == to) return;
    const double seconds = move_seconds(problem_.near_of(from, to), edge.bytes);
    totals.seconds += sign * seconds;
    totals.rank_seconds += sign * seconds * problem_.counts[at(std::max(from, to))];
  }

  const Problem& problem_;
  std::vector<Totals> blocks_;  // by block and candidate
  std::vector<std::vector<const Edge*>> in_, out_;
};

// Plans that no other of them beats.
class Archive {
 public:
  bool has_better(double seconds, double rank_seconds) const {
    const std::size_t next = after(seconds * (1 + kRounding));
    return next > 0 && rank_seconds_[next - 1] <= rank_seconds * (1 + kRounding);
  }
  void add(Known own) {
    if (has_better(own.seconds, own.rank_seconds)) return;
    const auto first = static_cast<std::ptrdiff_t>(after(own.seconds));
    auto last = first;
    while (at(last) < plans.size() && rank_seconds_[at(last)] >= own.rank_seconds) ++last;
    const auto put = [&](auto& list, auto value) {
      list.insert(list.erase(list.begin() + first, list.begin() + last), std::move(value));
    };
    put(seconds_, own.seconds);
    put(rank_seconds_, own.rank_seconds);
    put(plans, std::move(own));
  }

  std::vector<Known> plans;  // seconds rise, rank-seconds fall

 private:
  std::size_t after(double seconds) const {
    return static_cast<std::size_t>(std::upper_bound(seconds_.begin(), seconds_.end(), seconds) -
                                    seconds_.begin());
  }
  // The numbers of the plans in contiguous arrays: most plans are only compared with.
  std::vector<double> seconds_, rank_seconds_;
};

class Search {
 public:
  Search(const Overlapped& own, Archive& archive, std::int64_t most_tried)
      : own_(own), pricing_(own), archive_(archive), left_(most_tried) {}

  void add(std::vector<int> candidates) {
    const Totals totals = pricing_.totals(candidates);
    archive_.add(made(totals, std::move(candidates)));
  }

  void run() {
    // There are many pairs of rows, so they are only tried if single rows lead nowhere.
    while (look_at_all(&Known::is_done, &Search::look_around) ||
           look_at_all(&Known::pairs_done, &Search::look_at_pairs)) {
    }
  }

 private:
  struct Run {
    int begin, end;  // blocks
  };

  bool look_at_all(bool Known::*is_done, void (Search::*look)(const Known&)) {
    bool is_new = false;
    for (std::size_t i = 0; i < archive_.plans.size() && left_ > 0; ++i) {
      if (std::exchange(archive_.plans[i].*is_done, true)) continue;
      found_.clear();
      (this->*look)(archive_.plans[i]);
      is_new |= !found_.empty();
      for (Known& own : found_) archive_.add(std::move(own));
    }
    return is_new;
  }

  void begin_at(const Known& plan) {
    now_ = plan.candidates;
    runs_.clear();
    const int n = static_cast<int>(now_.size());
    for (int begin = 0, end = 0; begin < n; begin = end) {
      while (end < n && now_[at(end)] == now_[at(begin)]) ++end;
      runs_.push_back({begin, end});
    }
  }

  void look_around(const Known& plan) {
    begin_at(plan);
    for (const auto [begin, end] : runs_) {
      const int own = plan.candidates[at(begin)];
      for (int k = 0; k < own_.problem.num_candidates(); ++k) {
        if (k == own || !pricing_.is_allowed(k)) continue;
        look_along(plan, plan.totals, begin, end, k);
        look_along(plan, plan.totals, end - 1, begin, k);
        if (k < own - 1 || k > own + 1) continue;
        for (int i = begin + 1; i < end - 1; ++i)
          look_along(plan, plan.totals, i, std::min(i + kLongestWithin, end - 1), k);
      }
    }
  }

  void look_at_pairs(const Known& plan) {
    begin_at(plan);
    for (std::size_t a = 0; a + 1 < runs_.size(); ++a)
      for (int k = 0; k < own_.problem.num_candidates() && left_ > 0; ++k) {
        const auto [begin, end] = runs_[a];
        const int own = plan.candidates[at(begin)];
        if (k == own || !pricing_.is_allowed(k)) continue;
        Totals totals = plan.totals;
        for (int i = begin; i < end; ++i, --left_) pricing_.change(now_, i, k, totals);
        for (std::size_t b = a + 1; b < runs_.size(); ++b)
          for (int other = 0; other < own_.problem.num_candidates(); ++other)
            if (other != plan.candidates[at(runs_[b].begin)] && pricing_.is_allowed(other))
              look_along(plan, totals, runs_[b].begin, runs_[b].end, other);
        std::fill(now_.begin() + begin, now_.begin() + end, own);
      }
  }

  // Blocks from the first on, one more each time, forwards or backwards, up to `last`, which stays.
  void look_along(const Known& plan, Totals totals, int first, int last, int k) {
    const int step = first < last ? 1 : -1;
    int i = first;
    for (; i != last && left_ > 0; i += step, --left_) {
      pricing_.change(now_, i, k, totals);
      const Known price = made(totals, {});
      if (!pricing_.fits(totals) || archive_.has_better(price.seconds, price.rank_seconds))
        continue;
      found_.push_back(price);
      found_.back().candidates = now_;
    }
    for (; i != first; i -= step) now_[at(i - step)] = plan.candidates[at(first)];
  }

  const Overlapped& own_;
  Pricing pricing_;
  Archive& archive_;
  std::vector<int> now_;
  std::vector<Run> runs_;  // of it, of blocks with one count
  std::vector<Known> found_;
  std::int64_t left_;
};

bool is_of_trunk(const BurstPlan& plan) {
  return std::all_of(plan.blocks.begin(), plan.blocks.end(),
                     [](const BlockPlace& place) { return place.first_rank == 0; });
}

std::vector<int> candidates_of(const BurstPlan& plan) {
  std::vector<int> out;
  for (const BlockPlace& place : plan.blocks) out.push_back(place.candidate);
  return out;
}

}  // namespace

std::vector<BurstPlan> with_neighbours(const Overlapped& own, std::vector<BurstPlan> plans,
                                       std::int64_t most_tried) {
  Archive archive;
  Search search(own, archive, most_tried);
  for (const BurstPlan& plan : plans)
    if (is_of_trunk(plan)) search.add(candidates_of(plan));
  std::erase_if(plans, is_of_trunk);
  search.run();
  const Pricing pricing(own);
  for (Known& known : archive.plans) {
    // Anew: what was added and taken away on the way has left its rounding.
    const Totals totals = pricing.totals(known.candidates);  // before the candidates are moved
    const Known exact = made(totals, std::move(known.candidates));
    BurstPlan plan{exact.seconds, exact.rank_seconds, exact.totals.memory, {}};
    for (const int k : exact.candidates) plan.blocks.push_back({k, 0});
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace nereus::burst
