// DeepPool (Park et al., MLSys 2022) with its released profiles. Only for use inside reproduce/.
//
//   log          VGG-16 under data parallelism on 8 GPUs, compared with the step in its README
//   rule         plans of its amplification rule compared with our front, under the same cost model
//   scale        the whole front of each model on any number of ranks, and the time to compute it
//   throughput   of a cluster with background jobs, relative to data parallelism with one job
//
// --set may change the fields in reproduce_deeppool.cpp, all under "all.".
#pragma once

#include "reproduce/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_deeppool(const ReproduceRequest& request);

}  // namespace nereus::app
