// Cephalo's planner (Guo et al., ICS 2025) on its own profiles. Inside reproduce/ only.
#pragma once

#include "reproduce/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_cephalo(const ReproduceRequest& request);

}  // namespace nereus::app
