// Computes what steps waited for, from traces of one or all ranks (measure/kineto.hpp).
//
// A step of length d on a rank is divided into
//   c   a collective is in flight, and nothing is computed
//   h   a copy to the device is in flight, without compute and collectives     (GPUs)
//   l   the step waits for its batch: on CPUs in the loader; on GPUs only times without compute,
//       collectives and copies
//   b = d - c - h - l, its work; on GPUs including times in which the device is idle
//
// Over all ranks, step by step, these give the differences of measure/stalls.hpp:
//   one device     the median rank's b
//   straggler      the largest b - the median
//   host copy      the largest b + h - the largest b
//   prepare        the largest b + h + l - the largest b + h; includes fetching
//   interconnect   the longest d - the largest b + h + l: the rank that waits least for others
//                  waits for the network
//   launch         GPUs: times in which the device of the median rank is idle; a part of b
//
// All except launch sum to the longest d. Clocks of different ranks are never compared.
//
//   StallReport report = stalls_of(traces);
//   report.of(StallKind::kInterconnect).seconds;
#pragma once

#include "measure/kineto.hpp"
#include "measure/stalls.hpp"

namespace nereus::measure {

// Traces of different ranks of one job, each with its rank. Only steps that all traces have count.
// Throws Errors: measure.trace-steps.
StallReport stalls_of(const std::vector<Trace>& traces);

}  // namespace nereus::measure
