// Brings the types of schedule/ (passes, orders, programs) into this namespace.
#pragma once

#include "schedule/order.hpp"
#include "schedule/program.hpp"

namespace nereus::simulate {

using schedule::compile;
using schedule::kNumPasses;
using schedule::letter_of;
using schedule::LocatePass;
using schedule::make_order;
using schedule::MessageKind;
using schedule::Order;
using schedule::Pass;
using schedule::PassProgram;
using schedule::PipelineOp;
using schedule::PipelineSize;
using schedule::ProgramOp;
using schedule::RecomputeStart;
using schedule::to_text;

}  // namespace nereus::simulate
