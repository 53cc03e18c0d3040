// Stash (Sharma et al., ICDCS 2023): predictions for its machines. Only for use inside reproduce/.
//
//   models       sizes of its 17 networks, counted from their layers, also without batch norm
//   buckets      of ResNet-18, as in PyTorch
//   steps        of ResNet-50 on one device, compared with a measured step
//   interconnect the most that all-reduces in one machine add to a step
//   network      two 8xlarge compared with one 16xlarge
//   cost         of an epoch, over models, batches and machines, with its prices
//   dearer       cases in which a more expensive choice is not faster
//   collectives  published times compared with ours
//   layers       stalls by tensors and bytes, a fitted model
//   formulas     its formulas as intended and as coded, on the same numbers
//
// All-reduces run once per bucket, as they should, or once per tensor, as in Stash's code. Links
// are the best and the shared ones of reproduce/stash_steps.hpp. --set may change kFields in
// reproduce_stash.cpp, all under "all.".
#pragma once

#include "reproduce/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_stash(const ReproduceRequest& request);

}  // namespace nereus::app
