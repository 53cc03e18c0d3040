// Two offers rented together, for `recommend`: what of the machines search/rent/mix.hpp looks at,
// and the plan of a mix by search/mixed. Inside app/ only.
//
// Looked at are pairs of the best kMixOffers offers of one provider, region and tariff that compute
// in one precision by one stack: those that meet the terms by themselves first, then by peak per
// dollar; of offers of equal devices and links the better alone. Up to kMixMachines of each. A mix
// counts where it is better than every offer by itself, and than as many machines of either of its
// own two. Spot machines of mixes go back to a checkpoint where one is lost.
//
//   const MixSearch found = find_mix(request, model, works, machines, rented, counts, terms);
//   if (found.option) found.option->mix[1].count;
#pragma once

#include "app/recommend/recommend_machines.hpp"

namespace nereus::app {

inline constexpr int kMixOffers = 3;
inline constexpr int kMixMachines = 16;  // of either at most
inline constexpr int kMostMixes = 24;    // planned; the answer says where more might be better

struct MixSearch {
  std::optional<RecommendOption> option;  // without prices' age and interval
  int planned = 0, cut = 0, left_out = 0;
  std::string why_not;  // no mixes are looked for
};

// `work`: the job at the batch that mixes are planned with.
MixSearch find_mix(const RecommendRequest& request, const model::Model& model,
                   const BatchWork& work, Machines& machines, const rent::Rented& rented,
                   const std::vector<int>& counts, const rent::Terms& terms);

}  // namespace nereus::app
