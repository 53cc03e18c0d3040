// How ranks of several hosts find each other: a c10d store that rank 0 hosts. It is used at the
// start alone: later, a stopped host would hold up whoever asks. At the start it does too, since a
// question to the store waits for its answer without an end; so what asks runs on a thread of its
// own, which is left behind when time is up.
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

// Throws Errors where the options are wrong or the port is taken, CommError where rank 0 is not
// there.
StorePointer open_store(const CommOptions& options);
StorePointer local_store();  // for ranks that are threads
StorePointer board_store(std::shared_ptr<Board> board);

// Returns what every rank says, when all are there; else throws CommError that names the first that
// is not.
std::vector<std::string> meet(const StorePointer& store, int rank, int num_ranks,
                              const std::string& says, std::chrono::milliseconds timeout);

// The addresses of all ranks; throws Errors, on all of them, where their cards differ.
std::vector<std::string> meet_alike(const StorePointer& store, int rank, int num_ranks,
                                    const std::string& address, const std::string& card,
                                    std::chrono::milliseconds timeout);

// What `work` returns or throws; nothing where it takes longer. It then goes on by itself, so it
// owns all that it uses. A board that closes ends the wait.
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
