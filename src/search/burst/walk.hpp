// Labels along chains, links and branches (search/burst/burst_front.hpp). Inside search/burst only.
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

using LinkTable = std::vector<Labels>;  // by candidates before and behind: K x K

class Walk {
 public:
  // The chain of `problem`, whose links are kept by address. `most_made`: labels, where memory
  // binds.
  Walk(const Problem& problem, const Chain& chain, std::int64_t most_made);

  // Labels at the end of the trunk; see keep_best for gain. Those of no use before the plans known
  // are dropped (search/burst/burst_bounds.hpp, also for `before`).
  States trunk(double gain, const std::vector<KnownPlan>& known,
               const std::vector<KnownPlan>& before);
  // Plans to start from: none where memory binds.
  std::vector<KnownPlan> plans() const;
  // Candidates that they use on the trunk.
  const std::set<std::size_t>& used() const { return least_.used(); }

  bool memory_binds() const { return memory_binds_; }
  // Where memory binds, and labels of three numbers are too many for an exact answer in time: what
  // trunk() gave is of no use then.
  bool gave_up() const { return memory_binds_ && made_ > most_made_; }

  const Step& step(int index) const { return steps_[static_cast<std::size_t>(index)]; }
  // By block of the branch that was worked out: the block that stands for it in an equal one.
  const std::vector<int>& renamed(int index) const {
    return renamed_[static_cast<std::size_t>(index)];
  }
  std::int64_t labels() const { return labels_; }

 private:
  // Where a part of the plan runs. The third of a label counts bytes on the trunk's ranks.
  // kWithin: on the ranks of a branch that left, inside it.
  enum class Where { kTrunk, kBranch, kAway, kWithin };
  static bool off_trunk(Where where) { return where == Where::kAway || where == Where::kWithin; }

  States start(int block, Where where);
  // `position` of the block on the trunk; `rest`: least costs of all that is missing behind it, by
  // candidate and weight, where labels are to be of use.
  States next(const Link& link, const States& from, int block, Where where, double gain,
              std::size_t position, const double* rest);
  void add_block(const Label& before, double move, double held, int block, int candidate,
                 Where where, Labels& to) const;
  // What lies between a label and the next.
  struct Addition {
    double seconds = 0;
    double rank_seconds = 0;
    double third = 0;
    int link = -1;  // step
  };
  // Adds all that `from` becomes to `to`; rest: of all behind, where labels are to be of use.
  void extend(LabelList from, const Addition& more, const double* rest, bool two, Labels& to);
  void extend_two(LabelList from, const Addition& more, const double* rest, Labels& to);
  // From all candidates to one of them, over an edge and then `more`.
  void hop(const States& from, const Moves::Table& moves, std::size_t candidate,
           const Addition& more, const double* rest, bool two, Labels& to);
  // The same over a link with branches.
  void hop(const States& from, const LinkTable& table, std::size_t candidate, const Addition& more,
           const double* rest, bool two, Labels& to);
  // On the first candidates.
  const LinkTable& table_of(const Link& link, Where where, std::size_t position, int candidates);
  // Of one branch on the first candidates, from a candidate of the fork: by candidate of the join.
  // rests: none, or by block of the branch and at its end what `rest` of next() is.
  using Rests = std::vector<std::vector<double>>;
  States branch(const Branch& branch, int fork, Where where, int candidates, const Rests& rests);
  States branch_start(const Branch& branch, int fork, Where where, int candidates,
                      const double* rest);
  // Labels of a branch by candidate of the fork, then of the join. A row is worked out when it is
  // asked for. They do not depend on bounds or on the plans known, so that both walks over the
  // trunk share them, and so do equal branches.
  struct BranchTable {
    const Branch* branch = nullptr;
    Where where = Where::kBranch;
    int candidates = 0;
    std::vector<std::optional<States>> rows;
  };
  BranchTable& branch_table(const Branch& branch, Where where, int candidates);
  const States& row_of(BranchTable& table, std::size_t fork);
  // Where memory binds: labels of three numbers are many, and those of no use are dropped within a
  // branch too. Of one link of the trunk alone.
  const States& bounded_row(const Link& link, std::size_t branch, std::size_t fork,
                            std::size_t position);
  Rests rests_of(const Link& link, std::size_t branch, std::size_t fork,
                 std::size_t position) const;
  // Labels of a link's branches.
  struct Branches {
    const Link* link = nullptr;
    std::vector<std::size_t> movable;  // that may leave
    std::vector<BranchTable*> here;    // by branch
    std::vector<int> renamed;          // by branch: index, or -1
    // By how many leave, less one, and place in `movable`; none where they have no ranks.
    std::vector<std::vector<BranchTable*>> away;
  };
  const Branches& branches_of(const Link& link, Where where, int candidates);
  int rename_of(const Branch& branch);
  // Puts the branches of a link together; `position` of its join on the trunk.
  void fold(const Branches& branches, std::size_t fork, std::size_t join, Where where,
            std::size_t position, Labels& out);
  // One choice of the branches that leave, between two candidates.
  struct Choice {
    std::size_t position, fork, join, num_away;
    std::vector<LabelList> here;
    std::vector<LabelList> away;  // empty: it stays
    std::vector<int> renamed_here, renamed_away;
  };
  void fold_choice(const Choice& choice, const std::vector<double>& ends, Labels& out);
  std::vector<double> least_of(const Choice& choice, std::size_t branch) const;
  void settle(Labels& labels, bool away, const std::vector<double>& rest, bool hidden, int renamed);
  int kept_step(int index);
  int away_candidates(int num_away) const;  // of each of so many branches that leave
  bool pair_useful(std::size_t fork, std::size_t join, std::size_t position,
                   const std::vector<double>& ends);
  std::vector<double> missing(std::size_t fork, std::size_t join, std::size_t position) const;
  int add_step(const Step& step);
  void record(Labels& labels, int block, int candidate);

  const Problem& problem_;
  const Chain& chain_;
  int k_ = 0;  // candidates of the trunk
  bool memory_binds_ = false;
  std::deque<Step> steps_;                          // of millions: not to be moved when it grows
  using Key = std::tuple<const Link*, Where, int>;  // of so many candidates
  std::map<Key, LinkTable> tables_;
  std::map<Key, Branches> branches_;
  std::map<std::tuple<int, Where, int>, BranchTable> branch_tables_;  // by shape
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, States> bounded_rows_;
  std::map<int, const Branch*> worked_out_;  // by shape: the branch whose blocks are in the steps
  std::vector<std::vector<int>> renamed_;
  mutable Moves moves_;  // worked out when asked for
  Shapes shapes_;
  LeastCosts least_;
  // Lists in use for a moment, kept to save memory from being asked for again.
  Labels made_now_, scratch_;
  Labels own_;
  std::vector<Step> fold_steps_;  // of the fold in hand: -2, -3, ...
  std::optional<Bounds> bounds_;  // of the walk in hand
  double gain_ = 0;
  std::int64_t labels_ = 0;
  std::int64_t made_ = 0;  // dropped ones too
  const std::int64_t most_made_;
};

}  // namespace nereus::burst
