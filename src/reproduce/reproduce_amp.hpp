// Compares trials of AMP (Li et al., NeurIPS 2022) on a mixed cluster with predictions from data
// sheets, because measured times of its layers are not available. Only for use inside reproduce/.
#pragma once

#include "reproduce/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_amp(const ReproduceRequest& request);

}  // namespace nereus::app
