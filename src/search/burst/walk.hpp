// Carries labels along chains, links and branches (search/burst/burst_front.hpp). Only for use
// inside search/burst.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "search/burst/branch_shapes.hpp"
#include "search/burst/burst_bounds.hpp"
#include "search/burst/burst_moves.hpp"
#include "search/burst/labels.hpp"
#include "search/burst/series_parallel.hpp"

namespace nereus::burst {

using LinkTable = std::vector<Labels>;  // by candidates before and after: K x K

class Walk {
 public:
  // `chain` is that of `problem`; its links must stay at their addresses. `most_made` limits the
  // number of labels if memory is limited.
  Walk(const Problem& problem, const Chain& chain, std::int64_t most_made);

  // Labels at the end of the trunk. keep_best explains `gain`. Labels that cannot improve on
  // `known` are dropped (search/burst/burst_bounds.hpp, which also explains `before`).
  States trunk(double gain, const std::vector<KnownPlan>& known,
               const std::vector<KnownPlan>& before);
  // Plans to start from; empty if memory is limited.
  std::vector<KnownPlan> plans() const;
  // Candidates that these plans use on the trunk.
  const std::set<std::size_t>& used() const { return least_.used(); }

  bool memory_binds() const { return memory_binds_; }
  // True if memory is limited and there are too many labels (each with seconds, rank-seconds and
  // bytes) for an exact answer in time. The result of trunk() must then not be used.
  bool gave_up() const { return memory_binds_ && made_ > most_made_; }

  const Step& step(int index) const { return steps_[index]; }
  // For each block of this branch, the corresponding block of the equal branch that was solved.
  const std::vector<int>& renamed(int index) const { return renamed_[index]; }
  std::int64_t labels() const { return labels_; }

 private:
  // Where a part of the plan runs. kWithin: inside a branch that left the trunk, on the branch's
  // ranks. `third` of a label counts bytes on the trunk's ranks.
  enum class Where { kTrunk, kBranch, kAway, kWithin };
  static bool off_trunk(Where where) { return where == Where::kAway || where == Where::kWithin; }

  States start(int block, Where where);
  // `position` is the index of the block on the trunk. `rest` has the least costs of everything
  // after it, by candidate and weight, if useless labels should be dropped.
  States next(const Link& link, const States& from, int block, Where where, double gain,
              std::size_t position, const double* rest);
  void add_block(const Label& before, double move, double held, int block, int candidate,
                 Where where, Labels& to) const;
  // The cost that is added between a label and the next.
  struct Addition {
    double seconds = 0;
    double rank_seconds = 0;
    double third = 0;
    int link = -1;  // index of a step
  };
  // Adds all continuations of `from` to `to`. `rest`: least costs of everything after, or null.
  void extend(LabelList from, const Addition& more, const double* rest, bool two, Labels& to);
  void extend_two(LabelList from, const Addition& more, const double* rest, Labels& to);
  // Adds the labels from all candidates to one of them, over an edge, plus `more`, to `to`.
  void hop(const States& from, const Moves::Table& moves, std::size_t candidate,
           const Addition& more, const double* rest, bool two, Labels& to);
  // As above, but over a link with branches.
  void hop(const States& from, const LinkTable& table, std::size_t candidate, const Addition& more,
           const double* rest, bool two, Labels& to);
  // The table of a link for the first `candidates` candidates.
  const LinkTable& table_of(const Link& link, Where where, std::size_t position, int candidates);
  // The labels of one branch for the first candidates, from a candidate of the fork, by candidate
  // of the join. `rests` is empty, or has the `rest` of next() for each block of the branch and for
  // its end.
  using Rests = std::vector<std::vector<double>>;
  States branch(const Branch& branch, int fork, Where where, int candidates, const Rests& rests);
  States branch_start(const Branch& branch, int fork, Where where, int candidates,
                      const double* rest);
  // Labels of a branch, by candidate of the fork and of the join. A row is computed when it is
  // first needed. Rows do not depend on bounds or known plans, so both walks over the trunk share
  // them, and so do equal branches.
  struct BranchTable {
    const Branch* branch = nullptr;
    Where where = Where::kBranch;
    int candidates = 0;
    std::vector<std::optional<States>> rows;
  };
  BranchTable& branch_table(const Branch& branch, Where where, int candidates);
  const States& row_of(BranchTable& table, std::size_t fork);
  // Used if memory is limited: there are many labels of three numbers, so useless ones are dropped
  // within a branch too. Valid for one link of the trunk only.
  const States& bounded_row(const Link& link, std::size_t branch, std::size_t fork,
                            std::size_t position);
  Rests rests_of(const Link& link, std::size_t branch, std::size_t fork,
                 std::size_t position) const;
  // The labels of a link's branches.
  struct Branches {
    const Link* link = nullptr;
    std::vector<std::size_t> movable;  // branches that may leave
    std::vector<BranchTable*> here;    // by branch
    std::vector<int> renamed;          // by branch: index, or -1
    // By the number of branches that leave, minus one, and place in `movable`; empty if they have
    // no ranks.
    std::vector<std::vector<BranchTable*>> away;
  };
  const Branches& branches_of(const Link& link, Where where, int candidates);
  int rename_of(const Branch& branch);
  // Combines the branches of a link; `position` is that of its join on the trunk.
  void fold(const Branches& branches, std::size_t fork, std::size_t join, Where where,
            std::size_t position, Labels& out);
  // One choice of branches that leave, between two candidates.
  struct Choice {
    std::size_t position, fork, join, num_away;
    std::vector<LabelList> here;
    std::vector<LabelList> away;  // empty: the branch stays
    std::vector<int> renamed_here, renamed_away;
  };
  void fold_choice(const Choice& choice, const std::vector<double>& ends, Labels& out);
  std::vector<double> least_of(const Choice& choice, std::size_t branch) const;
  void settle(Labels& labels, bool away, const std::vector<double>& rest, bool hidden, int renamed);
  int kept_step(int index);
  // Candidates of each branch, if `num_away` branches leave.
  int away_candidates(int num_away) const;
  bool pair_useful(std::size_t fork, std::size_t join, std::size_t position,
                   const std::vector<double>& ends);
  std::vector<double> missing(std::size_t fork, std::size_t join, std::size_t position) const;
  int add_step(const Step& step);
  void record(Labels& labels, int block, int candidate);

  const Problem& problem_;
  const Chain& chain_;
  int k_ = 0;  // candidates of the trunk
  bool memory_binds_ = false;
  std::deque<Step> steps_;  // may hold millions: must not be moved when it grows
  using Key = std::tuple<const Link*, Where, int>;  // the last is the number of candidates
  std::map<Key, LinkTable> tables_;
  std::map<Key, Branches> branches_;
  std::map<std::tuple<int, Where, int>, BranchTable> branch_tables_;  // by shape
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, States> bounded_rows_;
  std::map<int, const Branch*> worked_out_;  // by shape: the branch whose blocks the steps name
  std::vector<std::vector<int>> renamed_;
  mutable Moves moves_;  // computed on demand
  Shapes shapes_;
  LeastCosts least_;
  // Temporary lists, kept to avoid allocations.
  Labels made_now_, scratch_;
  Labels own_;
  std::vector<Step> fold_steps_;  // of the current fold: -2, -3, ...
  std::optional<Bounds> bounds_;  // of the current walk
  double gain_ = 0;
  std::int64_t labels_ = 0;
  std::int64_t made_ = 0;  // including dropped ones
  const std::int64_t most_made_;
};

}  // namespace nereus::burst
