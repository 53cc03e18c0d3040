// Backend "nccl": GPUs, with c10d's NCCL group of PyTorch 2.x; one rank per GPU (cuda:0 as the rank
// sees it). NCCL reduces on fixed rings and trees, so the same group gives the same bits.
//
// NCCL has no tags: messages in one direction between two ranks are matched in the order in which
// they are started, so both ends must start them in the same order. The two directions have
// separate groups; otherwise two ranks that both send first would wait for each other.
#ifdef NEREUS_NCCL

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "base/error.hpp"
#include "worker/comm/backends.hpp"
#include "worker/comm/message_comm.hpp"
#include "worker/comm/rendezvous.hpp"

namespace nereus::worker {
namespace {

using Clock = std::chrono::steady_clock;
using NcclGroup = c10d::ProcessGroupNCCL;
using Work = c10::intrusive_ptr<c10d::Work>;

struct NcclCore {
  StorePointer store;
  std::unique_ptr<Liveness> liveness;
  int num_ranks;
  std::chrono::milliseconds timeout;
  std::atomic<bool> failed = false;

  ~NcclCore() {
    if (liveness && !failed) liveness->leave(true);
  }
  c10::intrusive_ptr<NcclGroup> connect(const std::string& name, int index, int size) const {
    auto options = NcclGroup::Options::create();
    // Ours comes first and can name the rank; NCCL's own would end the process.
    options->timeout = 10 * timeout;
    return c10::make_intrusive<NcclGroup>(c10::make_intrusive<c10d::PrefixStore>(name, store),
                                          index, size, options);
  }
};

class NcclHandle : public Pending {
 public:
  NcclHandle(std::shared_ptr<NcclCore> core, Work work, std::vector<at::Tensor> tensors,
             std::string what, Liveness::Failure failure)
      : core_(std::move(core)),
        work_(std::move(work)),
        tensors_(std::move(tensors)),
        what_(std::move(what)),
        failure_(std::move(failure)),
        peer_(failure_.peer) {}

  void wait() override {
    if (error_) throw *error_;
    if (!work_) return;
    try {
      const Liveness::Wait waiting(*core_->liveness, peer_);
      const auto deadline = Clock::now() + core_->timeout;
      while (!work_->isCompleted()) {
        if (Clock::now() > deadline)
          throw std::runtime_error(fmt::format("nothing for {} ms", core_->timeout.count()));
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
      work_->wait();  // orders the caller's stream behind it; throws what went wrong
    } catch (const std::exception& error) {
      core_->failed = true;
      error_ = explain(*core_->liveness, what_, failure_, error.what());
      throw *error_;
    }
    work_.reset();
    tensors_.clear();
  }

  bool done() override { return error_ || !work_ || work_->isCompleted(); }

 private:
  std::shared_ptr<NcclCore> core_;
  Work work_;
  std::vector<at::Tensor> tensors_;
  std::string what_;
  Liveness::Failure failure_;
  const std::atomic<int> peer_;
  std::optional<CommError> error_;
};

class NcclMembers : public Group {
 public:
  NcclMembers(std::shared_ptr<NcclCore> core, std::vector<int> ranks, std::uint64_t number)
      : core_(std::move(core)), ranks_(std::move(ranks)), number_(number) {
    const auto self = std::find(ranks_.begin(), ranks_.end(), core_->liveness->rank());
    NEREUS_CHECK(self != ranks_.end(), "a group is made by its members");
    index_ = static_cast<int>(self - ranks_.begin());
    group_ = core_->connect(fmt::format("group/{}/{}", fmt::join(ranks_, ","), number), index_,
                            static_cast<int>(ranks_.size()));
  }
  const std::vector<int>& ranks() const override { return ranks_; }
  int index() const override { return index_; }

  Handle all_reduce(at::Tensor flat, Reduction reduction) override {
    traffic_.reduced += static_cast<std::int64_t>(flat.nbytes());
    std::vector<at::Tensor> tensors = {flat};
    c10d::AllreduceOptions options;
    options.reduceOp = reduction == Reduction::kMax ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
    return started("all-reduce", group_->allreduce(tensors, options), flat);
  }
  Handle reduce_scatter(at::Tensor flat, std::vector<Range> ranges) override {
    std::vector<std::vector<at::Tensor>> parts = {slices(flat, ranges)};
    std::vector<at::Tensor> own = {parts[0][index_]};
    traffic_.scattered += bytes_of_others(flat, ranges);
    return started("reduce-scatter", group_->reduce_scatter(own, parts), flat);
  }
  Handle all_gather(at::Tensor flat, std::vector<Range> ranges) override {
    std::vector<std::vector<at::Tensor>> parts = {slices(flat, ranges)};
    std::vector<at::Tensor> own = {parts[0][index_]};
    traffic_.gathered += bytes_of_others(flat, ranges);
    ++traffic_.num_gathers;
    return started("all-gather", group_->allgather(parts, own), flat);
  }

