#include "measure/stalls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/student_t.hpp"

namespace nereus::measure {

namespace {

using job::Block;
using Series = std::vector<double>;  // a number a round

double mean_of(const Series& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Series difference(const Series& left, const Series& right) {
  Series result(left.size());
  std::transform(left.begin(), left.end(), right.begin(), result.begin(), std::minus<>());
  return result;
}

// Times by block, rank and round; every block in every round, on every rank.
class Table {
 public:
  explicit Table(const std::vector<BlockTime>& times) {
    std::set<Block> blocks;
    std::map<int, int> seen;  // by round: how many
    for (const BlockTime& time : times) {
      blocks.insert(time.block);
      num_ranks = std::max(num_ranks, time.rank + 1);
      hosts_.insert(time.host);
      ++seen[time.round];
    }
    const int whole = static_cast<int>(blocks.size()) * num_ranks;
    std::map<int, std::size_t> place;
    for (const auto& [round, count] : seen)
      if (count == whole) place.emplace(round, place.size());
    rounds = static_cast<int>(place.size());
    for (const BlockTime& time : times)
      if (const auto at = place.find(time.round); at != place.end()) {
        put(seconds_, time, at->second, time.seconds);
        put(bytes_, time, at->second, time.bytes);
        if (time.block == Block::kTogether) put(slowest_, time, at->second, time.slowest);
        if (time.block == Block::kLaunch) operations = std::max(operations, time.count);
      }
  }
  bool has(Block block) const { return seconds_.count(block) > 0; }
  int num_hosts() const { return static_cast<int>(hosts_.size()); }
  const Series& of(Block block, int rank) const { return seconds_.at(block)[rank]; }
  const Series& slowest() const { return slowest_.at(Block::kTogether).front(); }
  // For ranks that wait for each other: the last one to finish.
  Series last(Block block) const {
    Series result = of(block, 0);
    for (int rank = 1; rank < num_ranks; ++rank)
      std::transform(result.begin(), result.end(), of(block, rank).begin(), result.begin(),
                     [](double a, double b) { return std::max(a, b); });
    return result;
  }
  double bytes(Block block) const {
    double sum = 0;
    for (const Series& series : bytes_.at(block)) sum += mean_of(series);
    return sum;
  }

  int num_ranks = 0, rounds = 0;
  std::int64_t operations = 0;

 private:
  using ByBlock = std::map<Block, std::vector<Series>>;
  void put(ByBlock& into, const BlockTime& time, std::size_t round, double value) const {
    std::vector<Series>& ranks = into[time.block];
    ranks.resize(static_cast<std::size_t>(num_ranks), Series(static_cast<std::size_t>(rounds)));
    ranks[time.rank][round] = value;
  }
  ByBlock seconds_, bytes_, slowest_;
  std::set<int> hosts_;
};

// Ranks by their mean time together, the quickest first.
std::vector<int> by_speed(const Table& table, Block block) {
  std::vector<int> ranks(static_cast<std::size_t>(table.num_ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<double> means;
  for (const int rank : ranks) means.push_back(mean_of(table.of(block, rank)));
  std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) { return means[a] < means[b]; });
  return ranks;
}

void set_numbers(Stall& stall, const Series& values, int num_measured) {
  const auto n = static_cast<double>(values.size());
  stall.measured = true;
  stall.seconds = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - stall.seconds) * (value - stall.seconds);
  const double error = std::sqrt(squares / (n - 1) / n);
  const double probability = 1 - (1 - kConfidence) / 2 / num_measured;
  const double half = t_quantile(probability, static_cast<int>(values.size()) - 1) * error;
  stall.low = stall.seconds - half;
  stall.high = stall.seconds + half;
}

Causes causes_of(const Table& table, StallReport& report, int& slowest_rank) {
  Causes causes;
  const bool several = table.has(Block::kTogether);
  const std::vector<int> ranks = by_speed(table, several ? Block::kTogether : Block::kAlone);
  const int median = ranks[(ranks.size() - 1) / 2];
  const Series& alone = table.of(Block::kAlone, median);
  report.alone_s = mean_of(alone);
  Series so_far = alone;
  report.at_hand_s = mean_of(table.last(Block::kAll));
  report.operations = table.operations;
  const auto add = [&](StallKind kind, Series up_to) {
    causes[kind] = difference(up_to, so_far);
    so_far = std::move(up_to);
  };
  if (table.has(Block::kLaunch)) {
    Series launches = table.of(Block::kLaunch, median);
    for (double& seconds : launches) seconds *= static_cast<double>(table.operations);
    causes[StallKind::kLaunch] = std::move(launches);
  }
  if (several) {
    add(StallKind::kContention, table.of(Block::kTogether, median));
    add(StallKind::kStraggler, table.slowest());
    if (table.has(Block::kHost)) add(StallKind::kInterconnect, table.last(Block::kHost));
    add(table.num_hosts() > 1 ? StallKind::kNetwork : StallKind::kInterconnect,
        table.last(Block::kAll));
    slowest_rank = ranks.back();
  } else {
    so_far = table.last(Block::kAll);
  }
  if (table.has(Block::kCopied)) add(StallKind::kHostCopy, table.last(Block::kCopied));
  if (table.has(Block::kWarm)) add(StallKind::kPrepare, table.last(Block::kWarm));
  report.warm_s = mean_of(so_far);
  if (table.has(Block::kCold)) add(StallKind::kFetch, table.last(Block::kCold));
  report.step_s = mean_of(so_far);
  return causes;
}

std::string why_not(StallKind kind, const Table& table) {
  switch (kind) {
    case StallKind::kLaunch:
      return "measured on CPUs only; a GPU computes while the next operations are launched";
    case StallKind::kContention:
    case StallKind::kStraggler:
      return "one rank";
    case StallKind::kInterconnect:
      return table.num_ranks == 1 ? "one rank" : "every rank has its own host";
    case StallKind::kNetwork:
      return table.num_ranks == 1 ? "one rank" : "one host";
    case StallKind::kHostCopy:
      return "ranks compute in host memory";
    case StallKind::kPrepare:
      return "no samples were prepared";
    case StallKind::kFetch:
      return "samples do not come from files";
  }
  return {};
}

}  // namespace

std::string_view to_string(StallKind kind) {
  constexpr std::string_view kNames[] = {"launch",  "contention", "straggler", "interconnect",
                                         "network", "host_copy",  "prepare",   "fetch"};
  return kNames[static_cast<int>(kind)];
}

void set_stalls(StallReport& report, const Causes& causes,
                const std::function<std::string(StallKind)>& why_not) {
  report.stalls.clear();
  for (int kind = 0; kind < kNumStalls; ++kind) {
    Stall stall{.kind = static_cast<StallKind>(kind)};
    if (const auto cause = causes.find(stall.kind); cause != causes.end())
      set_numbers(stall, cause->second, static_cast<int>(causes.size()));
    else
      stall.note = why_not(stall.kind);
    stall.share = report.step_s > 0 ? stall.seconds / report.step_s : 0;
    stall.significant = stall.measured && stall.low > kNegligible * report.step_s;
    report.stalls.push_back(std::move(stall));
  }
}

StallReport find_stalls(const std::vector<BlockTime>& times) {
  const Table table(times);
  if (table.rounds < 2)
    throw_input_error("measure.rounds",
                      fmt::format("{} of blocks; a difference needs at least two",
                                  counted(table.rounds, "complete round")),
                      {}, "a larger --seconds");
  StallReport report;
  report.rounds = table.rounds;
  report.num_ranks = table.num_ranks;
  report.num_hosts = table.num_hosts();
  int slowest_rank = -1;
  const Causes causes = causes_of(table, report, slowest_rank);
  set_stalls(report, causes, [&](StallKind kind) { return why_not(kind, table); });
  report.stalls[static_cast<std::size_t>(StallKind::kStraggler)].rank = slowest_rank;
  if (table.has(Block::kCold)) {
    report.bytes_from_storage = table.bytes(Block::kCold);
    if (report.bytes_from_storage == 0)
      report.notes.push_back(
          "the cold runs read nothing from storage: either the file system keeps the data in "
          "memory, or another process reads them");
  }
  return report;
}

}  // namespace nereus::measure
