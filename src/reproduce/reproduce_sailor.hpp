// Compares steps that Sailor's authors (Strati et al., SOSP 2025) measured on mixed and on equal
// machines with predictions from their measured layers. Only for use inside reproduce/.
#pragma once

#include "reproduce/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_sailor(const ReproduceRequest& request);

}  // namespace nereus::app
