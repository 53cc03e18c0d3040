#include "worker/comm/ring_group.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <utility>

#include "base/error.hpp"

namespace nereus::worker {
namespace {

Element element_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return Element::kFloat64;
    case at::kFloat:
      return Element::kFloat32;
    case at::kHalf:
      return Element::kFloat16;
    case at::kBFloat16:
      return Element::kBFloat16;
    case at::kLong:
      return Element::kInt64;
    case at::kInt:
      return Element::kInt32;
    case at::kShort:
      return Element::kInt16;
    case at::kChar:
      return Element::kInt8;
    case at::kByte:
      return Element::kByte;
    default:
      break;
  }
  NEREUS_CHECK(false, fmt::format("no collective for {}", c10::toString(tensor.scalar_type())));
}

class CollectiveHandle : public Pending {
 public:
  CollectiveHandle(std::shared_ptr<CommCore> core, std::shared_ptr<std::atomic<int>> waits_for,
                   std::future<void> done)
      : core_(std::move(core)), waits_for_(std::move(waits_for)), done_(done.share()) {}
  void wait() override {
    const Liveness::Wait waiting(*core_->liveness, *waits_for_);
    done_.get();  // ends: every message of the ring has a time-out
  }
  bool done() override {
    return done_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

 private:
  std::shared_ptr<CommCore> core_;
  std::shared_ptr<std::atomic<int>> waits_for_;
  std::shared_future<void> done_;
};

Combine combine_of(Reduction reduction) {
  return reduction == Reduction::kMax ? max_into : add_into;
}

}  // namespace

RingGroup::RingGroup(std::shared_ptr<CommCore> core, std::vector<int> ranks, std::uint64_t slot)
    : core_(std::move(core)),
      ranks_(std::move(ranks)),
      slot_(slot),
      waits_for_(std::make_shared<std::atomic<int>>(-1)) {
  const auto self = std::find(ranks_.begin(), ranks_.end(), core_->wire->rank());
  NEREUS_CHECK(self != ranks_.end(), "a group is made by its members");
  index_ = static_cast<int>(self - ranks_.begin());
}

Handle RingGroup::all_reduce(at::Tensor flat, Reduction reduction) {
  const std::int64_t count = flat.numel();
  traffic_.reduced += static_cast<std::int64_t>(flat.nbytes());
  return start("all-reduce", std::move(flat), [=](const Ring& ring, const Elements& elements) {
    ring_all_reduce(ring, elements, count, combine_of(reduction));
  });
}

Handle RingGroup::reduce_scatter(at::Tensor flat, std::vector<Range> ranges) {
  check_ranges(flat, ranges);
  traffic_.scattered += bytes_of_others(flat, ranges);
  return start("reduce-scatter", std::move(flat),
               [ranges = std::move(ranges)](const Ring& ring, const Elements& elements) {
                 ring_reduce_scatter(ring, elements, ranges, add_into);
               });
}

Handle RingGroup::all_gather(at::Tensor flat, std::vector<Range> ranges) {
  check_ranges(flat, ranges);
  traffic_.gathered += bytes_of_others(flat, ranges);
  ++traffic_.num_gathers;
  return start("all-gather", std::move(flat),
               [ranges = std::move(ranges)](const Ring& ring, const Elements& elements) {
                 ring_all_gather(ring, elements, ranges);
               });
}

void RingGroup::check_ranges(const at::Tensor& flat, const std::vector<Range>& ranges) const {
  NEREUS_CHECK(ranges.size() == ranks_.size(), "one range a member");
  for (const Range& range : ranges)
    NEREUS_CHECK(
        0 <= range.begin && range.begin <= range.end && range.end <= flat.numel(),
        fmt::format("range [{}, {}) of {} elements", range.begin, range.end, flat.numel()));
}

Handle RingGroup::start(const char* name, at::Tensor flat, Collective collective) {
  NEREUS_CHECK(flat.is_contiguous(), "collectives take contiguous tensors");
  element_of(flat);  // checked here, so that a wrong type is reported to the caller
  auto what =
      fmt::format("{} number {} of ranks {{{}}}", name, num_started_++, fmt::join(ranks_, ","));
  core_->liveness->count_operation(slot_);
  const auto promise = std::make_shared<std::promise<void>>();
  auto handle = std::make_shared<CollectiveHandle>(core_, waits_for_, promise->get_future());
  const DeviceMark ready(flat);
  thread_.start(
      [this, what = std::move(what), flat, ready, promise, collective = std::move(collective)] {
        try {
          if (broken_) std::rethrow_exception(broken_);
          run(what, flat, ready, collective);
          promise->set_value();
        } catch (...) {
          broken_ = std::current_exception();
          promise->set_exception(broken_);
        }
      });
  return handle;
}

void RingGroup::run(const std::string& what, at::Tensor flat, const DeviceMark& ready,
                    const Collective& collective) {
  const auto wait = [&](Parcel& parcel, int peer) {
    *waits_for_ = peer;
    const Liveness::Wait waiting(*core_->liveness, peer);
    parcel.wait();
  };
  try {
    if (core_->aborted) throw WireError("told to end", -1);
    at::Tensor host = to_host(flat, ready);
    collective({*core_->wire, ranks_, index_, slot_, landing_, wait},
               {host.data_ptr(), element_of(host), static_cast<std::size_t>(host.element_size())});
    from_host(host, flat);
  } catch (const WireError& error) {
    core_->failed = true;
    throw explain(*core_->liveness, what, {error.peer, slot_, ranks_}, error.what());
  }
}

}  // namespace nereus::worker
