#ifdef NEREUS_NCCL

#include "worker/comm/nccl_core.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "worker/comm/message_comm.hpp"

namespace nereus::worker {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLaneBlocks = 8;  // of a GPU's 100 and more multiprocessors

// Streams are reused: a job has few, but a process may run many jobs. They come before computing.
class Streams {
 public:
  static Streams& all() {
    static Streams streams;
    return streams;
  }
  cudaStream_t take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      int lowest = 0, highest = 0;
      cudaStream_t stream = nullptr;
      C10_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
      C10_CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest));
      return stream;
    }
    cudaStream_t stream = free_.back();
    free_.pop_back();
    return stream;
  }
  void give(cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    free_.push_back(stream);
  }

 private:
  std::mutex mutex_;
  std::vector<cudaStream_t> free_;
};

bool is_capturing() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamIsCapturing(c10::cuda::getCurrentCUDAStream(), &status));
  return status != cudaStreamCaptureStatusNone;
}

// After an error of the device every event says so: then there is nothing to wait for, and the
// caller's next call of the device tells.
bool is_past(const at::cuda::CUDAEvent& event) {
  try {
    return event.query();
  } catch (const std::exception&) {
    return true;
  }
}

// An operation on a link, as the watchdog sees it.
class Started : public Watched {
 public:
  Started(std::shared_ptr<NcclLink> on, NcclCore& core, NcclCore::Operation operation)
      : link(std::move(on)), core_(core), operation_(std::move(operation)) {}
  bool is_reached() override { return is_past(reached); }
  bool is_done() override { return is_past(done); }
  void settle() override {
    float busy = 0, held = 0;  // milliseconds
    if (cudaEventElapsedTime(&busy, begun, done) != cudaSuccess ||
        cudaEventElapsedTime(&held, reached, done) != cudaSuccess)
      return;
    core_.add_time(operation_.purpose, busy * 1e-3, std::clamp(held, 0.0F, busy) * 1e-3);
  }
  std::string what() const override {
    if (operation_.failure.members.empty()) return operation_.what;
    return fmt::format("{} number {} of ranks {{{}}}", operation_.what, operation_.number,
                       fmt::join(operation_.failure.members, ","));
  }
  Liveness::Failure failure() const override { return operation_.failure; }

  const std::shared_ptr<NcclLink> link;
  // With times: of the link's stream before and after, and of the stream that waits.
  at::cuda::CUDAEvent begun{cudaEventDefault}, done{cudaEventDefault}, reached{cudaEventDefault};

 private:
  NcclCore& core_;
  const NcclCore::Operation operation_;
};

class NcclHandle : public Pending {
 public:
  NcclHandle(std::shared_ptr<NcclCore> core, std::shared_ptr<Started> started,
             std::vector<at::Tensor> tensors, bool captured)
      : core_(std::move(core)),
        started_(std::move(started)),
        tensors_(std::move(tensors)),
        captured_(captured) {}
  ~NcclHandle() override {
    for (const at::Tensor& tensor : tensors_)
      if (!captured_)
        c10::cuda::CUDACachingAllocator::recordStream(tensor.storage().data_ptr(),
                                                      started_->link->stream);
  }
  void wait() override {
    if (waited_) return;
    core_->watchdog().check();
    waited_ = true;
    const c10::cuda::CUDAStream current = c10::cuda::getCurrentCUDAStream();
    if (!captured_) started_->reached.record(current);
    started_->done.block(current);
    if (!captured_) core_->watchdog().add(current.stream(), started_);
    tensors_.clear();
  }
  // Looks at the event instead of sleeping in the driver: an operation that was aborted may never
  // set it.
  void wait_on_host() override {
    wait();
    NEREUS_CHECK(!captured_, "a captured operation does not run");
    const auto start = Clock::now();
    while (!is_past(started_->done)) {
      core_->watchdog().check();
      if (Clock::now() - start > std::chrono::milliseconds(1))
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    core_->watchdog().check();
  }
  bool done() override { return !captured_ && is_past(started_->done); }

 private:
  std::shared_ptr<NcclCore> core_;
  std::shared_ptr<Started> started_;
  std::vector<at::Tensor> tensors_;
  const bool captured_;
  bool waited_ = false;
};

class NothingToDo : public Pending {
 public:
  void wait() override {}
  bool done() override { return true; }
};

}  // namespace

