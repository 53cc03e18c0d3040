#include "app/recommend/recommend_machines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "cluster/cells.hpp"
#include "cluster/read.hpp"
#include "plan/complete.hpp"
#include "spec/source.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

constexpr const char* kOffersFile = "catalog/offers.csv";

// The program's catalogue with another list of offers.
cluster::Catalogue with_offers(const std::string& file) {
  const std::string text = spec::read_text_file(file);
  std::vector<EmbeddedFile> files = embedded_files();
  for (EmbeddedFile& own : files)
    if (own.path == kOffersFile) own.text = text;
  return cluster::Catalogue::load(files);  // copies what it keeps
}

// Without what does not decide how fast it is.
cluster::Node bare(cluster::Node node) {
  node.name.clear();
  node.provider.clear();
  node.price = {};
  node.source.clear();
  node.vcpus = 0;
  return node;
}

bool is_wanted(const RecommendRequest& request, const cluster::Node& node) {
  if (request.offers.empty()) return true;
  const std::string name = cluster::lower(node.provider + " " + node.name);
  return std::any_of(request.offers.begin(), request.offers.end(), [&](const std::string& part) {
    return name.find(cluster::lower(part)) != std::string::npos;
  });
}

}  // namespace

Machines::Machines(const RecommendRequest& request, const model::Model& model,
                   const std::vector<BatchWork>& works, const rent::Preemptions& preemptions)
    : request_(request), model_(model), works_(works), preemptions_(preemptions) {
  // The largest batch first: on many machines it finishes first, and a small batch there needs a
  // long search unless its time is limited.
  std::reverse(works_.begin(), works_.end());
  if (!request.offers_file.empty()) own_ = with_offers(request.offers_file);
  const cluster::Catalogue& known = own_ ? *own_ : cluster::builtin_catalogue();
  for (const cluster::Offer& offer : known.offers())
    if (is_wanted(request, offer.node)) add(offer);
  if (num_offers_ == 0)
    throw_input_error("recommend.no-offer", "no offer matches this name", {},
                      "nereus catalog offers lists them");
}

void Machines::add(const cluster::Offer& offer) {
  ++num_offers_;
  const cluster::Price& price = offer.node.price;
  const auto refuse = [&](const std::string& reason) {
    refused_.push_back({offer.node.provider, offer.node.name, reason});
  };
  if (!offer.why_not.empty()) return refuse(offer.why_not);
  rent::Kind kind;
  if (request_.on_demand && price.on_demand.value > 0)
    kind.tariffs.push_back({price.on_demand.value, false});
  if (request_.spot && price.spot.value > 0) kind.tariffs.push_back({price.spot.value, true});
  if (kind.tariffs.empty())
    return refuse(request_.spot && request_.on_demand ? "no price is known"
                  : request_.spot                     ? "no spot price is known"
                                                      : "no on-demand price is known");
  Hardware& hardware = hardware_of(offer);
  if (!hardware.node.device.has(hardware.precision))
    return refuse(fmt::format("{} does not support {}", hardware.node.device.name,
                              cluster::to_string(hardware.precision)));
  if (!offer.why_not_many.empty()) kind.most = 1;
  const int number = static_cast<int>(kinds_.size());
  kind.least_hours = [this, number](int machines) {
    double least = rent::kNever;
    for (const BatchWork& work : works_)
      least = std::min(least, least_hours(number, machines, work));
    return least;
  };
  kind.hours = [this, number](int machines, double limit) {
    const FoundPlan plan = find(number, machines, limit);
    const double own = hours(number, machines, plan);
    return own <= limit ? own : rent::kNever;
  };
  kind.pace = [this, number](int machines, bool spot) {
    return spot ? goodput(number, machines) : 1.0;
  };
  of_kind_.push_back(&hardware);
  offers_.push_back(&offer);
  kinds_.push_back(std::move(kind));
}

Machines::Hardware& Machines::hardware_of(const cluster::Offer& offer) {
  const cluster::Node node = bare(offer.node);
  for (const auto& known : hardware_)
    if (known->node == node) return *known;
  auto own = std::make_unique<Hardware>();
  own->node = node;
  const std::string& named = request_.calibration.stack;
  own->basis = cost::Basis(
      cost::load_stack(named.empty() ? cost::default_stack(model_, node.device) : named));
  cluster::Cluster one;
  one.groups = {{1, node}};
  plan::DegreesRequest wanted;
  wanted.precision = request_.precision;
  own->precision = plan::complete_degrees(wanted, model_, one).degrees.precision;
  own->basis = own->basis.in_precision(own->precision);
  hardware_.push_back(std::move(own));
  return *hardware_.back();
}

