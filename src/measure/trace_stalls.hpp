// What steps waited for, by traces of one or all ranks (measure/kineto.hpp).
//
// Of a step of length d on a rank:
//   c   a collective is under way and nothing is computed
//   h   a copy to the device is under way, nothing computed, no collective     (GPUs)
//   l   the step waits for its batch: on CPUs in the loader; on GPUs so, and nothing of the above
//   b = d - c - h - l, its own work; on GPUs with times in which the device has nothing to do
//
// and of all ranks, step by step, as the differences of measure/stalls.hpp:
//   one device     the median rank's b
//   straggler      the largest b - the median
//   host copy      the largest b + h - the largest b
//   prepare        the largest b + h + l - the largest b + h: fetching is in it
//   interconnect   the longest d - the largest b + h + l: who waits least for others waits for
//                  wires
//   launch         GPUs: times of the median rank in which the device has nothing to do; a part of
//                  b
//
// They add up to the longest d. No clocks of two ranks are compared.
//
//   StallReport report = stalls_of(traces);
//   report.of(StallKind::kInterconnect).seconds;
#pragma once

#include "measure/kineto.hpp"
#include "measure/stalls.hpp"

namespace nereus::measure {

// Traces of different ranks of one job, each with its rank. Steps that all have count. Throws
// Errors: measure.trace-steps.
StallReport stalls_of(const std::vector<Trace>& traces);

}  // namespace nereus::measure