void check_nccl(ncclResult_t result, ncclComm_t comm) {
  if (result == ncclSuccess) return;
  const char* last = ncclGetLastError(comm);
  throw std::runtime_error(fmt::format("NCCL: {}{}{}", ncclGetErrorString(result),
                                       last && *last ? ": " : "", last ? last : ""));
}

NcclLink::NcclLink(std::string key, std::vector<int> ranks, int own, bool lane)
    : name(std::move(key)),
      members(std::move(ranks)),
      index(own),
      is_lane(lane),
      stream(c10::cuda::getStreamFromExternal(Streams::all().take(), c10::cuda::current_device())) {
}

NcclLink::~NcclLink() { Streams::all().give(stream.stream()); }

NcclCore::NcclCore(StorePointer store, std::unique_ptr<Liveness> liveness, int num_ranks,
                   std::chrono::milliseconds timeout)
    : store_(std::move(store)),
      liveness_(std::move(liveness)),
      num_ranks_(num_ranks),
      timeout_(timeout),
      device_(c10::cuda::current_device()),
      watchdog_(std::make_unique<Watchdog>(
          *liveness_, timeout,
          Watchdog::Hooks{[this] { return broken(); }, [this] { end_links(); }})) {}

// All ranks have ended their operations before any of them ends its links.
NcclCore::~NcclCore() {
  if (!watchdog_->has_failed()) {
    cudaDeviceSynchronize();
    liveness_->leave(true);
  }
  watchdog_.reset();
  end_links();
}

namespace {

ncclUniqueId meet_at(c10d::Store& store, const NcclLink& link, Clock::time_point deadline) {
  ncclUniqueId id;
  if (link.index == 0) {
    check_nccl(ncclGetUniqueId(&id));
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&id);
    store.set(link.name, std::vector<std::uint8_t>(bytes, bytes + sizeof id));
    return id;
  }
  while (!store.check({link.name})) {
    if (Clock::now() > deadline) throw std::runtime_error("the first of them did not come");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const std::vector<std::uint8_t> bytes = store.get(link.name);
  NEREUS_CHECK(bytes.size() == sizeof id, "an id of NCCL");
  std::memcpy(&id, bytes.data(), sizeof id);
  return id;
}

// Opens the connections that NCCL opens with the first operation only.
void run_first(NcclLink& link, void* scratch) {
  cudaStream_t stream = link.stream.stream();
  if (!link.is_lane)
    check_nccl(ncclAllReduce(scratch, scratch, 1, ncclFloat, ncclSum, link.comm, stream));
  else if (link.index == 0)
    check_nccl(ncclSend(scratch, 1, ncclFloat, 1, link.comm, stream));
  else
    check_nccl(ncclRecv(scratch, 1, ncclFloat, 0, link.comm, stream));
  C10_CUDA_CHECK(cudaStreamSynchronize(stream));
}

}  // namespace

