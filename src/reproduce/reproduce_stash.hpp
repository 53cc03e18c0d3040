// Stash (Sharma et al., ICDCS 2023) by prediction on its machines. Inside reproduce/ only.
//
//   models       its 17 networks counted from their layers, and without batch norm
//   buckets      of ResNet-18, as PyTorch has them
//   steps        of ResNet-50 on one device, beside a measured one
//   interconnect most that sums inside one machine add to a step
//   network      two 8xlarge beside one 16xlarge
//   cost         of an epoch, over models, batches and machines, with its prices
//   dearer       where a dearer choice is not faster
//   collectives  published times beside ours
//   layers       stalls by tensors and bytes, a fitted model
//   formulas     its formulas as meant and as coded, on the same numbers
//
// Sums go in buckets, as they should, and one by one, as its code had it; links are the best and
// the shared ones of reproduce/stash_steps.hpp. What --set may change, all under "all.": see
// kFields in reproduce_stash.cpp.
#pragma once

#include "reproduce/reproduce.hpp"

namespace nereus::app {

ReproduceAnswer reproduce_stash(const ReproduceRequest& request);

}  // namespace nereus::app
