// The machines that `recommend` chooses from, and the best plan for any number of each. Only for
// use inside app/.
//
// If the job is a number of samples, there is one batch size. If it is a target
// (samples_to_target), each number of machines uses the batch with which it finishes first:
//
//   hours(kind, machines) = least over batches B of  steps(B) max(step of the best plan, feeding)
//
// Batches are tried one after the other, each only up to the hours of the best so far.
//
//   Machines machines(request, model, {{1024, 112598}}, preemptions);
//   machines.kinds();                            // what search/rent takes, with offers()
//   machines.found(kind, 8).degrees;             // after its hours were computed
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "app/recommend/recommend.hpp"
#include "cluster/catalogue.hpp"

namespace nereus::app {

// The job with one batch size.
struct BatchWork {
  int batch = 0;
  double steps = 0;
};

struct FoundPlan {
  bool fits = false;
  BatchWork work;
  double limit = 0;  // searched up to this many step seconds; unused if `fits`
  plan::Degrees degrees;
  double step = 0;
  std::array<double, cost::kNumParts> parts{};  // of the step
  double state_bytes = 0;                       // per machine
  bool copies = false;  // copies of all state survive the loss of any one machine
};

class Machines {
 public:
  Machines(const RecommendRequest& request, const model::Model& model,
           const std::vector<BatchWork>& works, const rent::Preemptions& preemptions);
  Machines(const Machines&) = delete;

  const std::vector<rent::Kind>& kinds() const { return kinds_; }
  const cluster::Offer& offer(int kind) const { return *offers_[kind]; }
  const std::vector<OfferRefusal>& refused() const { return refused_; }
  int num_offers() const { return num_offers_; }

  // The plan that was found when its hours were computed.
  FoundPlan found(int kind, int machines) { return find(kind, machines, 0); }
  rent::FeedTime feed(int kind, int machines, int batch) const;
  double goodput(int kind, int machines);
  double goodput(const rent::SpotJob& job) const { return rent::spot_goodput(preemptions_, job); }
  bool same_hardware(int a, int b) const { return of_kind_[a] == of_kind_[b]; }
  double present() const { return preemptions_.present; }
  const cost::Basis& basis(int kind) const;
  const model::Model& model() const { return model_; }
  cluster::Precision precision(int kind) const;

 private:
  // Offers with equal machines are planned once.
  struct Slot {
    std::mutex mutex;
    FoundPlan plan;
  };
  struct Hardware {
    cluster::Node node;  // without names and prices
    cost::Basis basis;
    cluster::Precision precision = cluster::Precision::kBf16;
    std::mutex mutex;
    std::map<std::pair<int, int>, std::unique_ptr<Slot>> slots;  // by number of machines and batch
  };

  void add(const cluster::Offer& offer);
  Hardware& hardware_of(const cluster::Offer& offer);
  // The plan and batch that finish first, among those that take at most `limit` hours or are known
  // already.
  FoundPlan find(int kind, int machines, double limit);
  // The best plan for a batch within `limit` seconds per step, unless it is known already.
  FoundPlan find_at(Hardware& hardware, int machines, const BatchWork& work, double limit);
  FoundPlan search(const Hardware& hardware, int machines, const BatchWork& work,
                   double limit) const;
  double headroom_of(const Hardware& hardware, const cluster::Cluster& cluster) const;
  double hours(int kind, int machines, const FoundPlan& plan) const;
  double least_hours(int kind, int machines, const BatchWork& work) const;

  const RecommendRequest& request_;
  const model::Model& model_;
  std::vector<BatchWork> works_;
  rent::Preemptions preemptions_;
  std::optional<cluster::Catalogue> own_;  // from request.offers_file
  std::vector<std::unique_ptr<Hardware>> hardware_;
  std::vector<Hardware*> of_kind_;
  std::vector<const cluster::Offer*> offers_;
  std::vector<rent::Kind> kinds_;
  std::vector<OfferRefusal> refused_;
  int num_offers_ = 0;
};

}  // namespace nereus::app
