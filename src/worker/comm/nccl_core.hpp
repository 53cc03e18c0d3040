// NCCL's communicators of one rank, each with a stream of its own, and the operations on them.
//
// No rank waits forever for another, whatever the plan, by this order:
//   - A link is one NCCL communicator: of a group, or of a lane (one direction between two ranks,
//     lanes.hpp). Links are made before the first step, in one total order on all ranks (the world,
//     then groups by their ranks, then lanes), so making them ends (lanes.hpp gives the argument).
//     Each runs one operation when it is made, and NCCL_RUNTIME_CONNECT=0 opens all connections of
//     a group: so later no call of NCCL waits on the host for another rank.
//   - Both ends of a lane start its messages in the same order, and all members of a group its
//     operations (comm.hpp). So the n-th operation of a link is the same one on all its ranks.
//   - An operation runs on the stream of its link. It waits for what the caller's stream held when
//     it was started, and for earlier operations of its link. Nothing else is behind it but what
//     waits for it. So links hold each other up only through data: through passes that need what
//     another link brings.
//   - The host never waits inside a step for anything that needs a later call of this rank, so
//     every operation is started on all its ranks. The passes of a plan and their messages have no
//     cycle (rank_plan.hpp). Hence among the passes and operations that have not ended there is one
//     that waits for nothing, and it ends.
// This needs the kernels of all links to run beside each other and beside computing. A lane takes
// at most kLaneBlocks multiprocessors, and prepare_waiting_kernels() (device/gpu.hpp) keeps the
// driver from putting streams behind each other. And the host must not wait for the whole device
// inside a pass, as the driver does when it loads a kernel at its first launch: a receive that was
// started ahead may need a message that this host has yet to send. So the first step is rehearsed
// without communication (Comm::rehearse(), Executor::run()), which loads what passes use.
//
// A tensor of an operation is kept until its handle was waited on; then work after it on the stream
// that waited comes after the operation, and may reuse the memory. If the handle is dropped without
// a wait, the allocator is told of the link's stream (record_stream).
#pragma once

#ifdef NEREUS_NCCL

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "worker/comm/comm.hpp"
#include "worker/comm/liveness.hpp"
#include "worker/comm/rendezvous.hpp"
#include "worker/comm/watchdog.hpp"

namespace nereus::worker {

struct NcclLink {
  NcclLink(std::string key, std::vector<int> ranks, int own, bool lane);
  ~NcclLink();
  NcclLink(const NcclLink&) = delete;
  NcclLink& operator=(const NcclLink&) = delete;

  const std::string name;          // in the store: the same on all members, and of no other link
  const std::vector<int> members;  // in the order of NCCL's ranks
  const int index;
  const bool is_lane;
  c10::cuda::CUDAStream stream;
  // Held while an operation starts: abort() frees what NCCL uses then.
  std::timed_mutex mutex;
  ncclComm_t comm = nullptr;
};

// Throws std::runtime_error with NCCL's words.
void check_nccl(ncclResult_t result, ncclComm_t comm = nullptr);

class NcclCore : public std::enable_shared_from_this<NcclCore> {
 public:
  NcclCore(StorePointer store, std::unique_ptr<Liveness> liveness, int num_ranks,
           std::chrono::milliseconds timeout);
  ~NcclCore();
  NcclCore(const NcclCore&) = delete;
  NcclCore& operator=(const NcclCore&) = delete;

  int rank() const { return liveness_->rank(); }
  int num_ranks() const { return num_ranks_; }
  Liveness& liveness() { return *liveness_; }
  Watchdog& watchdog() { return *watchdog_; }

  // Waits until all members have called it.
  std::shared_ptr<NcclLink> make_link(const std::string& name, const std::vector<int>& members,
                                      bool lane);

  struct Operation {
    std::string what{};  // "all-reduce"
    std::uint64_t number = 0;
    Liveness::Failure failure{};
    Purpose purpose = Purpose::kMessage;
  };
  using Run = std::function<void(ncclComm_t, cudaStream_t)>;  // checks what NCCL returns
  Handle start(const std::shared_ptr<NcclLink>& link, std::vector<at::Tensor> tensors,
               Operation operation, const Run& run);

  StreamTimes take_times();
  void add_time(Purpose purpose, double busy, double held);
  void abort() { watchdog_->stop(); }
  void rehearse(bool on) { rehearses_ = on; }
  bool rehearses() const { return rehearses_; }

 private:
  std::string broken();
  void end_links();

  StorePointer store_;
  const std::unique_ptr<Liveness> liveness_;
  const int num_ranks_;
  const std::chrono::milliseconds timeout_;
  const c10::DeviceIndex device_;
  std::atomic<bool> rehearses_ = false;
  std::mutex links_mutex_;
  std::vector<std::shared_ptr<NcclLink>> links_;  // the world first: see end_links()
  std::mutex times_mutex_;
  StreamTimes times_{};
  std::unique_ptr<Watchdog> watchdog_;  // the last: its thread uses the others
};

}  // namespace nereus::worker

#endif
