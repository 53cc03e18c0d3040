// Cephalo's planner (Guo et al., ICS 2025) with its profiles. Only for use inside reproduce/.
#pragma once

#include "reproduce/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_cephalo(const ReproduceRequest& request);

}  // namespace nereus::app
