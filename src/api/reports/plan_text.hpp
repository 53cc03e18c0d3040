// A regular plan as text, for tables.
#pragma once

#include <string>

#include "plan/degrees.hpp"

namespace nereus::api {

std::string layout_text(const plan::Degrees& degrees);  // "tp 4 pp 8 dp 4"
std::string manner_text(const plan::Degrees& degrees);  // "micro-batch 1 x 64, ZeRO-1"

}  // namespace nereus::api