std::shared_ptr<NcclLink> NcclCore::make_link(const std::string& name,
                                              const std::vector<int>& members, bool lane) {
  watchdog_->check();
  const auto self = std::find(members.begin(), members.end(), rank());
  NEREUS_CHECK(self != members.end(), "a link is made by its members");
  auto link =
      std::make_shared<NcclLink>(name, members, static_cast<int>(self - members.begin()), lane);
  const at::Tensor scratch =
      at::zeros({1}, at::TensorOptions(at::Device(at::kCUDA, device_)).dtype(at::kFloat));
  c10::cuda::getCurrentCUDAStream().synchronize();
  std::string why = fmt::format("nothing for {} ms", timeout_.count());
  bool made = false;
  try {
    made = in_time(timeout_, [link, scratch, store = store_, device = device_,
                              deadline = Clock::now() + timeout_] {
             const c10::cuda::CUDAGuard guard(device);
             const ncclUniqueId id = meet_at(*store, *link, deadline);
             ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
             if (link->is_lane) config.maxCTAs = kLaneBlocks;
             check_nccl(ncclCommInitRankConfig(&link->comm, static_cast<int>(link->members.size()),
                                               id, link->index, &config));
             run_first(*link, scratch.data_ptr());
             return true;
           }).has_value();
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (!made) {
    Liveness::Failure failure;
    if (lane)
      failure.peer = members[1 - link->index];
    else
      failure = {-1, 0, members};
    watchdog_->fail(fmt::format("connecting ranks {{{}}}", fmt::join(members, ",")), failure, why);
    watchdog_->check();
  }
  const std::lock_guard lock(links_mutex_);
  links_.push_back(link);
  return link;
}

Handle NcclCore::start(const std::shared_ptr<NcclLink>& link, std::vector<at::Tensor> tensors,
                       Operation operation, const Run& run) {
  watchdog_->check();
  if (rehearses_) return std::make_shared<NothingToDo>();
  const bool captured = is_capturing();
  const Liveness::Failure failure = operation.failure;
  if (!failure.members.empty()) liveness_->count_operation(failure.slot);
  auto started = std::make_shared<Started>(link, *this, std::move(operation));
  std::string why;
  {
    const std::lock_guard lock(link->mutex);
    try {
      if (!link->comm) throw std::runtime_error("it was ended");
      at::cuda::CUDAEvent ready;
      ready.record(c10::cuda::getCurrentCUDAStream());
      ready.block(link->stream);
      if (!captured) started->begun.record(link->stream);
      run(link->comm, link->stream.stream());
      started->done.record(link->stream);
    } catch (const std::exception& error) {
      why = error.what();
    }
  }
  if (!why.empty()) {
    watchdog_->fail(started->what(), failure, why);
    watchdog_->check();
  }
  if (!captured) watchdog_->begin(link.get(), started);
  return std::make_shared<NcclHandle>(shared_from_this(), std::move(started), std::move(tensors),
                                      captured);
}

void NcclCore::add_time(Purpose purpose, double busy, double held) {
  const std::lock_guard lock(times_mutex_);
  times_.busy[static_cast<std::size_t>(purpose)] += busy;
  times_.held[static_cast<std::size_t>(purpose)] += held;
}

StreamTimes NcclCore::take_times() {
  watchdog_->settle();
  const std::lock_guard lock(times_mutex_);
  return std::exchange(times_, {});
}

std::string NcclCore::broken() {
  const std::lock_guard lock(links_mutex_);
  for (const auto& link : links_) {
    const std::unique_lock busy(link->mutex, std::try_to_lock);
    ncclResult_t state = ncclSuccess;
    if (busy && link->comm && ncclCommGetAsyncError(link->comm, &state) == ncclSuccess &&
        state != ncclSuccess && state != ncclInProgress)
      return fmt::format("NCCL: {}", ncclGetErrorString(state));
  }
  return {};
}

// The world first: its sum at the end of a step says that the step is good (Executor::has_arrived),
// so it must not run on what aborted operations leave. All in one group: ending one link may wait
// for the device, where another one still waits.
void NcclCore::end_links() {
  const c10::cuda::CUDAGuard guard(device_);
  const std::lock_guard lock(links_mutex_);
  ncclGroupStart();
  for (const auto& link : links_) {
    const std::unique_lock busy(link->mutex, std::chrono::seconds(2));
    if (ncclComm_t comm = std::exchange(link->comm, nullptr)) ncclCommAbort(comm);
  }
  ncclGroupEnd();
  links_.clear();
}

}  // namespace nereus::worker

#endif
