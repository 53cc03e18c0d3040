// Varuna (Athlur et al., EuroSys 2022), and what others measured of it. Only for use inside
// reproduce/.
//
//   replay_claims   the replay of Oobleck's artifact (SOSP 2023): its Varuna and Oobleck models
//                   with explicit rules, and our policy, on the same tables of rates
//   spot_claims     goodput and dollars of every policy on traces of Bamboo, Parcae and Sailor
//   paper_claims    18x over intra-layer splitting, 26 % over other pipelines, 5x cheaper
//
// --set may change the fields in reproduce_varuna.cpp, all under "all.".
#pragma once

#include "reproduce/reproduce_settings.hpp"

namespace nereus::app {

using VarunaSettings = ReproduceSettings;

void add_replay_claims(const VarunaSettings& settings, const ReproduceRequest& request,
                       ReproduceAnswer& answer);
void add_spot_claims(const VarunaSettings& settings, const ReproduceRequest& request,
                     ReproduceAnswer& answer);
void add_paper_claims(const VarunaSettings& settings, const ReproduceRequest& request,
                      ReproduceAnswer& answer);

ReproduceAnswer reproduce_varuna(const ReproduceRequest& request);

}  // namespace nereus::app
