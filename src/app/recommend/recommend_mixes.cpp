#include "app/recommend/recommend_mixes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cluster/read.hpp"
#include "search/mixed/mixed_search.hpp"
#include "search/rent/mix.hpp"

namespace nereus::app {

namespace {

// A kind at one of its tariffs.
struct Candidate {
  int kind = 0;
  int tariff = 0;
};

// In the form of --cluster.
std::string spec_of(const MixPart& part) {
  const bool plain = part.offer.find_first_of("+ ") == std::string::npos;
  const char* const quote = plain ? "" : "\"";
  return fmt::format("{}x{}{}{}", part.count, quote, part.offer, quote);
}

struct MixPlan {
  double hours = rent::kNever;
  double step = 0;
  std::array<double, cost::kNumParts> parts{};
  double goodput = 1;
  rent::FeedTime feed;
  std::string family;
};

class MixPlanner {
 public:
  MixPlanner(const RecommendRequest& request, const model::Model& model, const BatchWork& work,
             Machines& machines, const rent::Terms& terms)
      : request_(request), model_(model), work_(work), machines_(machines), terms_(terms) {}

  // Offers of one place next to each other, the best kMixOffers of each.
  void choose(const rent::Rented& rented) {
    for (const rent::Choice& choice : rented.best) consider({choice.kind, choice.tariff});
    std::vector<Candidate> rest;
    for (int k = 0; k < static_cast<int>(machines_.kinds().size()); ++k)
      for (int t = 0; t < static_cast<int>(kind(k).tariffs.size()); ++t) rest.push_back({k, t});
    std::stable_sort(rest.begin(), rest.end(), [&](const Candidate& a, const Candidate& b) {
      return tariff(a).usd_per_hour * kind(a.kind).least_hours(1) <
             tariff(b).usd_per_hour * kind(b.kind).least_hours(1);
    });
    for (const Candidate& own : rest) consider(own);
  }

  rent::Mixed find(std::vector<int> counts, const std::optional<rent::Choice>& beat) {
    std::erase_if(counts, [](int n) { return n > kMixMachines; });
    const auto hours_of = [&](const rent::Mix& mix, double limit) {
      const double hours = plan(mix, limit).hours;
      return hours <= limit && !same_number_is_better(mix, hours) ? hours : rent::kNever;
    };
    return rent::best_mix(offers_, counts, terms_, beat, hours_of, kMostMixes);
  }

  RecommendOption option_of(const rent::Mix& mix) {
    const MixPlan found = plan(mix, mix.hours * (1 + 1e-12));
    const Candidate &a = chosen(mix.first), &b = chosen(mix.second);
    RecommendOption o;
    o.mix = {part(a, mix.num_first), part(b, mix.num_second)};
    o.provider = node(a).provider;
    o.offer = spec_of(o.mix[0]) + "+" + spec_of(o.mix[1]);
    o.count = mix.num_first + mix.num_second;
    o.spot = tariff(a).spot;
    o.global_batch = work_.batch;
    o.steps = work_.steps;
    o.family = found.family;
    o.compute = found.step;
    o.parts = found.parts;
    o.feed = found.feed;
    o.step = std::max(found.step, found.feed.seconds());
    o.hours = mix.hours;
    o.usd = mix.usd;
    o.goodput = found.goodput;
    o.meets_deadline = mix.hours <= terms_.deadline_hours;
    o.usd_per_hour =
        mix.num_first * tariff(a).usd_per_hour + mix.num_second * tariff(b).usd_per_hour;
    o.price_date = std::min(node(a).price.date, node(b).price.date);
    return o;
  }

 private:
  using Place = std::tuple<std::string, std::string, bool, cluster::Precision, std::string>;

  const rent::Kind& kind(int k) const { return machines_.kinds()[k]; }
  const rent::Tariff& tariff(const Candidate& c) const { return kind(c.kind).tariffs[c.tariff]; }
  const cluster::Node& node(const Candidate& c) const { return machines_.offer(c.kind).node; }
  const Candidate& chosen(int offer) const { return chosen_[offer]; }
  MixPart part(const Candidate& c, int count) const {
    return {node(c).name, count, tariff(c).usd_per_hour};
  }

  // The number of spot machines at work is at most the number available.
  double present(const Candidate& c) const { return tariff(c).spot ? machines_.present() : 1; }

  void consider(const Candidate& c) {
    if (kind(c.kind).most == 1 || node(c).network.value <= 0) return;
    const Place place = place_of(c);
    const auto [at, is_new] = places_.try_emplace(place, static_cast<int>(places_.size()));
    if (is_new) num_of_place_.push_back(0);
    int& num = num_of_place_[at->second];
    for (const Candidate& known : chosen_)
      if (machines_.same_hardware(known.kind, c.kind) && place_of(known) == place) return;
    if (num == kMixOffers) return;
    ++num;
    chosen_.push_back(c);
    offers_.push_back({at->second, tariff(c).usd_per_hour, present(c) / kind(c.kind).least_hours(1),
                       [this, c] { return present(c) * rate(c.kind); }});
  }

  Place place_of(const Candidate& c) const {
    return {node(c).provider, node(c).price.region, tariff(c).spot, machines_.precision(c.kind),
            machines_.basis(c.kind).stack.name};
  }

