// How ranks of several hosts find each other: a c10d store that rank 0 hosts. It is used at the
// start alone: later, a stopped host would hold up whoever asks.
//
//   auto store = open_store(options);
//   auto addresses = meet(*store, rank, num_ranks, own_address, timeout);
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "worker/comm/comm.hpp"

namespace nereus::worker {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

// Throws Errors where the options are wrong or the port is taken, CommError where rank 0 is not
// there.
StorePointer open_store(const CommOptions& options);
StorePointer local_store();  // for ranks that are threads

// Returns what every rank says, when all are there; else throws CommError that names the first that
// is not.
std::vector<std::string> meet(c10d::Store& store, int rank, int num_ranks, const std::string& says,
                              std::chrono::milliseconds timeout);

}  // namespace nereus::worker
