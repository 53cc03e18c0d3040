// Labels along chains, links and branches (search/burst/front.hpp). Inside search/burst only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "search/burst/bounds.hpp"
#include "search/burst/labels.hpp"
#include "search/burst/series_parallel.hpp"

namespace nereus::burst {

using States = std::vector<Labels>;     // by candidate of the block in hand
using LinkTable = std::vector<Labels>;  // by candidates before and behind: K x K

class Walk {
 public:
  // The chain of `problem`, whose links are kept by address. `most_made`: labels, where memory
  // binds.
  Walk(const Problem& problem, const Chain& chain, std::int64_t most_made);

  // Labels at the end of the trunk; see keep_best for gain. Those of no use before the plans known
  // are dropped.
  States trunk(double gain, const std::vector<KnownPlan>& known);
  // Plans to start from: none where memory binds.
  std::vector<KnownPlan> plans() const;

  bool memory_binds() const { return memory_binds_; }
  // Where memory binds, and labels of three numbers are too many for an exact answer in time: what
  // trunk() gave is of no use then.
  bool gave_up() const { return memory_binds_ && made_ > most_made_; }

  const Step& step(int index) const { return steps_[static_cast<std::size_t>(index)]; }
  std::int64_t labels() const { return labels_; }

 private:
  // Where a part of the plan runs. The third of a label counts bytes on the trunk's ranks.
  // kWithin: on the ranks of a branch that left, inside it.
  enum class Where { kTrunk, kBranch, kAway, kWithin };
  static bool off_trunk(Where where) { return where == Where::kAway || where == Where::kWithin; }

  States start(int block, Where where);
  // `position` of the block on the trunk.
  States next(const Link& link, const States& from, int block, Where where, double gain,
              std::size_t position);
  void add_block(const Label& before, double move, double held, int link, int block, int candidate,
                 Where where, Labels& to) const;
  // On the first candidates.
  const LinkTable& table_of(const Link& link, Where where, std::size_t position, int candidates);
  // Of one branch on the first candidates, from a candidate of the fork: by candidate of the join.
  States branch(const Branch& branch, int fork, Where where, int candidates);
  // Labels of a link's branches from one candidate of the fork, by candidate of the join.
  struct Branches {
    std::size_t home = 0;
    std::vector<std::size_t> movable;  // that may leave
    std::vector<States> here;          // by branch
    // By how many leave, less one, and place in `movable`; none where they have no ranks.
    std::vector<std::vector<States>> away;
  };
  const std::vector<Branches>& branches_of(const Link& link, Where where, int candidates);
  // Puts the branches of a link together; `position` of its join on the trunk.
  void fold(const Branches& branches, std::size_t fork, std::size_t join, Where where,
            std::size_t position, Labels& out);
  void settle(Labels& labels, bool away, const std::vector<double>& rest, bool hidden);
  int away_candidates(int num_away) const;  // of each of so many branches that leave
  std::vector<double> missing(std::size_t fork, std::size_t join, std::size_t position) const;
  int add_step(const Step& step);
  void record(Labels& labels, int block, int candidate);

  const Problem& problem_;
  const Chain& chain_;
  int k_ = 0;  // candidates of the trunk
  bool memory_binds_ = false;
  std::vector<Step> steps_;
  using Key = std::tuple<const Link*, Where, int>;  // of so many candidates
  std::map<Key, LinkTable> tables_;
  std::map<Key, std::vector<Branches>> branches_;
  LeastCosts least_;
  std::optional<Bounds> bounds_;  // of the walk in hand
  double gain_ = 0;
  std::int64_t labels_ = 0;
  std::int64_t made_ = 0;  // dropped ones too
  const std::int64_t most_made_;
};

}  // namespace nereus::burst
