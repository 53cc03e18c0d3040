// Backend "nccl": GPUs, with NCCL's own communicators (nccl_core.hpp says how they are ordered);
// one rank per GPU (cuda:0 as the rank sees it). NCCL reduces on fixed rings and trees, so the same
// group gives the same bits.
//
// NCCL has no tags: the messages of a lane are matched in the order in which they are started. The
// lanes that connect() was told of divide the messages between two ranks by their tags; other
// messages go on one lane per direction, which is connected when its first message is started, as a
// group is whose first operation comes before connect(): then both ends wait for each other.
#ifdef NEREUS_NCCL

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "worker/comm/backends.hpp"
#include "worker/comm/message_comm.hpp"
#include "worker/comm/nccl_core.hpp"

namespace nereus::worker {
namespace {

ncclDataType_t type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return ncclDouble;
    case at::kFloat:
      return ncclFloat;
    case at::kHalf:
      return ncclHalf;
    case at::kBFloat16:
      return ncclBfloat16;
    case at::kLong:
      return ncclInt64;
    case at::kInt:
      return ncclInt32;
    case at::kChar:
      return ncclInt8;
    case at::kByte:
      return ncclUint8;
    default:
      NEREUS_CHECK(false, "NCCL has no such numbers");
      return ncclInt8;
  }
}

class NcclGroup : public Group {
 public:
  NcclGroup(std::shared_ptr<NcclCore> core, std::vector<int> ranks, int number)
      : core_(std::move(core)),
        ranks_(std::move(ranks)),
        number_(number),
        slot_(group_slot(ranks_, number)) {
    const auto self = std::find(ranks_.begin(), ranks_.end(), core_->rank());
    NEREUS_CHECK(self != ranks_.end(), "a group is made by its members");
    index_ = static_cast<int>(self - ranks_.begin());
  }
  const std::vector<int>& ranks() const override { return ranks_; }
  int index() const override { return index_; }

  Handle all_reduce(at::Tensor flat, Reduction reduction) override {
    if (!core_->rehearses()) traffic_.reduced += static_cast<std::int64_t>(flat.nbytes());
    const auto how = reduction == Reduction::kMax ? ncclMax : ncclSum;
    return start("all-reduce", Purpose::kReduce, flat, [=](ncclComm_t comm, cudaStream_t stream) {
      check_nccl(ncclAllReduce(flat.data_ptr(), flat.data_ptr(), count(flat), type_of(flat), how,
                               comm, stream),
                 comm);
    });
  }
  // In place: pieces of equal size in the order of the members are what NCCL's own collective
  // takes; others go as one reduction (or broadcast) per piece.
  Handle reduce_scatter(at::Tensor flat, std::vector<Range> ranges) override {
    if (!core_->rehearses()) traffic_.scattered += bytes_of_others(flat, ranges);
    return start(
        "reduce-scatter", Purpose::kReduce, flat,
        [this, flat, ranges](ncclComm_t comm, cudaStream_t stream) {
          const ncclDataType_t type = type_of(flat);
          if (are_even(ranges))
            return check_nccl(ncclReduceScatter(at(flat, ranges[0]), at(flat, own(ranges)),
                                                size(ranges[0]), type, ncclSum, comm, stream),
                              comm);
          check_nccl(ncclGroupStart());
          for (std::size_t i = 0; i < ranges.size(); ++i)
            if (ranges[i].size() > 0)
              check_nccl(ncclReduce(at(flat, ranges[i]), at(flat, ranges[i]), size(ranges[i]), type,
                                    ncclSum, static_cast<int>(i), comm, stream),
                         comm);
          check_nccl(ncclGroupEnd(), comm);
        });
  }
  Handle all_gather(at::Tensor flat, std::vector<Range> ranges) override {
    if (core_->rehearses()) {
      for (std::size_t i = 0; i < ranges.size(); ++i)
        if (static_cast<int>(i) != index_)
          flat.view({-1}).slice(0, ranges[i].begin, ranges[i].end).zero_();
    } else {
      traffic_.gathered += bytes_of_others(flat, ranges);
      ++traffic_.num_gathers;
    }
    return start("all-gather", Purpose::kGather, flat,
                 [this, flat, ranges](ncclComm_t comm, cudaStream_t stream) {
                   const ncclDataType_t type = type_of(flat);
                   if (are_even(ranges))
                     return check_nccl(ncclAllGather(at(flat, own(ranges)), at(flat, ranges[0]),
                                                     size(ranges[0]), type, comm, stream),
                                       comm);
                   check_nccl(ncclGroupStart());
                   for (std::size_t i = 0; i < ranges.size(); ++i)
                     if (ranges[i].size() > 0)
                       check_nccl(
                           ncclBroadcast(at(flat, ranges[i]), at(flat, ranges[i]), size(ranges[i]),
                                         type, static_cast<int>(i), comm, stream),
                           comm);
                   check_nccl(ncclGroupEnd(), comm);
                 });
  }

  void connect() {
    if (!link_)
      link_ = core_->make_link(fmt::format("nccl/group/{}/{}", fmt::join(ranks_, ","), number_),
                               ranks_, false);
  }
  // The world first, then by ranks: one order on all ranks of the job.
  bool comes_before(const NcclGroup& other) const {
    using Key = std::tuple<bool, const std::vector<int>&, int>;
    const auto key = [this](const NcclGroup& group) {
      const bool whole = static_cast<int>(group.ranks_.size()) == core_->num_ranks();
      return Key(!whole, group.ranks_, group.number_);
    };
    return key(*this) < key(other);
  }

