#include "search/mixed/flat_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>

#include "search/mixed/division.hpp"

namespace nereus::mixed {

namespace {

constexpr double kNoPlan = std::numeric_limits<double>::infinity();
constexpr std::size_t kFewTeams = 16;  // whose samples are tried one by one
constexpr int kMostTried = 16;         // samples of a micro-batch that are tried there

class FlatSearch {
 public:
  FlatSearch(Machines& machines, const FlatManner& manner, double room)
      : machines_(machines), manner_(manner), division_(machines, manner, room), room_(room) {}

  std::optional<plan::Placement> best() {
    double high = 0;
    for (const int group : division_.computing())
      high = std::max(high, division_.batch() * division_.one(group, 1));
    if (division_.computing().empty() || !division_.exists(high)) return std::nullopt;
    double low = 0;
    // To the precision of the predictor: smaller differences in time do not matter.
    for (int i = 0; i < 40 && high - low > 1e-6 * high; ++i) {
      if (machines_.stopped()) return std::nullopt;
      const double middle = (low + high) / 2;
      (division_.exists(middle) ? high : low) = middle;
    }
    std::vector<TeamShare> teams = division_.within(high);
    trim(teams);
    // Teams that are done before the last one may still be quicker with larger micro-batches.
    std::vector<TeamShare> quicker = teams;
    for (TeamShare& team : quicker) quickest(team, kMostMicroBatch);
    for (std::vector<TeamShare>* list : {&quicker, &teams})
      if (spread_state(*list)) {
        if (list->size() <= kFewTeams && (manner_.zero == 3 || (is_small() && ends_small(*list))))
          polish(*list);
        else if (manner_.zero < 3)
          prefer_whole(*list);
        return flat_placement(machines_, manner_, *list);
      }
    return std::nullopt;
  }

 private:
  // More samples than there are were found: the latest teams give some up, one at a time.
  void trim(std::vector<TeamShare>& teams) {
    std::int64_t over = -division_.batch();
    for (const TeamShare& team : teams) over += team.samples;
    std::vector<double> times;
    for (const TeamShare& team : teams) times.push_back(division_.time_of(team));
    for (; over > 0; --over) {
      const auto last =
          static_cast<std::size_t>(std::max_element(times.begin(), times.end()) - times.begin());
      TeamShare& team = teams[last];
      --team.samples;
      quickest(team, team.micro_batch);
      times[last] = division_.time_of(team);
    }
  }

  // The fastest micro-batch that is not larger and fits together with an even share of state; the
  // team's micro-batch if none does.
  void quickest(TeamShare& team, int largest) {
    if (team.samples == 0) {
      team.micro_batch = 1;
      return;
    }
    team.micro_batch = std::min(team.micro_batch, team.samples);
    // Teams of a group mostly have as many samples.
    const auto [known, is_new] =
        quickest_.try_emplace({team.group, team.samples, team.micro_batch, largest});
    if (is_new) known->second = quickest_of(team, largest);
    team.micro_batch = known->second;
  }
  int quickest_of(const TeamShare& team, int largest) {
    int best = team.micro_batch;
    double least = division_.time_of(team);
    TeamShare other = team;
    for (int m = 1; m <= std::min(largest, team.samples); ++m) {
      const int n = (team.samples + m - 1) / m;
      if (m > team.micro_batch && division_.memory().without_state(team.group, m, n) +
                                          division_.memory().state(team.group) /
                                              static_cast<double>(division_.group_of().size()) >
                                      division_.limit(team.group))
        break;
      other.micro_batch = m;
      const double seconds = division_.time_of(other);
      if (!(seconds < least)) continue;
      best = m;
      least = seconds;
    }
    return best;
  }

  // Seconds; kNoPlan if it does not fit.
  double step_of(const std::vector<TeamShare>& teams) {
    ++machines_.evaluated;
    const cost::Prediction p =
        machines_.predictor().predict(flat_placement(machines_, manner_, teams));
    return p.fits && p.memory.total <= room_ * p.memory.capacity ? p.step : kNoPlan;
  }

  // A cluster whose plans are few enough for this.
  bool is_small() const {
    int devices = 0;
    for (const Group& group : machines_.groups()) devices += group.count;
    return devices <= static_cast<int>(kFewTeams);
  }
  static bool ends_small(const std::vector<TeamShare>& teams) {
    return std::any_of(teams.begin(), teams.end(),
                       [](const TeamShare& team) { return team.samples % team.micro_batch != 0; });
  }

