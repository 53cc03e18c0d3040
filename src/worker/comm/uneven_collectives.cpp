#include "worker/comm/uneven_collectives.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::worker {

namespace {

// Time of grouped broadcasts over that of padding and copies, by the buffer's bytes: the UCC table.
struct Advantage {
  double bytes = 0;
  double ratio = 0;
};
constexpr Advantage kOfPadding[] = {
    {8388608, 266.5 / 263},       {16777216, 378.2 / 331},    {33554432, 601.5 / 502.9},
    {67108864, 1019.3 / 827.3},   {134217728, 1880.2 / 1464}, {268435456, 3574.3 / 2786.1},
    {536870912, 5685.1 / 5378.6},
};

double advantage_of_padding(double bytes) {
  const Advantage* const last = std::end(kOfPadding) - 1;
  if (bytes < kOfPadding[0].bytes) return 0;
  if (bytes >= last->bytes) return last->ratio;
  const Advantage* above = std::begin(kOfPadding);
  while (above->bytes <= bytes) ++above;
  const Advantage& below = *(above - 1);
  const double part = std::log(bytes / below.bytes) / std::log(above->bytes / below.bytes);
  return below.ratio + part * (above->ratio - below.ratio);
}

std::int64_t longest(const std::vector<Range>& ranges) {
  std::int64_t most = 0;
  for (const Range& range : ranges) most = std::max(most, range.size());
  return most;
}

std::vector<Range> even(std::int64_t each, std::size_t parts) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < parts; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    ranges.push_back({at * each, (at + 1) * each});
  }
  return ranges;
}

at::Tensor part(const at::Tensor& flat, std::int64_t begin, std::int64_t size) {
  return flat.narrow(0, begin, size);
}

// Copies what came back into its place, once.
class Unpadding : public Pending {
 public:
  Unpadding(Handle handle, at::Tensor flat, at::Tensor padded, std::vector<Range> ranges, int only)
      : handle_(std::move(handle)),
        flat_(std::move(flat)),
        padded_(std::move(padded)),
        ranges_(std::move(ranges)),
        only_(only) {}
  void wait() override {
    if (!handle_) return;
    handle_->wait();
    handle_ = nullptr;
    const std::int64_t each = longest(ranges_);
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      if (only_ < 0 || only_ == static_cast<int>(i))
        part(flat_, ranges_[i].begin, ranges_[i].size())
            .copy_(part(padded_, static_cast<std::int64_t>(i) * each, ranges_[i].size()));
    padded_.reset();
    flat_.reset();
  }
  void wait_on_host() override {
    if (handle_) handle_->wait_on_host();
    wait();
  }

 private:
  Handle handle_;
  at::Tensor flat_, padded_;
  std::vector<Range> ranges_;
  int only_;  // the piece that is copied; -1: all
};

}  // namespace

Form choose_form(const std::string& backend, const std::vector<Range>& ranges,
                 std::int64_t bytes_each) {
  std::int64_t sum = 0;
  for (const Range& range : ranges) sum += range.size();
  const double padded = static_cast<double>(longest(ranges)) * static_cast<double>(ranges.size());
  if (backend != "nccl" || sum == 0 || padded == static_cast<double>(sum)) return Form::kExact;
  const auto bytes = static_cast<double>(sum * bytes_each);
  return padded / static_cast<double>(sum) < advantage_of_padding(bytes) ? Form::kPadded
                                                                         : Form::kExact;
}

Handle all_gather(Group& group, at::Tensor flat, const std::vector<Range>& ranges, Form form) {
  if (form == Form::kExact) return group.all_gather(std::move(flat), ranges);
  const std::int64_t each = longest(ranges);
  const at::Tensor padded =
      at::zeros({each * static_cast<std::int64_t>(ranges.size())}, flat.options());
  const auto own = static_cast<std::size_t>(group.index());
  part(padded, group.index() * each, ranges[own].size())
      .copy_(part(flat, ranges[own].begin, ranges[own].size()));
  Handle handle = group.all_gather(padded, even(each, ranges.size()));
  return std::make_shared<Unpadding>(std::move(handle), std::move(flat), padded, ranges, -1);
}

Handle reduce_scatter(Group& group, at::Tensor flat, const std::vector<Range>& ranges, Form form) {
  if (form == Form::kExact) return group.reduce_scatter(std::move(flat), ranges);
  const std::int64_t each = longest(ranges);
  const at::Tensor padded =
      at::zeros({each * static_cast<std::int64_t>(ranges.size())}, flat.options());
  for (std::size_t i = 0; i < ranges.size(); ++i)
    part(padded, static_cast<std::int64_t>(i) * each, ranges[i].size())
        .copy_(part(flat, ranges[i].begin, ranges[i].size()));
  Handle handle = group.reduce_scatter(padded, even(each, ranges.size()));
  return std::make_shared<Unpadding>(std::move(handle), std::move(flat), padded, ranges,
                                     group.index());
}

}  // namespace nereus::worker