 private:
  std::vector<at::Tensor> slices(const at::Tensor& flat, const std::vector<Range>& ranges) const {
    NEREUS_CHECK(ranges.size() == ranks_.size(), "one range a member");
    const at::Tensor line = flat.view({-1});
    std::vector<at::Tensor> parts;
    for (const Range& range : ranges) parts.push_back(line.slice(0, range.begin, range.end));
    return parts;
  }
  Handle started(const char* name, Work work, const at::Tensor& flat) {
    core_->liveness->count_operation(number_);
    return std::make_shared<NcclHandle>(
        core_, std::move(work), std::vector<at::Tensor>{flat},
        fmt::format("{} number {} of ranks {{{}}}", name, num_started_++, fmt::join(ranks_, ",")),
        Liveness::Failure{-1, number_, ranks_});
  }

  std::shared_ptr<NcclCore> core_;
  std::vector<int> ranks_;
  std::uint64_t number_;
  int index_ = 0;
  std::uint64_t num_started_ = 0;
  c10::intrusive_ptr<NcclGroup> group_;
};

class NcclComm : public Comm {
 public:
  explicit NcclComm(std::shared_ptr<NcclCore> core) : core_(std::move(core)) {
    upwards_ = core_->connect("upwards", rank(), num_ranks());
    downwards_ = core_->connect("downwards", rank(), num_ranks());
  }
  int rank() const override { return core_->liveness->rank(); }
  int num_ranks() const override { return core_->num_ranks; }
  std::string name() const override { return "nccl"; }
  // NCCL's own end comes at the time-out: elastic jobs talk by gloo.
  void abort() override { core_->liveness->stop_looking(); }

  Handle send(at::Tensor tensor, int to, std::int64_t tag) override {
    std::vector<at::Tensor> tensors = {tensor};
    Work work = (to > rank() ? upwards_ : downwards_)->send(tensors, to, 0);
    return std::make_shared<NcclHandle>(core_, std::move(work), tensors,
                                        fmt::format("send of tag {} to rank {}", tag, to),
                                        Liveness::Failure{to, 0, {}});
  }
  Handle receive(at::Tensor tensor, int from, std::int64_t tag) override {
    std::vector<at::Tensor> tensors = {tensor};
    Work work = (from < rank() ? upwards_ : downwards_)->recv(tensors, from, 0);
    return std::make_shared<NcclHandle>(core_, std::move(work), tensors,
                                        fmt::format("receive of tag {} from rank {}", tag, from),
                                        Liveness::Failure{from, 0, {}});
  }
  std::shared_ptr<Group> group(const std::vector<int>& ranks) override {
    // Members agree on it: each has made as many groups of these ranks before.
    std::uint64_t number = static_cast<std::uint64_t>(num_groups_[ranks]++) + 1;
    for (const int member : ranks) number = number * 1'000'003 + static_cast<std::uint64_t>(member);
    return std::make_shared<NcclMembers>(core_, ranks, number);
  }

 private:
  std::shared_ptr<NcclCore> core_;
  c10::intrusive_ptr<NcclGroup> upwards_, downwards_;  // messages to higher and to lower ranks
  std::map<std::vector<int>, int> num_groups_;
};

}  // namespace

std::unique_ptr<Comm> open_nccl(const CommOptions& options) {
  auto core = std::make_shared<NcclCore>();
  core->store = open_store(options);
  core->num_ranks = options.num_ranks;
  core->timeout = options.timeout;
  core->liveness = std::make_unique<Liveness>(
      options.rank, options.num_ranks, local_address_towards(options.address), options.timeout);
  core->liveness->start(meet_alike(core->store, options.rank, options.num_ranks,
                                   core->liveness->address(), options.card, options.timeout));
  return std::make_unique<NcclComm>(std::move(core));
}

}  // namespace nereus::worker

#endif
