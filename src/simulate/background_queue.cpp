#include "simulate/background_queue.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace nereus::simulate {

namespace {

constexpr double kRounding = 1e-9;

std::vector<IdleSpan> both(const std::vector<IdleSpan>& a, const std::vector<IdleSpan>& b) {
  std::vector<IdleSpan> out;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double start = std::max(a[i].start, b[j].start), end = std::min(a[i].end, b[j].end);
    if (end > start) out.push_back({start, end});
    a[i].end < b[j].end ? ++i : ++j;
  }
  return out;
}

struct Place {
  int first_rank = 0;
  std::vector<int> groups;  // apart, ascending
};

class Cluster {
 public:
  Cluster(const std::vector<SharedRanks>& groups, const SharingRules& rules, double step_s)
      : groups_(groups), rules_(rules), step_s_(step_s) {
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const int rank : groups[g].ranks) {
        if (static_cast<std::size_t>(rank) >= group_of_.size())
          group_of_.resize(static_cast<std::size_t>(rank) + 1, -1);
        group_of_[rank] = static_cast<int>(g);
      }
  }

  // Places with enough memory for the job, those with the most seconds per step first.
  std::vector<Place> places(const QueuedJob& job) {
    std::vector<Place> out;
    const auto n = static_cast<int>(group_of_.size());
    for (int first = 0; first + job.num_ranks <= n; first += job.num_ranks) {
      std::set<int> own;
      bool room = true;
      for (int r = first; r < first + job.num_ranks; ++r) {
        const int g = group_of_[r];
        room = room && g >= 0 && groups_[g].room >= job.bytes;
        own.insert(g);
      }
      if (room) out.push_back({first, {own.begin(), own.end()}});
    }
    std::stable_sort(out.begin(), out.end(),
                     [&](const Place& a, const Place& b) { return gain(a, 0) > gain(b, 0); });
    return out;
  }
  bool shares(const Place& place) const {
    return std::any_of(place.groups.begin(), place.groups.end(),
                       [&](int g) { return groups_[g].used; });
  }
  // Seconds of background work in a step that is longer by `paid`.
  double gain(const Place& place, double paid) {
    if (!shares(place)) return step_s_ + paid;
    auto known = gaps_.find(place.groups);
    if (known == gaps_.end()) {
      std::vector<const SharedRanks*> own;
      for (const int g : place.groups) own.push_back(&groups_[g]);
      known = gaps_.emplace(place.groups, gained_in_gaps(own, rules_)).first;
    }
    return known->second + paid * rules_.yield;
  }

 private:
  const std::vector<SharedRanks>& groups_;
  const SharingRules& rules_;
  double step_s_;
  std::vector<int> group_of_;
  std::map<std::vector<int>, double> gaps_;
};

