// DeepPool (Park et al., MLSys 2022) on its released profiles. Inside reproduce/ only.
//
//   log          VGG-16 under data parallelism on 8 GPUs beside the step that its README logs
//   rule         plans of its amplification rule beside our front, under one model of cost
//   scale        the whole front of each model on as many ranks as wanted, and how long that took
//   throughput   of a cluster with background jobs, over data parallelism with one job
//
// What --set may change, all under "all.": see fields in reproduce_deeppool.cpp.
#pragma once

#include "reproduce/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_deeppool(const ReproduceRequest& request);

}  // namespace nereus::app
