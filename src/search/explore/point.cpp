#include "search/explore/point.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "plan/rules.hpp"
#include "search/explore/candidates.hpp"
#include "search/regular/regular_search.hpp"

namespace nereus::explore {

// The fields of a study that a space depends on.
struct SpaceKey {
  int variant;
  int devices;
  int per_node;
  int domain;
  unsigned tiers;  // bit: has host, expanded, nvme
  auto operator<=>(const SpaceKey&) const = default;
};

namespace {

// Up to so many strategies are predicted one by one: bounds would cost as much as they save.
constexpr std::int64_t kListed = 512;

SpaceKey key_of(int variant, const cluster::Cluster& cluster) {
  const cluster::Node& node = cluster.groups.front().node;
  unsigned tiers = 0;
  for (const cluster::MemoryTier& tier : node.tiers)
    tiers |= tier.name == "host" ? 1U : tier.name == "expanded" ? 2U : 4U;
  return {variant, cluster.num_devices(), node.num_devices, node.domain(), tiers};
}

}  // namespace

struct Explorer::KnownSpace {
  std::int64_t count = 0;
  std::vector<plan::Degrees> list;  // where they are few
};

struct Explorer::Spaces {
  std::map<SpaceKey, KnownSpace> known;
};

std::string_view to_string(Status status) {
  switch (status) {
    case Status::kFound:
      return "found";
    case Status::kNothingFits:
      return "nothing fits";
    case Status::kNothingBuilds:
      return "nothing can be built";
    case Status::kNoCluster:
      return "no such cluster or model";
    case Status::kExcluded:
      return "beyond a constraint";
  }
  return "";
}

GoalValues goal_values(const Variant& variant, const Running& running, int devices, double step,
                       double busy) {
  const double steps = variant.steps();
  GoalValues values{};
  values[static_cast<std::size_t>(Goal::kTime)] = steps * step;
  values[static_cast<std::size_t>(Goal::kMoney)] = steps * step * running.usd_per_s;
  values[static_cast<std::size_t>(Goal::kEnergy)] =
      running.device_watts > 0 ? steps * joules(running, step, busy) : 0;
  values[static_cast<std::size_t>(Goal::kDevices)] = devices;
  return values;
}

bool within(const Constraints& constraints, const GoalValues& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] > constraints.most[i]) return false;
  return true;
}

namespace {

search::Choices choices_of(const Study& study, const Variant& variant) {
  search::Choices choices = study.strategy.choices;
  choices.offload_any = study.strategy.offload != OffloadUse::kNone;
  if (study.strategy.offload == OffloadUse::kExpanded)
    choices.offload_tiers = {plan::Tier::kExpanded};
  choices.global_batch = variant.global_batch;
  choices.precision = variant.precision;
  return choices;
}

// The stated strategies that can be built on so many devices.
std::vector<plan::Degrees> stated(const Study& study, const Variant& variant,
                                  const cluster::Cluster& cluster) {
  std::vector<plan::Degrees> list;
  const plan::DegreeLimits limits = plan::degree_limits(variant.model, cluster);
  for (plan::Degrees d : study.strategy.list) {
    const int team = d.tp * d.pp * d.cp;
    if (d.dp == 0) {
      if (limits.devices % team != 0) continue;
      d.dp = limits.devices / team;
    }
    d.global_batch = variant.global_batch;
    d.precision = variant.precision;
    if (d.num_ranks() != limits.devices || d.global_batch % (d.dp * d.micro_batch) != 0) continue;
    if (plan::violated_rules(d, limits) == 0) list.push_back(d);
  }
  return list;
}

bool fits(const cost::Prediction& p, double headroom) {
  return p.memory.total <= p.memory.capacity * (1 - headroom) &&
         p.memory.beyond <= p.memory.beyond_capacity;
}

bool counts_energy(const Study& study) {
  const auto energy = static_cast<std::size_t>(Goal::kEnergy);
  return study.constraints.most[energy] < Constraints{}.most[energy] ||
         std::find(study.goals.begin(), study.goals.end(), Goal::kEnergy) != study.goals.end();
}

bool counts_money(const Study& study) {
  return std::find(study.goals.begin(), study.goals.end(), Goal::kMoney) != study.goals.end();
}

// The best of the strategies offered, or their front in time and energy.
class Best {
 public:
  explicit Best(bool front) : front_(front) {}

