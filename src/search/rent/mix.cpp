#include "search/rent/mix.hpp"

#include <algorithm>

#include "base/parallel.hpp"

namespace nereus::rent {

namespace {

constexpr std::size_t kWave = 8;
constexpr double kRounding = 1 + 1e-12;

class Mixing {
 public:
  Mixing(const std::vector<MixOffer>& offers, const Terms& terms, const std::optional<Choice>& beat)
      : offers_(offers), terms_(terms), money_(by_money(terms)), rates_(offers.size(), -1) {
    if (beat) least_ = money_ ? beat->usd : beat->hours;
  }

  void add_pairs(const std::vector<int>& counts) {
    const int num = static_cast<int>(offers_.size());
    for (int a = 0; a < num; ++a)
      for (int b = a + 1; b < num; ++b) {
        if (of(a).place != of(b).place) continue;
        for (const int n : counts)
          for (const int m : counts) add({a, b, n, m});
      }
    std::stable_sort(mixes_.begin(), mixes_.end(),
                     [&](const Mix& a, const Mix& b) { return value(a) < value(b); });
  }

  Mixed run(const std::function<double(const Mix&, double)>& hours, int most) {
    std::size_t next = 0;
    while (next < mixes_.size() && value(mixes_[next]) < least_ && out_.planned < most) {
      std::vector<Mix> wave;
      for (; next < mixes_.size() && wave.size() < kWave; ++next)
        if (value(mixes_[next]) < least_) wave.push_back(mixes_[next]);
      parallel_for(wave.size(), [&](std::size_t i) {
        Mix& mix = wave[i];
        mix = with_hours(mix, hours(mix, limit(mix) * kRounding));
      });
      out_.planned += static_cast<int>(wave.size());
      for (const Mix& mix : wave) take(mix);
    }
    for (; next < mixes_.size(); ++next) out_.left_out += value(mixes_[next]) < least_;
    out_.cut = num_ - out_.planned - out_.left_out;
    return out_;
  }

 private:
  static bool by_money(const Terms& terms) {
    return terms.deadline_hours < kNever || terms.budget_usd == kNever;
  }
  const MixOffer& of(int offer) const { return offers_[offer]; }
  double value(const Mix& mix) const { return money_ ? mix.usd : mix.hours; }
  double usd_per_hour(const Mix& mix) const {
    return mix.num_first * of(mix.first).usd_per_hour +
           mix.num_second * of(mix.second).usd_per_hour;
  }
  Mix with_hours(Mix mix, double hours) const {
    mix.hours = hours;
    mix.usd = hours * usd_per_hour(mix);
    return mix;
  }
  bool may_be_best(const Mix& mix) const {
    return mix.hours <= terms_.deadline_hours && mix.usd <= terms_.budget_usd &&
           value(mix) < least_;
  }
  // Hours beyond which the mix is useless.
  double limit(const Mix& mix) const {
    const double per_hour = usd_per_hour(mix);
    return std::min(
        {terms_.deadline_hours, terms_.budget_usd / per_hour, money_ ? least_ / per_hour : least_});
  }
  double rate(int offer) {
    double& known = rates_[offer];
    if (known < 0) known = std::min(of(offer).rate(), of(offer).peak_rate);
    return known;
  }

  void add(Mix mix) {
    ++num_;
    const auto at_least = [&](double first, double second) {
      return with_hours(mix,
                        terms_.start_hours + 1 / (mix.num_first * first + mix.num_second * second));
    };
    if (!may_be_best(at_least(of(mix.first).peak_rate, of(mix.second).peak_rate))) return;
    mix = at_least(rate(mix.first), rate(mix.second));
    if (may_be_best(mix)) mixes_.push_back(mix);
  }

  void take(const Mix& mix) {
    if (mix.hours >= kNever || !may_be_best(mix)) return;
    least_ = value(mix);
    out_.best = mix;
  }

  const std::vector<MixOffer>& offers_;
  const Terms terms_;
  const bool money_;
  double least_ = kNever;  // dollars or hours to be beaten
  std::vector<double> rates_;
  std::vector<Mix> mixes_;  // with the least hours they could take
  int num_ = 0;
  Mixed out_;
};

}  // namespace

Mixed best_mix(const std::vector<MixOffer>& offers, const std::vector<int>& counts,
               const Terms& terms, const std::optional<Choice>& beat,
               const std::function<double(const Mix& mix, double limit)>& hours, int most) {
  Mixing mixing(offers, terms, beat);
  mixing.add_pairs(counts);
  return mixing.run(hours, most);
}

}  // namespace nereus::rent