  cluster::Cluster cluster_of(const std::vector<cluster::NodeGroup>& groups) const {
    cluster::Cluster cluster;
    cluster.groups = groups;
    cluster.levels = {cluster::node_network_level(cluster)};
    return cluster;
  }

  mixed::MixedOptions options_for(int k) const {
    mixed::MixedOptions options;
    options.global_batch = work_.batch;
    options.precision = machines_.precision(k);
    return options;
  }

  // Jobs an hour that one machine does not exceed in any plan of search/mixed.
  double rate(int k) const {
    const double step = mixed::least_step(model_, cluster_of({{1, machines_.offer(k).node}}),
                                          machines_.basis(k), options_for(k));
    return 3600 / (work_.steps * step);
  }

  // Machines of both kinds feed from one pool; the smaller memory caches.
  rent::FeedTime feed(const rent::Mix& mix) const {
    const cluster::Node &a = node(chosen(mix.first)), &b = node(chosen(mix.second));
    const int machines = mix.num_first + mix.num_second;
    const auto memory = [](const cluster::Node& n) {
      const cluster::MemoryTier* host = n.tier("host");
      return host ? host->capacity.value : 0;
    };
    const double cores = (mix.num_first * a.vcpus + mix.num_second * b.vcpus) / 2.0 / machines;
    return rent::feed_time(request_.feed, {cores, std::min(memory(a), memory(b))}, machines,
                           work_.batch);
  }

  MixPlan plan(const rent::Mix& mix, double limit) const {
    const Candidate &a = chosen(mix.first), &b = chosen(mix.second);
    MixPlan out;
    out.feed = feed(mix);
    mixed::MixedOptions options = options_for(a.kind);
    options.limit = (limit - terms_.start_hours) * 3600 / work_.steps * present(a);
    const cluster::Cluster cluster =
        cluster_of({{mix.num_first, node(a)}, {mix.num_second, node(b)}});
    const mixed::MixedResult found =
        mixed::search(model_, cluster, machines_.basis(a.kind), options);
    if (found.plans.empty()) return out;
    const mixed::MixedPlan& best = found.plans.front();
    out.step = best.prediction.step;
    out.family = best.family;
    out.parts = best.prediction.parts;
    const double step = std::max(out.step, out.feed.seconds());
    if (tariff(a).spot) {
      const double state = best.prediction.memory.part(cost::MemoryPart::kWeights) +
                           best.prediction.memory.part(cost::MemoryPart::kOptimizer);
      out.goodput = machines_.goodput(
          {.machines = mix.num_first + mix.num_second,
           .step = step,
           .state_bytes = state * std::max(node(a).num_devices, node(b).num_devices),
           .bandwidth = std::min(node(a).network.value, node(b).network.value),
           .copies = false});
    }
    if (out.goodput > 0) out.hours = terms_.start_hours + work_.steps * step / 3600 / out.goodput;
    return out;
  }

  // The advantage must come from two kinds, not from one more machine.
  bool same_number_is_better(const rent::Mix& mix, double hours) {
    const int machines = mix.num_first + mix.num_second;
    const double usd = hours * (mix.num_first * tariff(chosen(mix.first)).usd_per_hour +
                                mix.num_second * tariff(chosen(mix.second)).usd_per_hour);
    for (const Candidate& c : {chosen(mix.first), chosen(mix.second)}) {
      if (machines > kind(c.kind).most) continue;
      const double per_hour = machines * tariff(c).usd_per_hour;
      const double most = std::min(terms_.deadline_hours, std::max(hours, usd / per_hour));
      const double alone = kind(c.kind).hours(machines, most - terms_.start_hours);
      if (alone >= rent::kNever) continue;
      const double own = terms_.start_hours + alone / kind(c.kind).pace(machines, tariff(c).spot);
      const bool money = terms_.deadline_hours < rent::kNever || terms_.budget_usd == rent::kNever;
      if (own <= terms_.deadline_hours && own * per_hour <= terms_.budget_usd &&
          (money ? own * per_hour <= usd : own <= hours))
        return true;
    }
    return false;
  }

  const RecommendRequest& request_;
  const model::Model& model_;
  const BatchWork work_;
  Machines& machines_;
  const rent::Terms terms_;
  std::map<Place, int> places_;
  std::vector<int> num_of_place_;
  std::vector<Candidate> chosen_;
  std::vector<rent::MixOffer> offers_;  // as chosen_
};

}  // namespace

MixSearch find_mix(const RecommendRequest& request, const model::Model& model,
                   const BatchWork& work, Machines& machines, const rent::Rented& rented,
                   const std::vector<int>& counts, const rent::Terms& terms) {
  MixSearch out;
  bool experts = model.table_layer() >= 0;
  for (const model::LayerKind& kind : model.kinds) experts |= kind.expert_parameters() > 0;
  if (experts) {
    out.why_not = fmt::format("{} has experts or embedding tables", model.name);
    return out;
  }
  MixPlanner planner(request, model, work, machines, terms);
  planner.choose(rented);
  const rent::Mixed found =
      planner.find(counts, rented.best.empty() ? std::nullopt : std::optional(rented.best.front()));
  out.planned = found.planned;
  out.cut = found.cut;
  out.left_out = found.left_out;
  if (found.best) out.option = planner.option_of(*found.best);
  return out;
}

}  // namespace nereus::app
