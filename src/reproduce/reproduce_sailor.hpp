// Steps measured by Sailor's authors (Strati et al., SOSP 2025) on mixed and on equal machines,
// beside predictions from the layers that they measured. Inside reproduce/ only.
#pragma once

#include "reproduce/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_sailor(const ReproduceRequest& request);

}  // namespace nereus::app
