// A model's layers by samples, measured by training it: for each job (job/measure.hpp) some steps
// of its model, all tensor teams of the machine at the same time and each for itself, so that
// layers share caches, memory and power as in a job of as many ranks, and nothing is waited for
// that is no part of a layer.
//
//   forward, backward   of a layer in a step: the wall clock around its passes, the device's own
//                       where that is a GPU. Of equal layers the mean, then the mean of all ranks.
//   update              of the whole step with the zeroing of gradients, divided among layers by
//                       their parameters; one number whatever the samples
//   rest                of a plain step, taken in turns with the others (samples to the device,
//                       launches, reading the loss), is put to the first layer's forward pass:
//                       layers and update make up the step
//
// Where the trainer runs a step as a CUDA graph, no clock can be read between its layers. There
// steps that break off after i of the 2 n passes are taken as graphs, each is replayed, and a pass
// takes the difference of two neighbours.
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

// Every rank calls it, and gets the same. `device_name` is put where profiles name the device.
std::vector<profile::MeasuredLayer> measure_layers(const job::MeasureJob& job,
                                                   const RankOptions& place, Links& links,
                                                   const std::string& device_name, const Say& say);

}  // namespace nereus::worker