  void offer(const plan::Degrees& degrees, const cost::Prediction& prediction) {
    if (!front_ && !kept_.empty()) {
      const cost::Prediction& best = kept_.front().second;
      if (std::tie(prediction.step, prediction.memory.total) >=
          std::tie(best.step, best.memory.total))
        return;
      kept_.front() = {degrees, prediction};
      return;
    }
    for (const auto& [d, p] : kept_)
      if (p.step <= prediction.step && weight(p) <= weight(prediction)) return;
    std::erase_if(kept_, [&](const auto& own) {
      return prediction.step <= own.second.step && weight(prediction) <= weight(own.second);
    });
    kept_.emplace_back(degrees, prediction);
  }

  std::vector<std::pair<plan::Degrees, cost::Prediction>> take() {
    std::stable_sort(kept_.begin(), kept_.end(),
                     [](const auto& a, const auto& b) { return a.second.step < b.second.step; });
    return std::move(kept_);
  }

 private:
  // Energy in units of the rated power.
  static double weight(const cost::Prediction& p) {
    return search::value_of(search::Objective::kEnergy, p.step, p.busy, {0, 1});
  }

  bool front_;
  std::vector<std::pair<plan::Degrees, cost::Prediction>> kept_;
};

}  // namespace

Explorer::Explorer(const Study& study) : study_(study), spaces_(std::make_unique<Spaces>()) {}
Explorer::~Explorer() = default;
Explorer::Explorer(Explorer&&) noexcept = default;

const Explorer::KnownSpace& Explorer::known_space(int variant_index,
                                                  const cluster::Cluster& cluster) {
  auto [place, fresh] = spaces_->known.try_emplace(key_of(variant_index, cluster));
  KnownSpace& space = place->second;
  if (!fresh) return space;
  const Variant& variant = study_.variants[variant_index];
  if (!study_.strategy.list.empty()) {
    space.list = stated(study_, variant, cluster);
    space.count = static_cast<std::int64_t>(space.list.size());
    return space;
  }
  const search::Space all(choices_of(study_, variant), variant.model, cluster);
  space.count = count_candidates(all);
  if (space.count <= kListed) space.list = list_candidates(all);
  return space;
}

PointResult Explorer::evaluate(std::int64_t point) {
  const Coordinates at = coordinates(study_, point);
  const std::optional<cluster::Cluster> cluster = cluster_at(study_, at);
  if (!cluster) return {};
  return evaluate(at.variant, at.machine, *cluster);
}

PointResult Explorer::evaluate(int variant, int machine, const cluster::Cluster& cluster) {
  return evaluate(variant, machine, cluster, study_.constraints);
}

PointResult Explorer::evaluate_unlimited(int variant, int machine,
                                         const cluster::Cluster& cluster) {
  return evaluate(variant, machine, cluster, Constraints{});
}

PointResult Explorer::evaluate(int variant_index, int machine_index,
                               const cluster::Cluster& cluster, const Constraints& limits) {
  const Variant& variant = study_.variants[variant_index];
  const StudyMachine& machine = study_.machines[machine_index];
  PointResult result;
  if (!variant.unbuildable.empty()) return result;
  const cost::Basis& basis = machine.basis_for(variant);
  const Running costs = running(study_.prices, machine.cluster, cluster);
  // A price below zero, or none, is no price: such a cluster must not win by it.
  if (counts_money(study_) && !(costs.usd_per_s > 0)) {
    result.status = Status::kExcluded;
    return result;
  }
  if (cluster.num_devices() > limits.most[static_cast<std::size_t>(Goal::kDevices)] ||
      costs.watts() > limits.watts || costs.usd_per_s * 3600 > limits.usd_per_hour) {
    result.status = Status::kExcluded;
    return result;
  }

  const KnownSpace& space = known_space(variant_index, cluster);
  result.strategies = space.count;
  if (space.count == 0) {
    result.status = Status::kNothingBuilds;
    return result;
  }

  cost::Predictor predictor(variant.model, cluster, basis, 16);
  std::vector<std::pair<plan::Degrees, cost::Prediction>> kept;
  double beyond = 0;
  if (static_cast<std::int64_t>(space.list.size()) == space.count) {
    Best best(counts_energy(study_));
    for (const plan::Degrees& d : space.list) {
      const cost::Prediction p = predictor.predict(d);
      if (fits(p, study_.headroom))
        best.offer(d, p);
      else if (beyond == 0 || p.step < beyond)
        beyond = p.step;
    }
    result.evaluated = space.count;
    kept = best.take();
  } else {
    search::SearchOptions options;
    options.top = 1;
    options.threads = 1;
    options.headroom = study_.headroom;
    if (counts_energy(study_))
      options.objectives = {search::Objective::kTime, search::Objective::kEnergy};
    const search::SearchResult found =
        search::search(variant.model, {cluster}, basis, choices_of(study_, variant), options);
    result.evaluated = found.evaluated;
    beyond = found.beyond;
    for (const search::Candidate& own : found.plans) kept.emplace_back(own.degrees, own.prediction);
  }
  if (kept.empty()) {
    result.status = Status::kNothingFits;
    return result;
  }
  if (beyond < kept.front().second.step) result.beyond = beyond;

  for (const auto& [d, p] : kept) {
    Found own;
    own.values = goal_values(variant, costs, cluster.num_devices(), p.step, p.busy);
    const cost::Roofline roofline = predictor.roofline(d);
    own.degrees = d;
    own.step = p.step;
    own.busy = p.busy;
    own.memory = p.memory.total;
    own.mfu = p.mfu;
    own.intensity = roofline.intensity();
    own.memory_bound = roofline.memory_bound;
    own.binding = binding(resource_seconds(p, d, roofline, predictor.domain(), result.beyond));
    result.found.push_back(own);
  }
  // Beyond a constraint the quickest stays, so that one can see by how much.
  const auto beyond_limits = [&](const Found& own) { return !within(limits, own.values); };
  if (std::all_of(result.found.begin(), result.found.end(), beyond_limits)) {
    result.found.resize(1);
    result.status = Status::kExcluded;
  } else {
    std::erase_if(result.found, beyond_limits);
    result.status = Status::kFound;
  }
  return result;
}

