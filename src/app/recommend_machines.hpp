// The machines that `recommend` chooses among, and the best plan of any number of each. Inside
// app/ only.
//
//   Machines machines(request, model, batch);
//   machines.kinds();                            // what search/rent takes, with offers()
//   machines.found(kind, 8).degrees;             // after its hours were asked for
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "app/recommend.hpp"
#include "cluster/catalogue.hpp"

namespace nereus::app {

struct FoundPlan {
  bool fits = false;
  double limit = 0;  // seconds of a step up to which was looked; at `fits` all that matters
  plan::Degrees degrees;
  double step = 0;
  double state_bytes = 0;  // of one machine
  bool copies = false;     // of all state outlive any one machine
};

class Machines {
 public:
  Machines(const RecommendRequest& request, const model::Model& model, int batch, double steps,
           const rent::Preemptions& preemptions);
  Machines(const Machines&) = delete;

  const std::vector<rent::Kind>& kinds() const { return kinds_; }
  const cluster::Offer& offer(int kind) const { return *offers_[static_cast<std::size_t>(kind)]; }
  const std::vector<OfferRefusal>& refused() const { return refused_; }
  int num_offers() const { return num_offers_; }

  // What was found when its hours were asked for.
  FoundPlan found(int kind, int machines);
  rent::FeedTime feed(int kind, int machines) const;
  double goodput(int kind, int machines);
  const cost::Stack& stack(int kind) const;

 private:
  // Offers whose machines are the same are planned once.
  struct Hardware {
    cluster::Node node;  // without names and prices
    cost::Stack stack;
    cluster::Precision precision = cluster::Precision::kBf16;
    std::mutex mutex;
    std::map<int, std::unique_ptr<std::mutex>> of_count;
    std::map<int, FoundPlan> found;
  };

  void add(const cluster::Offer& offer);
  Hardware& hardware_of(const cluster::Offer& offer);
  // The best plan within `limit` seconds a step, unless it is known already.
  FoundPlan find(int kind, int machines, double limit);
  FoundPlan search(const Hardware& hardware, int machines, double limit) const;
  double least_hours(const Hardware& hardware, int kind, int machines) const;

  const RecommendRequest& request_;
  const model::Model& model_;
  int batch_;
  double steps_;
  rent::Preemptions preemptions_;
  std::optional<cluster::Catalogue> own_;  // of request.offers_file
  std::vector<std::unique_ptr<Hardware>> hardware_;
  std::vector<Hardware*> of_kind_;
  std::vector<const cluster::Offer*> offers_;
  std::vector<rent::Kind> kinds_;
  std::vector<OfferRefusal> refused_;
  int num_offers_ = 0;
};

}  // namespace nereus::app
