#include "search/mixed/flat.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>

#include "search/mixed/team_memory.hpp"

namespace nereus::mixed {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostTable = 4 << 20;  // teams x samples whose division is exact
constexpr std::size_t kFewTeams = 16;        // whose samples are tried one by one
constexpr int kMostLast = 16;                // samples of a smaller last micro-batch that are tried

// A way of a team to compute some samples.
struct Way {
  int samples = 0;
  int micro_batch = 1;
  double bytes = 0;
};

class FlatSearch {
 public:
  FlatSearch(Machines& machines, const FlatManner& manner, double room)
      : machines_(machines), manner_(manner), memory_(machines, manner), room_(room) {
    batch_ = static_cast<int>(machines.like().global_batch);
    for (std::size_t g = 0; g < machines.groups().size(); ++g)
      for (int t = 0; t < teams_of(manner, g); ++t) group_of_.push_back(static_cast<int>(g));
  }

  std::optional<plan::Placement> best() {
    double high = 0;
    for (const int group : computing()) high = std::max(high, batch_ * one(group, 1));
    if (computing().empty() || !fits(high)) return std::nullopt;
    double low = 0;
    // To the predictor's own precision: nothing between two neighbouring times is worth a plan.
    for (int i = 0; i < 40 && high - low > 1e-6 * high; ++i) {
      if (machines_.stopped()) return std::nullopt;
      const double middle = (low + high) / 2;
      (fits(middle) ? high : low) = middle;
    }
    std::vector<TeamShare> teams = shares(high);
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
  // Asked for millions of times: known by index.
  double one(int group, int m) {
    const auto g = static_cast<std::size_t>(group), at = static_cast<std::size_t>(m);
    if (g >= seconds_.size()) seconds_.resize(g + 1);
    if (at >= seconds_[g].size()) seconds_[g].resize(at + 1, -1);
    if (seconds_[g][at] < 0) seconds_[g][at] = machines_.seconds(manner_of(manner_, group), m);
    return seconds_[g][at];
  }

  std::vector<int> computing() const {
    std::vector<int> groups;
    for (std::size_t g = 0; g < manner_.uses.size(); ++g)
      if (teams_of(manner_, g) > 0) groups.push_back(static_cast<int>(g));
    return groups;
  }

  double limit(int group) { return room_ * memory_.capacity(group); }

  // The most samples of micro-batches of m, and of a smaller last one, within T that fit a device.
  Way most(int group, int m, double seconds) {
    const double allowed = seconds * (1 + 1e-12);
    const int by_time =
        static_cast<int>(std::min(allowed / one(group, m), static_cast<double>(batch_ / m)));
    // Memory grows with the number where all micro-batches pass a layer before the next.
    int low = 0, high = by_time;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (memory_.without_state(group, m, middle) <= limit(group))
        low = middle;
      else
        high = middle - 1;
    }
    Way way{low * m, m, low > 0 ? memory_.without_state(group, m, low) : 0};
    if (low == 0) return way;
    const double more = memory_.without_state(group, m, low + 1);
    if (more > limit(group)) return way;
    for (int rest = std::min({m - 1, kMostLast, batch_ - way.samples}); rest > 0; --rest)
      if (low * one(group, m) + one(group, rest) <= allowed) {
        way.samples += rest;
        way.bytes = more;
        break;
      }
    return way;
  }

  // Ways within T, more samples only for more memory; the first is to store alone.
  std::vector<Way> ways(int group, double seconds) {
    std::vector<Way> list = {{0, 1, 0}};
    for (int m = 1; m <= std::min(batch_, kMostMicroBatch); m = m < 16 ? m + 1 : 2 * m) {
      if (memory_.without_state(group, m, 1) > limit(group)) break;
      if (const Way way = most(group, m, seconds); way.samples > 0) list.push_back(way);
    }
    std::sort(list.begin(), list.end(), [](const Way& a, const Way& b) {
      return std::pair(a.bytes, -a.samples) < std::pair(b.bytes, -b.samples);
    });
    std::vector<Way> kept;
    for (const Way& way : list)
      if (kept.empty() || way.samples > kept.back().samples) kept.push_back(way);
    return kept;
  }

