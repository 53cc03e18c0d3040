// `nereus recommend`: which machines to rent for a whole job, how many, spot or not, and with which
// plan: the cheapest within a deadline, the quickest within a budget, and the front between.
//
//   RecommendAnswer a = recommend({.model = {"llama2-7b"}, .tokens = 1e12, .deadline_hours = 720});
//   a.options.front().usd;                 // cheapest first; empty where nothing meets the terms
//
// Every offer of the catalogue (or of a file) is tried at every number of machines of a list, on
// demand and, where it has such a price, as spot machines (search/rent). The plan of each is the
// planner's best (search/regular), its step not quicker than the machines can feed it. Where the
// job is a target of which it is known how many samples it takes by the size of the batch
// (app/predict/samples_to_target.hpp), batch and machines are chosen together.
//
// The interval of the money says what is known of its two factors:
//   hours   within the mean error of predictions of that kind (validate), else kUnknownError
//   price   on demand: kPriceDrift a year of age each way; spot: the least and the most of its
//           zones where both are stated, else kSpotSpread each way
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

// Assumed, and said in every answer that uses them.
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
  double tokens = 0;              // or
  std::string samples_to_target;  // as read_samples_to_target takes it; "auto": of the model
  std::optional<double> deadline_hours;
  std::optional<double> budget_usd;
  std::vector<int> counts;          // machines; empty = 1, 2, 4 .. 512
  std::vector<std::string> offers;  // parts of names, of provider or offer; empty = all
  std::string offers_file;          // CSV as data/catalog/offers.csv, instead of it
  bool on_demand = true;
  bool spot = true;
  bool mixes = true;  // of two offers too
  rent::Feed feed;
  double start_seconds = 600;                 // from asking for machines to the first step
  std::string trace = "bamboo/p3-trace.csv";  // how often spot machines go
  std::string date;                           // today, ISO
  std::string why;                            // an offer to account for
  int top = 10;
};

// One of two offers that are rented together.
struct MixPart {
  std::string offer;
  int count = 0;
  double usd_per_hour = 0;  // of one machine
};

struct RecommendOption {
  std::string provider, offer;  // of a mix: as --cluster takes it
  int count = 0;
  std::vector<MixPart> mix;  // empty, or two
  std::string family;        // of a mix's plan, instead of degrees
  bool spot = false;
  int global_batch = 0;
  double steps = 0;
  plan::Degrees degrees;
  double step = 0;     // seconds, with feeding
  double compute = 0;  // of it: what the plan alone takes, made up of
  std::array<double, cost::kNumParts> parts{};
  rent::FeedTime feed;
  double hours = 0;
  double usd = 0, usd_low = 0, usd_high = 0;
  double goodput = 1;
  bool meets_deadline = true;
  double usd_per_hour = 0;  // of all machines
  // Below this price of a machine it would be the first of the list.
  double break_even = 0;
  std::string price_date;
  int price_age_days = -1;  // -1 = no date
  bool old_price() const { return price_age_days < 0 || price_age_days > kOldPriceDays; }
  cost::ExpectedError expected;
};

// Why an offer is not in the list.
struct OfferRefusal {
  std::string provider, offer, reason;
};

struct RecommendAnswer {
  model::Model model;
  int global_batch = 0;  // of all options; 0 where a target lets it be chosen
  double steps = 0;
  std::optional<SamplesToTarget> target;
  std::vector<std::string> notes;        // of the target
  std::vector<RecommendOption> options;  // the best of each offer and tariff that meets the terms
  std::vector<RecommendOption> front;    // quickest first
  std::optional<RecommendOption> nearest;
  std::vector<OfferRefusal> refused;
  std::vector<std::string> why;  // of the offer asked about
  rent::Preemptions preemptions;
  int num_offers = 0;
  int asked = 0, cut = 0;
  int mixes_planned = 0, mixes_cut = 0, mixes_left_out = 0;
  std::string no_mixes;  // why none were looked for
  double seconds = 0;
};

RecommendAnswer recommend(const RecommendRequest& request);

}  // namespace nereus::app