  // A reduction overlaps with the last micro-batch, so a small one that saves compute may cost more
  // than it saves: micro-batches that divide a team's samples are tried instead.
  void prefer_whole(std::vector<TeamShare>& teams) {
    std::vector<TeamShare> whole = teams;
    for (TeamShare& team : whole) {
      if (team.samples % team.micro_batch == 0) continue;
      const auto [known, is_new] = dividing_.try_emplace({team.group, team.samples});
      if (is_new) known->second = quickest_divisor(team);
      team.micro_batch = known->second;
    }
    if (whole == teams) return;  // none ends small
    for (TeamShare& team : whole) team.state = 0;
    if (spread_state(whole) && step_of(whole) < step_of(teams)) teams = std::move(whole);
  }
  int quickest_divisor(TeamShare team) {
    int best = 1;
    double least = kNoPlan;
    for (int m = 1; m <= std::min(kMostMicroBatch, team.samples); ++m) {
      if (team.samples % m != 0) continue;
      if (division_.memory().without_state(team.group, m, team.samples / m) >
          division_.limit(team.group))
        break;
      team.micro_batch = m;
      if (const double seconds = division_.time_of(team); seconds < least) {
        least = seconds;
        best = m;
      }
    }
    return best;
  }

  // If teams wait for each other at every layer, a step is the sum of the slowest layers, which is
  // close to the slowest team's sum but not equal; and the reduction overlaps with the last
  // micro-batch, which may be small. So single samples and other micro-batches are tried until
  // nothing is faster.
  void polish(std::vector<TeamShare>& teams) {
    double best = step_of(teams);
    const auto better = [&](std::vector<TeamShare> changed) {
      for (TeamShare& team : changed) team.state = 0;
      if (!spread_state(changed)) return false;
      const double seconds = step_of(changed);
      if (!(seconds < best)) return false;
      best = seconds;
      teams = std::move(changed);
      return true;
    };
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < teams.size(); ++i) {
        for (int m = 1; m <= std::min(teams[i].samples, kMostTried); ++m) {
          std::vector<TeamShare> other = teams;
          other[i].micro_batch = m;
          again |= m != teams[i].micro_batch && better(std::move(other));
        }
        for (std::size_t to = 0; to < teams.size(); ++to) {
          if (to == i || teams[i].samples == 0) continue;
          std::vector<TeamShare> other = teams;
          --other[i].samples;
          ++other[to].samples;
          quickest(other[i], kMostMicroBatch);
          quickest(other[to], kMostMicroBatch);
          again |= better(std::move(other));
        }
      }
    }
  }

  bool spread_state(std::vector<TeamShare>& teams) {
    if (manner_.zero == 0) return true;
    std::vector<std::size_t> open;
    std::vector<double> room;
    for (std::size_t i = 0; i < teams.size(); ++i) {
      const int n = (teams[i].samples + teams[i].micro_batch - 1) / teams[i].micro_batch;
      const double bytes =
          n > 0 ? division_.memory().without_state(teams[i].group, teams[i].micro_batch, n) : 0;
      room.push_back((division_.limit(teams[i].group) - bytes) /
                     division_.memory().state(teams[i].group));
      open.push_back(i);
    }
    double left = 1;
    while (!open.empty() && left > 1e-12) {
      const double each = left / static_cast<double>(open.size());
      std::vector<std::size_t> still;
      for (const std::size_t i : open) {
        const double more = room[i] - teams[i].state;
        if (more < each) {
          teams[i].state += std::max(0.0, more);
          left -= std::max(0.0, more);
        } else {
          still.push_back(i);
        }
      }
      if (still.size() == open.size()) {
        for (const std::size_t i : open) teams[i].state += each;
        left = 0;
      }
      open = still;
    }
    return left <= 1e-9;
  }

  Machines& machines_;
  const FlatManner& manner_;
  Division division_;
  double room_;
  std::map<std::tuple<int, int, int, int>, int> quickest_;  // micro-batch by what was asked
  std::map<std::pair<int, int>, int> dividing_;             // so too: group, samples
};

}  // namespace

double flat_bound(Machines& machines, const FlatManner& manner) {
  double rate = 0;
  for (std::size_t g = 0; g < manner.uses.size(); ++g)
    if (manner.uses[g] > 0)
      rate += machines.rate(manner_of(manner, static_cast<int>(g))) * teams_of(manner, g);
  return rate > 0 ? static_cast<double>(machines.like().global_batch) / rate : kNoPlan;
}

double sent_bound(Machines& machines, const FlatManner& manner) {
  std::vector<TeamShare> teams;
  for (std::size_t g = 0; g < manner.uses.size(); ++g)
    teams.insert(teams.end(), static_cast<std::size_t>(manner.uses[g]),
                 {static_cast<int>(g), 1, 1, 0});
  if (teams.size() < 2) return 0;
  for (TeamShare& team : teams) team.state = 1 / static_cast<double>(teams.size());
  plan::Placement placement = flat_placement(machines, manner, teams);
  placement.data_overlap = false;
  ++machines.evaluated;
  return machines.predictor().predict(placement).part(cost::Part::kDataComm);
}

std::optional<plan::Placement> best_flat(Machines& machines, const FlatManner& manner,
                                         double room) {
  return FlatSearch(machines, manner, room).best();
}

}  // namespace nereus::mixed