 private:
  static std::size_t count(const at::Tensor& flat) {
    return static_cast<std::size_t>(flat.numel());
  }
  static std::size_t size(const Range& range) { return static_cast<std::size_t>(range.size()); }
  static char* at(const at::Tensor& flat, const Range& range) {
    return static_cast<char*>(flat.data_ptr()) +
           range.begin * static_cast<std::int64_t>(flat.element_size());
  }
  const Range& own(const std::vector<Range>& ranges) const { return ranges[index_]; }
  static bool are_even(const std::vector<Range>& ranges) {
    for (std::size_t i = 0; i < ranges.size(); ++i)
      if (ranges[i].size() != ranges[0].size() || ranges[i].size() == 0 ||
          (i > 0 && ranges[i].begin != ranges[i - 1].end))
        return false;
    return true;
  }
  Handle start(const char* what, Purpose purpose, const at::Tensor& flat,
               const NcclCore::Run& run) {
    NEREUS_CHECK(flat.is_contiguous() && flat.is_cuda(), "collectives are of contiguous tensors");
    connect();
    NcclCore::Operation operation{what, num_started_++, {-1, slot_, ranks_}, purpose};
    if (is_team_) operation.purpose = Purpose::kTeam;
    return core_->start(link_, {flat}, std::move(operation), run);
  }

  std::shared_ptr<NcclCore> core_;
  std::vector<int> ranks_;
  int number_;
  std::uint64_t slot_;
  int index_ = 0;
  std::uint64_t num_started_ = 0;
  std::shared_ptr<NcclLink> link_;
};

class NcclComm : public Comm {
 public:
  explicit NcclComm(std::shared_ptr<NcclCore> core) : core_(std::move(core)) {}
  int rank() const override { return core_->rank(); }
  int num_ranks() const override { return core_->num_ranks(); }
  std::string name() const override { return "nccl"; }
  void abort() override {
    core_->liveness().stop_looking();
    core_->abort();
  }
  bool waits_on_device() const override { return num_ranks() > 1; }
  void rehearse(bool on) override { core_->rehearse(on); }
  StreamTimes take_stream_times() override { return core_->take_times(); }

  Handle send(at::Tensor tensor, int to, std::int64_t tag) override {
    const auto link = lane(rank(), to, tag);
    return start(fmt::format("send of tag {} to rank {}", tag, to), link, tensor, to,
                 [=](ncclComm_t comm, cudaStream_t stream) {
                   check_nccl(
                       ncclSend(tensor.data_ptr(), tensor.nbytes(), ncclUint8, 1, comm, stream),
                       comm);
                 });
  }
  Handle receive(at::Tensor tensor, int from, std::int64_t tag) override {
    if (core_->rehearses()) tensor.zero_();
    const auto link = lane(from, rank(), tag);
    return start(fmt::format("receive of tag {} from rank {}", tag, from), link, tensor, from,
                 [=](ncclComm_t comm, cudaStream_t stream) {
                   check_nccl(
                       ncclRecv(tensor.data_ptr(), tensor.nbytes(), ncclUint8, 0, comm, stream),
                       comm);
                 });
  }

  std::shared_ptr<Group> group(const std::vector<int>& ranks) override {
    auto made = std::make_shared<NcclGroup>(core_, ranks, num_groups_[ranks]++);
    unconnected_.push_back(made);
    return made;
  }

  void connect(const std::vector<Lane>& lanes) override {
    std::vector<std::shared_ptr<NcclGroup>> groups;
    for (const auto& weak : unconnected_)
      if (auto group = weak.lock()) groups.push_back(std::move(group));
    unconnected_.clear();
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return a->comes_before(*b); });
    for (const auto& group : groups) group->connect();
    for (const Lane& lane : in_build_order(lanes))
      if (lane.from == rank() || lane.to == rank()) open(lane);
  }

 private:
  const std::shared_ptr<NcclLink>& open(const Lane& lane) {
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (lanes_[i] == lane) return links_[i];
    links_.push_back(core_->make_link("nccl/lane/" + to_string(lane), {lane.from, lane.to}, true));
    lanes_.push_back(lane);
    return links_.back();
  }
  std::shared_ptr<NcclLink> lane(int from, int to, std::int64_t tag) {
    NEREUS_CHECK(from != to && std::min(from, to) >= 0 && std::max(from, to) < num_ranks(),
                 fmt::format("no message from rank {} to rank {}", from, to));
    if (const auto at = lane_of(lanes_, from, to, tag)) return links_[*at];
    return open({from, to, -1, std::numeric_limits<std::int64_t>::max()});
  }
  Handle start(std::string what, const std::shared_ptr<NcclLink>& link, const at::Tensor& tensor,
               int peer, const NcclCore::Run& run) {
    NEREUS_CHECK(tensor.is_contiguous() && tensor.is_cuda(), "messages are contiguous tensors");
    NcclCore::Operation operation{std::move(what), 0, {peer, 0, {}}, Purpose::kMessage};
    return core_->start(link, {tensor}, std::move(operation), run);
  }

  std::shared_ptr<NcclCore> core_;
  std::map<std::vector<int>, int> num_groups_;
  std::vector<std::weak_ptr<NcclGroup>> unconnected_;
  std::vector<Lane> lanes_;
  std::vector<std::shared_ptr<NcclLink>> links_;  // of the lanes
};

}  // namespace

std::unique_ptr<Comm> open_nccl(const CommOptions& options) {
  StorePointer store = open_store(options);
  auto liveness = std::make_unique<Liveness>(
      options.rank, options.num_ranks, local_address_towards(options.address), options.timeout);
  liveness->start(meet_alike(store, options.rank, options.num_ranks, liveness->address(),
                             options.card, options.timeout));
  return std::make_unique<NcclComm>(std::make_shared<NcclCore>(
      std::move(store), std::move(liveness), options.num_ranks, options.timeout));
}

}  // namespace nereus::worker

#endif
