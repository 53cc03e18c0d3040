// COMET's case studies (Kadiyala et al., arXiv 2211.16648). Only for use inside reproduce/.
#pragma once

#include "reproduce/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_comet(const ReproduceRequest& request, const ProgressSink& progress);

}  // namespace nereus::app
