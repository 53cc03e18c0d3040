// Trials of AMP (Li et al., NeurIPS 2022) on a mixed cluster beside predictions from data sheets:
// of its layers no measured time can be read. Inside reproduce/ only.
#pragma once

#include "reproduce/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_amp(const ReproduceRequest& request);

}  // namespace nereus::app
