// Cephalo's planner (Guo et al., ICS 2025) on its own profiles. Inside app/ only.
#pragma once

#include "app/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_cephalo(const ReproduceRequest& request);

}  // namespace nereus::app
