// Two offers rented together, for `recommend`: which machines search/rent/mix.hpp tries, and the
// plan of a mix, from search/mixed. Only for use inside app/.
//
// It tries pairs of offers with the same provider, region, tariff, precision and stack, from the
// best kMixOffers of them. The best are first those that meet the terms by themselves, then those
// with the highest peak per dollar; of offers with equal devices and links, only the better one is
// tried. A mix has up to kMixMachines machines of each offer. A mix counts if it is better than
// every single offer, and than the same total number of machines of either of its two kinds. If a
// spot machine of a mix is lost, the job returns to a checkpoint.
//
//   const MixSearch found = find_mix(request, model, works, machines, rented, counts, terms);
//   if (found.option) found.option->mix[1].count;
#pragma once

#include "app/recommend/recommend_machines.hpp"

namespace nereus::app {

inline constexpr int kMixOffers = 3;
inline constexpr int kMixMachines = 16;  // at most, of each offer
inline constexpr int kMostMixes = 24;    // planned at most; the answer says if more might be better

struct MixSearch {
  std::optional<RecommendOption> option;  // without age and interval of prices
  int planned = 0, cut = 0, left_out = 0;
  std::string why_not;  // why no mixes are searched
};

// `work` is the job with the batch that mixes are planned with.
MixSearch find_mix(const RecommendRequest& request, const model::Model& model,
                   const BatchWork& work, Machines& machines, const rent::Rented& rented,
                   const std::vector<int>& counts, const rent::Terms& terms);

}  // namespace nereus::app