double Machines::headroom_of(const Hardware& hardware, const cluster::Cluster& cluster) const {
  if (request_.headroom) return *request_.headroom;
  const cost::Stack& stack = hardware.basis.stack;
  if (!stack.errors) return 0;
  const cost::Conditions conditions = cost::conditions_of(
      model_, cluster.groups.front(), cluster.num_devices(), plan::Degrees{}, stack, 1);
  return stack.errors->headroom_for(conditions, kFitsByDefault).value_or(0);
}

FoundPlan Machines::search(const Hardware& hardware, int machines, const BatchWork& work,
                           double limit) const {
  cluster::Cluster cluster;
  cluster.groups = {{machines, hardware.node}};
  cluster.levels = {cluster::node_network_level(cluster)};
  search::Choices choices;
  choices.global_batch = work.batch;
  choices.precision = hardware.precision;
  search::SearchOptions options;
  options.top = 1;
  options.threads = 1;
  options.limit = limit;
  options.counts = false;
  options.headroom = headroom_of(hardware, cluster);
  const search::SearchResult result =
      search::search(model_, {cluster}, hardware.basis, choices, options);
  FoundPlan out;
  out.work = work;
  out.limit = limit;
  if (result.plans.empty() || result.plans.front().prediction.step > limit) return out;
  const search::Candidate& best = result.plans.front();
  const int devices = std::min(best.degrees.num_ranks(), hardware.node.num_devices);
  out.fits = true;
  out.degrees = best.degrees;
  out.step = best.prediction.step;
  out.parts = best.prediction.parts;
  out.state_bytes = devices * (best.prediction.memory.part(cost::MemoryPart::kWeights) +
                               best.prediction.memory.part(cost::MemoryPart::kOptimizer));
  const int of_a_copy = best.degrees.num_ranks() / best.degrees.dp;
  out.copies = best.degrees.zero == 0 && of_a_copy * 2 <= best.degrees.num_ranks() &&
               best.degrees.num_ranks() > hardware.node.num_devices;
  return out;
}

double Machines::least_hours(int kind, int machines, const BatchWork& work) const {
  const Hardware& hardware = *of_kind_[kind];
  const double peak = hardware.node.device.peak_of(hardware.precision).value;
  const double step =
      model_.training_flops() * work.batch / (peak * hardware.node.num_devices * machines);
  return work.steps * std::max(step, feed(kind, machines, work.batch).seconds()) / 3600;
}

double Machines::hours(int kind, int machines, const FoundPlan& plan) const {
  if (!plan.fits) return rent::kNever;
  return plan.work.steps * std::max(plan.step, feed(kind, machines, plan.work.batch).seconds()) /
         3600;
}

FoundPlan Machines::find_at(Hardware& hardware, int machines, const BatchWork& work, double limit) {
  Slot* slot = nullptr;
  {
    const std::lock_guard lock(hardware.mutex);
    auto& own = hardware.slots[{machines, work.batch}];
    if (!own) own = std::make_unique<Slot>();
    slot = own.get();
  }
  const std::lock_guard lock(slot->mutex);
  if (!slot->plan.fits && slot->plan.limit < limit)
    slot->plan = search(hardware, machines, work, limit);
  return slot->plan;
}

FoundPlan Machines::find(int kind, int machines, double limit) {
  Hardware& hardware = *of_kind_[kind];
  FoundPlan best;
  double least = rent::kNever;
  for (const BatchWork& work : works_) {
    const double most = std::min(limit, least);
    const bool may = least_hours(kind, machines, work) <= most;
    const FoundPlan plan = find_at(hardware, machines, work, may ? most * 3600 / work.steps : 0);
    if (const double own = hours(kind, machines, plan); own < least) {
      best = plan;
      least = own;
    }
  }
  return best;
}

rent::FeedTime Machines::feed(int kind, int machines, int batch) const {
  const cluster::Node& node = offer(kind).node;
  const cluster::MemoryTier* host = node.tier("host");
  // Two hyper-threads make a core.
  return rent::feed_time(request_.feed,
                         {.cores = node.vcpus / 2.0, .memory = host ? host->capacity.value : 0},
                         machines, batch);
}

double Machines::goodput(int kind, int machines) {
  const FoundPlan plan = found(kind, machines);
  const double step = std::max(plan.step, feed(kind, machines, plan.work.batch).seconds());
  return rent::spot_goodput(preemptions_, {.machines = machines,
                                           .step = step,
                                           .state_bytes = plan.state_bytes,
                                           .bandwidth = offer(kind).node.network.value,
                                           .copies = plan.copies});
}

const cost::Basis& Machines::basis(int kind) const { return of_kind_[kind]->basis; }

cluster::Precision Machines::precision(int kind) const { return of_kind_[kind]->precision; }

}  // namespace nereus::app
