// `nereus recommend`: which machines to rent for a whole job, how many, spot or on demand, and with
// which plan. Returns the cheapest choice within a deadline, the fastest within a budget, and the
// front between them.
//
//   RecommendAnswer a = recommend({.model = {"llama2-7b"}, .tokens = 1e12, .deadline_hours = 720});
//   a.options.front().usd;                 // cheapest first; empty if nothing meets the terms
//
// Every offer of the catalog (or of a file) is tried with every machine count of a list, on demand
// and, if it has a spot price, as spot machines (search/rent). Each uses the planner's best plan
// (search/regular); a step cannot be faster than the machines can load its samples. If the job is a
// target with a known number of samples per batch size (app/predict/samples_to_target.hpp), batch
// and machines are chosen together.
//
// The interval of the cost comes from its two factors:
//   hours   the 80 % interval of the step (stack/error_table.hpp), else +- kUnknownError
//   price   on demand: +- kPriceDrift per year of age; spot: the lowest and highest price of its
//           zones if both are stated, else +- kSpotSpread
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/plan/plan_verb.hpp"
#include "app/predict/samples_to_target.hpp"
#include "search/rent/feed.hpp"
#include "search/rent/rent.hpp"
#include "search/rent/spot_goodput.hpp"

namespace nereus::app {

// These constants are assumptions, and every answer that uses one of them states it.
inline constexpr double kUnknownError = 0.25;
inline constexpr double kPriceDrift = 0.15;
inline constexpr double kSpotSpread = 0.3;
inline constexpr int kOldPriceDays = 180;

struct RecommendRequest {
  ModelRequest model;
  CalibrationRequest calibration;
  std::optional<int> seq;
  std::optional<cluster::Precision> precision;
  std::optional<int> global_batch;
  double samples = 0;             // of the whole job; or
  double tokens = 0;              // of the whole job; or
  std::string samples_to_target;  // as in read_samples_to_target; "auto": by the model
  std::optional<double> deadline_hours;
  std::optional<double> budget_usd;
  std::vector<int> counts;          // machine counts; empty = 1, 2, 4 .. 512
  std::vector<std::string> offers;  // parts of names of providers or offers; empty = all
  std::string offers_file;          // a CSV file that replaces data/catalog/offers.csv
  bool on_demand = true;
  bool spot = true;
  bool mixes = true;  // also mixes of two offers
  // Share of device memory that plans leave free; none: what fits with kFitsByDefault.
  std::optional<double> headroom;
  rent::Feed feed;
  double start_seconds = 600;                 // from the request for machines to the first step
  std::string trace = "bamboo/p3-trace.csv";  // how often spot machines are taken away
  std::string date;                           // today, ISO
  std::string why;                            // an offer to explain
  int top = 10;
};

// One of two offers that are rented together.
struct MixPart {
  std::string offer;
  int count = 0;
  double usd_per_hour = 0;  // per machine
};

struct RecommendOption {
  std::string provider, offer;  // of a mix: in the form of --cluster
  int count = 0;
  std::vector<MixPart> mix;  // empty, or two
  std::string family;        // family of a mix's plan, instead of degrees
  bool spot = false;
  int global_batch = 0;
  double steps = 0;
  plan::Degrees degrees;
  double step = 0;     // seconds, including loading
  double compute = 0;  // part of `step` that the plan itself takes; `parts` divides it
  std::array<double, cost::kNumParts> parts{};
  rent::FeedTime feed;
  double hours = 0;
  double usd = 0, usd_low = 0, usd_high = 0;
  double goodput = 1;
  bool meets_deadline = true;
  double usd_per_hour = 0;  // of all machines
  // With a price per machine below this, the option would be the first of the list.
  double break_even = 0;
  std::string price_date;
  int price_age_days = -1;  // -1 = no date
  bool old_price() const { return price_age_days < 0 || price_age_days > kOldPriceDays; }
  std::optional<cost::ErrorBand> error;  // of its step; none if nothing is known
};

// Why an offer is not in the list.
struct OfferRefusal {
  std::string provider, offer, reason;
};

struct RecommendAnswer {
  model::Model model;
  int global_batch = 0;  // of all options; 0 if the batch is chosen by a target
  double steps = 0;
  std::optional<SamplesToTarget> target;
  std::vector<std::string> notes;        // about the target
  std::vector<RecommendOption> options;  // the best of each offer and tariff that meets the terms
  std::vector<RecommendOption> front;    // fastest first
  std::optional<RecommendOption> nearest;
  std::vector<OfferRefusal> refused;
  std::vector<std::string> why;  // about the requested offer
  rent::Preemptions preemptions;
  int num_offers = 0;
  int asked = 0, cut = 0;
  int mixes_planned = 0, mixes_cut = 0, mixes_left_out = 0;
  std::string no_mixes;  // why no mixes were searched
  double seconds = 0;
};

RecommendAnswer recommend(const RecommendRequest& request);

}  // namespace nereus::app