cost::Prediction Explorer::predict(int variant, int machine, const cluster::Cluster& cluster,
                                   const plan::Degrees& degrees) const {
  const Variant& own = study_.variants[variant];
  const StudyMachine& machines = study_.machines[machine];
  return cost::Predictor(own.model, cluster, machines.basis_for(own), 4).predict(degrees);
}

std::optional<Explorer::Lean> Explorer::leanest(int variant_index, int machine_index,
                                                const cluster::Cluster& cluster) {
  const Variant& variant = study_.variants[variant_index];
  if (!variant.unbuildable.empty()) return std::nullopt;
  const cost::Basis& basis = study_.machines[machine_index].basis_for(variant);
  const KnownSpace& space = known_space(variant_index, cluster);
  std::optional<Lean> least;
  const auto offer = [&](const plan::Degrees& d, const cost::Memory& memory) {
    if (!least || memory.total < least->memory) least = {d, memory.total, memory.capacity};
  };
  if (static_cast<std::int64_t>(space.list.size()) < space.count) {
    search::SearchOptions options;
    options.threads = 1;
    options.headroom = study_.headroom;
    const search::SearchResult found =
        search::search(variant.model, {cluster}, basis, choices_of(study_, variant), options);
    if (found.nearest) offer(found.nearest->degrees, found.nearest->prediction.memory);
    return least;
  }
  cost::Predictor predictor(variant.model, cluster, basis, 16);
  for (const plan::Degrees& d : space.list) offer(d, predictor.predict(d).memory);
  return least;
}

std::vector<LayoutStep> Explorer::layouts(int variant_index, int machine_index,
                                          const cluster::Cluster& cluster, int top) {
  const Variant& variant = study_.variants[variant_index];
  std::vector<LayoutStep> out;
  if (!variant.unbuildable.empty()) return out;
  const cost::Basis& basis = study_.machines[machine_index].basis_for(variant);
  const KnownSpace& space = known_space(variant_index, cluster);
  if (static_cast<std::int64_t>(space.list.size()) < space.count) {
    search::SearchOptions options;
    options.top = top;
    options.threads = 1;
    options.headroom = study_.headroom;
    for (const search::Candidate& own :
         search::search(variant.model, {cluster}, basis, choices_of(study_, variant), options)
             .plans)
      out.push_back({own.degrees, own.prediction.step, true});
    return out;
  }
  cost::Predictor predictor(variant.model, cluster, basis, 16);
  for (const plan::Degrees& d : space.list) {
    const cost::Prediction p = predictor.predict(d);
    const LayoutStep own{d, p.step, fits(p, study_.headroom)};
    const auto same = std::find_if(out.begin(), out.end(), [&](const LayoutStep& other) {
      return std::tie(other.degrees.tp, other.degrees.pp, other.degrees.cp, other.degrees.ep) ==
             std::tie(d.tp, d.pp, d.cp, d.ep);
    });
    if (same == out.end())
      out.push_back(own);
    else if (std::pair(!own.fits, own.step) < std::pair(!same->fits, same->step))
      *same = own;
  }
  std::stable_sort(out.begin(), out.end(), [](const LayoutStep& a, const LayoutStep& b) {
    return std::pair(!a.fits, a.step) < std::pair(!b.fits, b.step);
  });
  return out;
}

}  // namespace nereus::explore
