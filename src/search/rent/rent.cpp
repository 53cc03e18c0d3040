#include "search/rent/rent.hpp"

#include <algorithm>
#include <tuple>

#include "base/parallel.hpp"

namespace nereus::rent {

namespace {

// Number of searches that run together, compared with what was known before: enough for many cores,
// few enough that the first results prune the rest.
constexpr std::size_t kOfferWave = 16;
// A limit that is reached exactly counts.
constexpr double kRentRounding = 1 + 1e-12;

bool by_money(const Terms& terms) {
  return terms.deadline_hours < kNever || terms.budget_usd == kNever;
}

// Ties fall to the better other half, then to the order of the kinds.
auto rank_of(const Choice& c, bool money) {
  return std::make_tuple(money ? c.usd : c.hours, money ? c.hours : c.usd, c.kind, c.tariff,
                         c.machines);
}

bool meets(const Choice& c, const Terms& terms) {
  return c.hours <= terms.deadline_hours && c.usd <= terms.budget_usd;
}

bool beats(const Choice& a, const Choice& b) {
  return a.hours <= b.hours && a.usd <= b.usd && (a.hours < b.hours || a.usd < b.usd);
}

Choice choice_of(const Kind& kind, int k, int t, int machines, double hours) {
  const double usd_per_hour = kind.tariffs[t].usd_per_hour;
  return {k, t, machines, hours, hours * machines * usd_per_hour};
}

// A number of machines of one kind, whose work is found once for all tariffs.
struct Work {
  int kind = 0;
  int machines = 0;
  std::vector<Choice> least;  // by tariff: none can be quicker or cheaper
  double limit = 0;           // of the hours looked at so far; kNever = all
};

class Renting {
 public:
  Renting(const std::vector<Kind>& kinds, const std::vector<int>& counts, const Terms& terms)
      : kinds_(kinds), terms_(terms), money_(by_money(terms)) {
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      best_.emplace_back(kinds[k].tariffs.size());
      for (const int machines : counts) add_work(static_cast<int>(k), machines);
    }
    std::stable_sort(works_.begin(), works_.end(),
                     [&](const Work& a, const Work& b) { return least(a) < least(b); });
  }

  Rented run() {
    find([&](const Choice& c) { return std::max(best_limit(c), front_limit(c)); });
    for (const auto& of_kind : best_)
      for (const std::optional<Choice>& choice : of_kind)
        if (choice) result_.best.push_back(*choice);
    if (result_.best.empty()) find_nearest();
    std::sort(result_.best.begin(), result_.best.end(), [&](const Choice& a, const Choice& b) {
      return rank_of(a, money_) < rank_of(b, money_);
    });
    std::sort(front_.begin(), front_.end(), [](const Choice& a, const Choice& b) {
      return rank_of(a, false) < rank_of(b, false);
    });
    result_.front = std::move(front_);
    for (const Work& work : works_) ++(work.limit > 0 ? result_.asked : result_.cut);
    return std::move(result_);
  }

 private:
  void add_work(int k, int machines) {
    const Kind& kind = kinds_[k];
    if (machines > kind.most || kind.tariffs.empty()) return;
    Work work{k, machines, {}};
    const double hours = terms_.start_hours + kind.least_hours(machines);
    for (int t = 0; t < static_cast<int>(kind.tariffs.size()); ++t)
      work.least.push_back(choice_of(kind, k, t, machines, hours));
    works_.push_back(std::move(work));
  }

  double least(const Work& work) const {
    double value = kNever;
    for (const Choice& c : work.least) value = std::min(value, money_ ? c.usd : c.hours);
    return value;
  }

  // Hours up to which a choice like `least` would be its tariff's best, or on the front.
  double best_limit(const Choice& least) const {
    const double usd_per_hour = least.usd / least.hours;
    double limit = std::min(terms_.deadline_hours, terms_.budget_usd / usd_per_hour);
    const std::optional<Choice>& best = best_[least.kind][least.tariff];
    if (best) limit = std::min(limit, money_ ? best->usd / usd_per_hour : best->hours);
    return limit;
  }

  double front_limit(const Choice& least) const {
    if (!terms_.front) return 0;
    const double usd_per_hour = least.usd / least.hours;
    double limit = kNever;
    for (const Choice& c : front_) limit = std::min(limit, std::max(c.hours, c.usd / usd_per_hour));
    return limit;
  }

  // Finds the works of which some choice can take no more than the hours that `limit` gives it.
  template <class Limit>
  void find(const Limit& limit) {
    struct Asked {
      Work* work;
      double limit;
      std::vector<Choice> found{};
    };
    for (std::size_t next = 0; next < works_.size();) {
      std::vector<Asked> wave;
      for (; next < works_.size() && wave.size() < kOfferWave; ++next) {
        Work& work = works_[next];
        double most = 0;
        for (const Choice& least : work.least)
          if (const double own = limit(least) * kRentRounding; least.hours <= own)
            most = std::max(most, own);
        if (most > work.limit) wave.push_back({&work, most});
      }
      parallel_for(wave.size(), [&](std::size_t i) {
        wave[i].found = choices_of(*wave[i].work, wave[i].limit - terms_.start_hours);
      });
      for (const Asked& asked : wave) {
        asked.work->limit = asked.found.empty() ? asked.limit : kNever;
        for (const Choice& choice : asked.found) take(choice);
      }
    }
  }

  std::vector<Choice> choices_of(const Work& work, double limit) const {
    const Kind& kind = kinds_[work.kind];
    const double alone = kind.hours(work.machines, limit);
    std::vector<Choice> choices;
    if (alone >= kNever) return choices;
    for (int t = 0; t < static_cast<int>(kind.tariffs.size()); ++t) {
      const double pace = kind.pace(work.machines, kind.tariffs[t].spot);
      if (pace > 0)
        choices.push_back(
            choice_of(kind, work.kind, t, work.machines, terms_.start_hours + alone / pace));
    }
    return choices;
  }

  void take(const Choice& choice) {
    if (!nearest_ || rank_of(choice, near_money()) < rank_of(*nearest_, near_money()))
      nearest_ = choice;
    if (meets(choice, terms_)) {
      std::optional<Choice>& best = best_[choice.kind][choice.tariff];
      if (!best || rank_of(choice, money_) < rank_of(*best, money_)) best = choice;
    }
    if (!terms_.front || std::any_of(front_.begin(), front_.end(),
                                     [&](const Choice& c) { return beats(c, choice); }))
      return;
    std::erase_if(front_, [&](const Choice& c) { return beats(choice, c); });
    front_.push_back(choice);
  }

  // The nearest choice is the one with the least time, unless money is the only term.
  bool near_money() const { return terms_.deadline_hours == kNever; }

  void find_nearest() {
    find([&](const Choice& least) {
      if (!nearest_) return kNever;
      return near_money() ? nearest_->usd / (least.usd / least.hours) : nearest_->hours;
    });
    result_.nearest = nearest_;
  }

  const std::vector<Kind>& kinds_;
  const Terms terms_;
  const bool money_;
  std::vector<Work> works_;
  std::vector<std::vector<std::optional<Choice>>> best_;  // by kind and tariff
  std::vector<Choice> front_;
  std::optional<Choice> nearest_;
  Rented result_;
};

}  // namespace

Rented rent(const std::vector<Kind>& kinds, const std::vector<int>& counts, const Terms& terms) {
  return Renting(kinds, counts, terms).run();
}

}  // namespace nereus::rent
