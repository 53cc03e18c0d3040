#include "search/explore/answers.hpp"

#include <algorithm>

#include "search/explore/explore_front.hpp"

namespace nereus::explore {

namespace {

constexpr std::int64_t kSample = 20'000;  // points of a picture

// The best row so far during the scan: the least in one goal; of equal ones the one that is better
// in the other goals of the study, then the fastest.
class Leader {
 public:
  Leader() = default;
  Leader(const Study& study, std::size_t goal) : goals_{goal} {
    for (const Goal own : study.goals) goals_.push_back(static_cast<std::size_t>(own));
    goals_.push_back(static_cast<std::size_t>(Goal::kTime));
  }

  void offer(const GoalValues& values, std::int64_t at, int at_place) {
    if (point >= 0 && !better(values)) return;
    values_ = values;
    point = at;
    place = at_place;
  }

  std::int64_t point = -1;
  int place = 0;

 private:
  bool better(const GoalValues& values) const {
    for (const std::size_t goal : goals_)
      if (values[goal] != values_[goal]) return values[goal] < values_[goal];
    return false;
  }

  std::vector<std::size_t> goals_;
  GoalValues values_{};
};

std::int64_t id_of(std::int64_t point, int place) { return point * 4096 + std::min(place, 4095); }

}  // namespace

Answers answers(const Study& study, const Database& database) {
  Answers out;
  const auto first = static_cast<std::size_t>(study.goals.front());
  const auto second =
      study.goals.size() > 1 ? static_cast<std::size_t>(study.goals[1]) : std::size_t{1};
  Front front(study.goals);
  std::array<Leader, kNumGoals> best;
  for (std::size_t goal = 0; goal < kNumGoals; ++goal) best[goal] = Leader(study, goal);
  const Leader by_first(study, first);
  std::vector<std::vector<Leader>> by_axis(study.axes.size());
  for (std::size_t i = 0; i < study.axes.size(); ++i)
    by_axis[i].assign(study.axes[i].values.size(), by_first);
  std::vector<Leader> by_machine(study.machines.size(), by_first);
  std::vector<Leader> by_variant(study.variants.size(), by_first);
  const std::int64_t every = std::max<std::int64_t>(1, database.num_points() / kSample);

  database.scan([&](std::int64_t point, int place, const PointRow& row) {
    if (place == 0) {
      ++out.points;
      out.strategies += row.strategies;
      out.evaluated += row.evaluated;
      ++out.by_status[static_cast<std::size_t>(row.status)];
    }
    if (row.status != Status::kFound) return;
    if (place == 0) ++out.by_binding[static_cast<std::size_t>(row.found.binding)];
    const GoalValues& values = row.found.values;
    front.offer(id_of(point, place), values);
    for (std::size_t goal = 0; goal < kNumGoals; ++goal) best[goal].offer(values, point, place);
    const Coordinates at = coordinates(study, point);
    for (std::size_t i = 0; i < at.axes.size(); ++i)
      by_axis[i][at.axes[i]].offer(values, point, place);
    by_machine[at.machine].offer(values, point, place);
    by_variant[at.variant].offer(values, point, place);
    if (point % every == 0) out.sample.push_back({values[first], values[second]});
  });

  const auto answer = [&](std::int64_t point, int place) {
    const PointRow row = database.row(point, place);
    Answer own{point, place, coordinates(study, point), row.found, row.beyond};
    own.found.degrees = database.strategy(row.strategy);
    return own;
  };
  const auto lookup = [&](const Leader& leader) -> std::optional<Answer> {
    if (leader.point < 0) return std::nullopt;
    return answer(leader.point, leader.place);
  };
  for (const Goal goal : study.goals)
    out.best[static_cast<std::size_t>(goal)] = lookup(best[static_cast<std::size_t>(goal)]);
  for (const Front::Entry& entry : front.sorted())
    out.front.push_back(answer(entry.id / 4096, static_cast<int>(entry.id % 4096)));
  for (std::size_t i = 0; i < by_axis.size(); ++i)
    for (std::size_t v = 0; v < by_axis[i].size(); ++v)
      out.marginals.push_back({i, static_cast<int>(v), lookup(by_axis[i][v])});
  for (const Leader& own : by_machine) out.machines.push_back(lookup(own));
  for (const Leader& own : by_variant) out.variants.push_back(lookup(own));
  return out;
}

}  // namespace nereus::explore
