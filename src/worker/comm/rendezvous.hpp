// How ranks on several hosts find each other: a c10d store on rank 0. It is only used at the start:
// a request to the store waits for its answer without a time-out, so if rank 0's host stopped
// later, every rank that sends a request would block. Because the host can stop during the start
// too, requests run on a separate thread, which is abandoned when the time-out ends.
//
//   auto store = open_store(options);
//   auto addresses = meet(store, rank, num_ranks, own_address, timeout);
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "worker/comm/comm.hpp"

namespace nereus::worker {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

// Throws Errors if the options are wrong or the port is in use, and CommError if rank 0 is missing.
StorePointer open_store(const CommOptions& options);
StorePointer local_store();  // for ranks that are threads
StorePointer board_store(std::shared_ptr<Board> board);

// Publishes `says`, and returns the texts of all ranks once all have published theirs. After
// `timeout`, throws a CommError that names the first missing rank.
std::vector<std::string> meet(const StorePointer& store, int rank, int num_ranks,
                              const std::string& says, std::chrono::milliseconds timeout);

// Returns the addresses of all ranks; throws Errors, on all ranks, if their cards differ.
std::vector<std::string> meet_alike(const StorePointer& store, int rank, int num_ranks,
                                    const std::string& address, const std::string& card,
                                    std::chrono::milliseconds timeout);

// Returns what `work` returns, or throws what it throws; empty if `work` takes longer than
// `timeout`. In that case `work` continues on its thread, so it must own everything it uses. If the
// board closes, the wait ends with BoardClosed.
template <class Work>
auto in_time(std::chrono::milliseconds timeout, Work work,
             const std::shared_ptr<Board>& board = {}) {
  using Result = decltype(work());
  const auto promise = std::make_shared<std::promise<Result>>();
  std::future<Result> result = promise->get_future();
  std::thread([promise, work = std::move(work)]() mutable {
    try {
      promise->set_value(work());
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }).detach();
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (board && std::chrono::steady_clock::now() < end &&
         result.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready)
    if (board->closed()) throw BoardClosed();
  return result.wait_until(end) == std::future_status::ready ? std::optional<Result>(result.get())
                                                             : std::nullopt;
}

}  // namespace nereus::worker