class Player {
 public:
  Player(const std::vector<SharedRanks>& ranks, double step_s, const std::vector<QueuedJob>& jobs,
         const SharingRules& rules)
      : cluster_(ranks, rules, step_s), step_s_(step_s), jobs_(jobs), rules_(rules) {
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      places_.push_back(cluster_.places(jobs[j]));
      left_.push_back(jobs[j].copies > 0 ? jobs[j].copies
                                         : static_cast<std::int64_t>(places_[j].size()));
    }
  }

  QueuePlay play(std::int64_t steps) {
    double work = 0;  // device-seconds
    for (std::int64_t done = 0; done < steps;) {
      start_jobs();
      const bool shared = std::any_of(running_.begin(), running_.end(), [&](const Running& own) {
        return cluster_.shares(own.place);
      });
      const double paid = shared ? rules_.aim * rules_.bound * step_s_ : 0;
      const double step = step_s_ + paid;
      // Until the first of them ends, all steps are alike.
      std::int64_t count = steps - done;
      for (Running& own : running_) {
        own.gain = cluster_.gain(own.place, paid);
        if (own.gain > 0 && own.left < own.gain * static_cast<double>(count))
          count = std::max<std::int64_t>(
              1, static_cast<std::int64_t>(std::ceil(own.left / own.gain * (1 - kRounding))));
      }
      for (Running& own : running_) {
        PlayedJob& job = out_.jobs[own.played];
        const double gained = std::min(own.left, own.gain * static_cast<double>(count));
        own.left -= gained;
        const QueuedJob& queued = jobs_[job.job];
        job.steps += gained / queued.step_s;
        work +=
            queued.work_s > 0 ? gained / queued.step_s * queued.work_s : gained * queued.num_ranks;
        // In its last step it only uses the time it needs.
        job.done = own.left <= kRounding * queued.step_s;
        const double used = own.gain > 0 ? gained / own.gain : static_cast<double>(count);
        job.end = time_ + step * (job.done ? used : static_cast<double>(count));
      }
      free_places();
      time_ += step * static_cast<double>(count);
      done += count;
    }
    out_.seconds = time_;
    out_.step_s = steps > 0 ? time_ / static_cast<double>(steps) : step_s_;
    out_.slowdown = out_.step_s / step_s_ - 1;
    out_.background = time_ > 0 ? work / time_ : 0;
    for (const std::int64_t own : left_) out_.waiting += own;
    return std::move(out_);
  }

 private:
  struct Running {
    std::size_t played = 0;  // index
    Place place;
    double left = 0;  // seconds without the foreground
    double gain = 0;  // a step
  };

  bool is_free(const Place& place, int num_ranks) const {
    for (int r = place.first_rank; r < place.first_rank + num_ranks; ++r)
      if (taken_.count(r) > 0) return false;
    return true;
  }
  void start_jobs() {
    if (!changed_) return;
    changed_ = false;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const QueuedJob& job = jobs_[j];
      for (const Place& place : places_[j]) {
        if (left_[j] == 0) break;
        if (!is_free(place, job.num_ranks)) continue;
        --left_[j];
        for (int r = 0; r < job.num_ranks; ++r) taken_.insert(place.first_rank + r);
        const double work = job.steps > 0 ? static_cast<double>(job.steps) * job.step_s
                                          : std::numeric_limits<double>::infinity();
        running_.push_back({out_.jobs.size(), place, work, 0});
        out_.jobs.push_back({static_cast<int>(j), place.first_rank, time_, time_, 0, false});
      }
    }
  }
  void free_places() {
    std::erase_if(running_, [&](const Running& own) {
      const PlayedJob& job = out_.jobs[own.played];
      if (!job.done) return false;
      for (int r = 0; r < jobs_[job.job].num_ranks; ++r) taken_.erase(own.place.first_rank + r);
      changed_ = true;
      return true;
    });
  }

  Cluster cluster_;
  double step_s_;
  const std::vector<QueuedJob>& jobs_;
  const SharingRules& rules_;
  std::vector<std::vector<Place>> places_;  // by job
  std::vector<std::int64_t> left_;          // copies, by job
  std::set<int> taken_;                     // ranks
  std::vector<Running> running_;
  bool changed_ = true;
  double time_ = 0;
  QueuePlay out_;
};

}  // namespace

double gained_in_gaps(const std::vector<const SharedRanks*>& groups, const SharingRules& rules) {
  std::vector<IdleSpan> idle;
  bool first = true;
  for (const SharedRanks* own : groups) {
    if (!own->used) continue;  // free throughout
    idle = first ? own->idle : both(idle, own->idle);
    first = false;
  }
  double seconds = 0;
  for (const IdleSpan& span : idle) {
    const double rest = span.end - span.start - rules.switching;
    if (rest > 0) seconds += std::floor(rest / rules.piece * (1 + kRounding)) * rules.piece;
  }
  return seconds * rules.yield;
}

int num_places(const std::vector<SharedRanks>& ranks, const QueuedJob& job) {
  const SharingRules rules;
  return static_cast<int>(Cluster(ranks, rules, 1).places(job).size());
}

QueuePlay play_queue(const std::vector<SharedRanks>& ranks, double step_s,
                     const std::vector<QueuedJob>& jobs, const SharingRules& rules,
                     std::int64_t foreground_steps) {
  return Player(ranks, step_s, jobs, rules).play(foreground_steps);
}

}  // namespace nereus::simulate
