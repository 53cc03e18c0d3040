#include "search/mixed/division.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace nereus::mixed {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostTable = 4 << 20;  // teams x samples whose division is exact
constexpr int kMostLast = 16;                // samples of a smaller last micro-batch that are tried

}  // namespace

Division::Division(Machines& machines, const FlatManner& manner, double room)
    : machines_(machines), manner_(manner), memory_(machines, manner), room_(room) {
  batch_ = static_cast<int>(machines.like().global_batch);
  for (std::size_t g = 0; g < machines.groups().size(); ++g)
    for (int t = 0; t < teams_of(manner, g); ++t) group_of_.push_back(static_cast<int>(g));
}

bool Division::exists(double seconds) {
  const WaysOfGroups all = ways_at(seconds);
  return !choose(all).empty();
}

std::vector<TeamShare> Division::within(double seconds) {
  const WaysOfGroups all = ways_at(seconds);
  const Chosen chosen = choose(all);
  std::vector<TeamShare> teams;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    teams.push_back({group_of_[i], chosen[i]->samples, chosen[i]->micro_batch, 0});
  return teams;
}

// Asked for millions of times: known by index.
double Division::one(int group, int m) {
  const auto g = static_cast<std::size_t>(group), at = static_cast<std::size_t>(m);
  if (g >= seconds_.size()) seconds_.resize(g + 1);
  if (at >= seconds_[g].size()) seconds_[g].resize(at + 1, -1);
  if (seconds_[g][at] < 0) seconds_[g][at] = machines_.seconds(manner_of(manner_, group), m);
  return seconds_[g][at];
}

double Division::time_of(const TeamShare& team) {
  const int whole = team.samples / team.micro_batch, rest = team.samples % team.micro_batch;
  return (whole > 0 ? whole * one(team.group, team.micro_batch) : 0) +
         (rest > 0 ? one(team.group, rest) : 0);
}

std::vector<int> Division::computing() const {
  std::vector<int> groups;
  for (std::size_t g = 0; g < manner_.uses.size(); ++g)
    if (teams_of(manner_, g) > 0) groups.push_back(static_cast<int>(g));
  return groups;
}

// The most samples of micro-batches of m, and of a smaller last one, within T that fit a device.
Division::Way Division::most(int group, int m, double seconds) {
  const double allowed = seconds * (1 + 1e-12);
  const int by_time =
      static_cast<int>(std::min(allowed / one(group, m), static_cast<double>(batch_ / m)));
  // Memory grows with the number of micro-batches if all of them pass one layer before the next.
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

// Ways within T, with more samples only for more memory; the first way is to only store state.
std::vector<Division::Way> Division::ways(int group, double seconds) {
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

// Bytes of sharded state for which all teams have memory, in addition to these ways.
double Division::state_left(const Chosen& chosen) {
  double left = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) left += free_of(group_of_[i], *chosen[i]);
  return left;
}

double Division::free_of(int group, const Way& way) {
  const double most_state = memory_.state(group);
  // One that computes nothing keeps only its share.
  return std::clamp(limit(group) - way.bytes, 0.0, most_state);
}

double Division::state_bytes() {
  double most_state = 0;
  for (const int group : computing()) most_state = std::max(most_state, memory_.state(group));
  return most_state;
}

Division::WaysOfGroups Division::ways_at(double seconds) {
  WaysOfGroups all;
  for (const int group : group_of_)
    if (!all.contains(group)) all[group] = ways(group, seconds);
  return all;
}

// Chooses a way for each team such that B samples are reached with the most memory left for state;
// empty if that is not enough.
Division::Chosen Division::choose(const WaysOfGroups& all) {
  Chosen fastest;
  std::int64_t samples = 0;
  for (const int group : group_of_) {
    fastest.push_back(&all.at(group).back());
    samples += fastest.back()->samples;
  }
  if (samples < batch_) return {};
  if (manner_.zero == 0 || state_left(fastest) >= state_bytes()) return fastest;
  if (group_of_.size() * static_cast<std::size_t>(batch_) > kMostTable) return choose_by_kind(all);
  // least[i][j]: how much of the memory that the first i teams have without work they use for j
  // samples (or for all of them and more).
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

// With many devices, all teams of a kind use the same way.
Division::Chosen Division::choose_by_kind(const WaysOfGroups& all) {
  std::vector<std::pair<int, std::size_t>> kinds;  // group, way
  for (const auto& [group, list] : all) kinds.emplace_back(group, 0);
  Chosen best;
  double most_left = state_bytes();
  for (bool more = true; more;) {
    Chosen chosen;
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

Division::Chosen Division::trace(const WaysOfGroups& all,
                                 const std::vector<std::vector<double>>& least,
                                 const std::vector<std::vector<std::uint8_t>>& taken) {
  Chosen chosen(group_of_.size());
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

}  // namespace nereus::mixed
