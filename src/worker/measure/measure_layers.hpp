// Trains a model to measure its layers for several micro-batch sizes. Each size is a job
// (job/measure.hpp): all tensor teams of the machine run some of its steps at the same time,
// without communication between teams. So layers share caches, memory and power as in a job with
// that many ranks, and there are no waits that do not belong to a layer.
//
//   forward, backward   of a layer in a step: the wall-clock time of its passes, or the device's
//                        time on a GPU; the mean over equal layers, then over all ranks
//   update              of the whole step, including the zeroing of gradients, divided among layers
//                        by their parameters; the same value for every micro-batch size
//   rest                what a plain step takes in addition to these (samples to the device,
//                        launches, reading the loss), measured in turns with them: added to the
//                        first layer's forward pass, so that layers and update make up the whole
//                        step
//
// If the trainer runs a step as a CUDA graph, no clock can be read between its layers. Then steps
// that stop after i of the 2 n passes are captured as graphs and replayed; the time of a pass is
// the difference between two consecutive graphs.
//
//   std::vector<profile::MeasuredLayer> layers = measure_layers(job, place, links, say);
#pragma once

#include <string>
#include <vector>

#include "job/measure.hpp"
#include "profile/profile.hpp"
#include "worker/measure/measure_links.hpp"
#include "worker/run/run_job.hpp"

namespace nereus::worker {

// Every rank must call it, and gets the same result. `device_name` is the device in the profile.
std::vector<profile::MeasuredLayer> measure_layers(const job::MeasureJob& job,
                                                   const RankOptions& place, Links& links,
                                                   const std::string& device_name, const Say& say);

}  // namespace nereus::worker
