// Random pictures with long, short and odd names, few and many of everything, gaps and extremes.
#pragma once

#include <string>
#include <vector>

#include "chart/page.hpp"

namespace nereus::chart {

// The same for the same seed on every machine; ids begin with "hard".
std::vector<PagePicture> hard_cases(int seed);

}  // namespace nereus::chart