  // Bytes of divided state that all teams have room for beside these ways; -1 where one has none.
  double state_left(const std::vector<const Way*>& chosen) {
    double left = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) left += free_of(group_of_[i], *chosen[i]);
    return left;
  }
  double free_of(int group, const Way& way) {
    const double most_state = memory_.state(group);
    // One that computes nothing keeps only its share.
    return std::clamp(limit(group) - way.bytes, 0.0, most_state);
  }
  double state_bytes() {
    double most_state = 0;
    for (const int group : computing()) most_state = std::max(most_state, memory_.state(group));
    return most_state;
  }

  std::map<int, std::vector<Way>> ways_at(double seconds) {
    std::map<int, std::vector<Way>> all;
    for (const int group : group_of_)
      if (!all.contains(group)) all[group] = ways(group, seconds);
    return all;
  }

  // Who takes which way so that B samples are reached with the most room for state; empty where
  // that is too little.
  std::vector<const Way*> choose(const std::map<int, std::vector<Way>>& all) {
    std::vector<const Way*> fastest;
    std::int64_t samples = 0;
    for (const int group : group_of_) {
      fastest.push_back(&all.at(group).back());
      samples += fastest.back()->samples;
    }
    if (samples < batch_) return {};
    if (manner_.zero == 0 || state_left(fastest) >= state_bytes()) return fastest;
    if (group_of_.size() * static_cast<std::size_t>(batch_) > kMostTable)
      return choose_by_kind(all);
    // least[i][j]: of the room that the first i teams would have doing nothing, what they take for
    // j samples (or for all of them and more).
    const std::size_t count = group_of_.size(), batch = static_cast<std::size_t>(batch_);
    std::vector<std::vector<double>> least(count + 1, std::vector<double>(batch + 1, kNone));
    std::vector<std::vector<std::uint8_t>> taken(count, std::vector<std::uint8_t>(batch + 1));
    least[0][0] = 0;
    double room = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<Way>& own = all.at(group_of_[i]);
      room += free_of(group_of_[i], own.front());
      for (std::size_t w = 0; w < own.size(); ++w) {
        const double bytes = free_of(group_of_[i], own.front()) - free_of(group_of_[i], own[w]);
        for (std::size_t j = 0; j <= batch; ++j) {
          if (least[i][j] == kNone) continue;
          const std::size_t to = std::min(batch, j + static_cast<std::size_t>(own[w].samples));
          if (least[i][j] + bytes < least[i + 1][to]) {
            least[i + 1][to] = least[i][j] + bytes;
            taken[i][to] = static_cast<std::uint8_t>(w);
          }
        }
      }
    }
    if (least[count][batch] == kNone || room - least[count][batch] < state_bytes()) return {};
    return trace(all, least, taken);
  }

  // Of many devices: all teams of a kind take the same way.
  std::vector<const Way*> choose_by_kind(const std::map<int, std::vector<Way>>& all) {
    std::vector<std::pair<int, std::size_t>> kinds;  // group, way
    for (const auto& [group, list] : all) kinds.emplace_back(group, 0);
    std::vector<const Way*> best;
    double most_left = state_bytes();
    for (bool more = true; more;) {
      std::vector<const Way*> chosen;
      std::int64_t samples = 0;
      for (const int group : group_of_) {
        const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                       [&](const auto& own) { return own.first == group; });
        chosen.push_back(&all.at(group)[kind->second]);
        samples += chosen.back()->samples;
      }
      if (const double left = state_left(chosen); samples >= batch_ && left >= most_left) {
        best = chosen;
        most_left = left;
      }
      more = false;
      for (auto& [group, way] : kinds) {
        if (++way < all.at(group).size()) {
          more = true;
          break;
        }
        way = 0;
      }
    }
    return best;
  }

  std::vector<const Way*> trace(const std::map<int, std::vector<Way>>& all,
                                const std::vector<std::vector<double>>& least,
                                const std::vector<std::vector<std::uint8_t>>& taken) {
    std::vector<const Way*> chosen(group_of_.size());
    std::size_t at = static_cast<std::size_t>(batch_);
    for (std::size_t i = group_of_.size(); i > 0; --i) {
      const std::vector<Way>& own = all.at(group_of_[i - 1]);
      chosen[i - 1] = &own[taken[i - 1][at]];
      const double bytes =
          free_of(group_of_[i - 1], own.front()) - free_of(group_of_[i - 1], *chosen[i - 1]);
      const auto samples = static_cast<std::size_t>(chosen[i - 1]->samples);
      // The state it came from: one sum of samples, or at the end any that reaches it.
      std::size_t from = at - std::min(at, samples);
      if (at == static_cast<std::size_t>(batch_))
        for (std::size_t j = from; j <= at; ++j)
          if (least[i - 1][j] + bytes == least[i][at]) {
            from = j;
            break;
          }
      at = from;
    }
    return chosen;
  }

  bool fits(double seconds) {
    const auto all = ways_at(seconds);
    return !choose(all).empty();
  }

  std::vector<TeamShare> shares(double seconds) {
    const auto all = ways_at(seconds);
    const std::vector<const Way*> chosen = choose(all);
    std::vector<TeamShare> teams;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      teams.push_back({group_of_[i], chosen[i]->samples, chosen[i]->micro_batch, 0});
    return teams;
  }

  double time_of(const TeamShare& team) {
    const int whole = team.samples / team.micro_batch, rest = team.samples % team.micro_batch;
    return (whole > 0 ? whole * one(team.group, team.micro_batch) : 0) +
           (rest > 0 ? one(team.group, rest) : 0);
  }

  // More samples than there are were found: the latest teams give some up, one at a time.
  void trim(std::vector<TeamShare>& teams) {
    std::int64_t over = -batch_;
    for (const TeamShare& team : teams) over += team.samples;
    std::vector<double> times;
    for (const TeamShare& team : teams) times.push_back(time_of(team));
    for (; over > 0; --over) {
      const auto last =
          static_cast<std::size_t>(std::max_element(times.begin(), times.end()) - times.begin());
      TeamShare& team = teams[last];
      --team.samples;
      quickest(team, team.micro_batch);
      times[last] = time_of(team);
    }
  }

  // Of the micro-batches that are no larger the quickest that fits beside an even share of state;
  // its own where none does.
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
    double least = time_of(team);
    TeamShare other = team;
    for (int m = 1; m <= std::min(largest, team.samples); ++m) {
      const int n = (team.samples + m - 1) / m;
      if (m > team.micro_batch &&
          memory_.without_state(team.group, m, n) +
                  memory_.state(team.group) / static_cast<double>(group_of_.size()) >
              limit(team.group))
        break;
      other.micro_batch = m;
      const double seconds = time_of(other);
      if (!(seconds < least)) continue;
      best = m;
      least = seconds;
    }
    return best;
  }

  // Seconds; kNone where it does not fit.
  double step_of(const std::vector<TeamShare>& teams) {
    ++machines_.evaluated;
    const cost::Prediction p =
        machines_.predictor().predict(flat_placement(machines_, manner_, teams));
    return p.fits && p.memory.total <= room_ * p.memory.capacity ? p.step : kNone;
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

  // A reduction hides behind the last micro-batch, so a small one that saves computing may cost
  // more than it saves: micro-batches that divide a team's samples are tried instead.
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
    double least = kNone;
    for (int m = 1; m <= std::min(kMostMicroBatch, team.samples); ++m) {
      if (team.samples % m != 0) continue;
      if (memory_.without_state(team.group, m, team.samples / m) > limit(team.group)) break;
      team.micro_batch = m;
      if (const double seconds = time_of(team); seconds < least) {
        least = seconds;
        best = m;
      }
    }
    return best;
  }

  // Where teams wait for each other at every layer a step is the sum of the slowest layers, which
  // the slowest team's sum is near to but not; and what a reduction hides behind is the last
  // micro-batch, which may be small. Single samples and other micro-batches are tried
  // until none is quicker.
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
        for (int m = 1; m <= std::min(teams[i].samples, kMostLast); ++m) {
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
          n > 0 ? memory_.without_state(teams[i].group, teams[i].micro_batch, n) : 0;
      room.push_back((limit(teams[i].group) - bytes) / memory_.state(teams[i].group));
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
  TeamMemory memory_;
  double room_;
  int batch_ = 0;
  std::vector<int> group_of_;                               // by team
  std::vector<std::vector<double>> seconds_;                // by group and samples; < 0: not known
  std::map<std::tuple<int, int, int, int>, int> quickest_;  // micro-batch by what was asked
  std::map<std::pair<int, int>, int> dividing_;             // so too: group, samples
};

}  // namespace

double flat_bound(Machines& machines, const FlatManner& manner) {
  double rate = 0;
  for (std::size_t g = 0; g < manner.uses.size(); ++g)
    if (manner.uses[g] > 0)
      rate += machines.rate(manner_of(manner, static_cast<int>(g))) * teams_of(manner, g);
  return rate > 0 ? static_cast<double>(machines.like().global_batch) / rate : kNone;
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
