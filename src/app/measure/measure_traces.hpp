// `nereus measure --kineto FILE...`: what steps waited for, from traces of PyTorch's profiler.
//
//   StallAnswer a = measure_traces({"rank0.json.gz", "rank1.json.gz"});
//   measure_traces({"0=a.json", "1=b.json"});      // traces that do not contain their rank
//   measure_traces({"traces/"});                   // all .json and .json.gz in a folder
#pragma once

#include "app/measure/measure_stalls.hpp"

namespace nereus::app {

// Throws Errors: those of read_kineto and stalls_of, and measure.trace-rank.
StallAnswer measure_traces(const std::vector<std::string>& names);

}  // namespace nereus::app
