#include "measure/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "cost/buckets.hpp"
#include "cost/data_parallel.hpp"

namespace nereus::measure {

namespace {

constexpr double kGradientBytes = 4;  // of a parameter
constexpr double kMostBuckets = 1e5;

// All changes together.
struct Factors {
  double cores = 1, disk = 1, cached = 0, links = 1, device = 1;
  double bucket = 0;  // bytes
};

Factors factors_of(const MeasuredStep& now, const std::vector<Change>& changes) {
  Factors f;
  f.bucket = now.bucket_bytes;
  for (const Change& change : changes) switch (change.kind) {
      case ChangeKind::kCores:
        f.cores *= change.value;
        break;
      case ChangeKind::kDisk:
        f.disk *= change.value;
        break;
      case ChangeKind::kCached:
        f.cached = change.value;
        break;
      case ChangeKind::kLinks:
        f.links *= change.value;
        break;
      case ChangeKind::kBucket:
        f.bucket = change.value;
        break;
      case ChangeKind::kDevice:
        f.device *= change.value;
        break;
    }
  return f;
}

// Sums of gradients, evenly over a backward pass of so many seconds: what is left exposed.
double exposed(double bytes, double bucket, double seconds_per_byte, double latency,
               double backward) {
  bucket = std::max(bucket, bytes / kMostBuckets);
  std::vector<double> ready, seconds;
  double done = 0;
  while (done < bytes) {
    const double limit = ready.empty() ? std::min(bucket, cost::kTorchBuckets.first) : bucket;
    const double own = std::min(limit, bytes - done);
    done = own < limit ? bytes : done + own;
    ready.push_back(backward * done / bytes);
    seconds.push_back(latency + own * seconds_per_byte);
  }
  return cost::exposed_sums(ready, seconds, backward).stall;
}

struct Wire {
  double seconds_per_byte = 0;
  double latency = kSumLatency;
};

// The wire on which as much is exposed as was measured.
Wire wire_of(double bytes, double bucket, double backward, double talk) {
  Wire wire;
  if (exposed(bytes, bucket, 0, wire.latency, backward) > talk) wire.latency = 0;
  double low = 0, high = (talk + backward) / bytes;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (exposed(bytes, bucket, middle, wire.latency, backward) < talk ? low : high) = middle;
  }
  wire.seconds_per_byte = high;
  return wire;
}

// Which end of the measured intervals is used.
enum class End { kMean, kLow, kHigh };

double at(const Stall& stall, End end) {
  return end == End::kMean ? stall.seconds : end == End::kLow ? stall.low : stall.high;
}

class Model {
 public:
  Model(const MeasuredStep& now, End end) : now_(now), report_(now.report), end_(end) {}

  ChangedStep step(const Factors& f) const {
    ChangedStep out;
    const double launch = std::clamp(seconds(StallKind::kLaunch), 0.0, work_now());
    out.work = launch + (work_now() - launch) / f.device;
    out.talk = talk(f, out.work);
    out.copies = seconds(StallKind::kHostCopy);
    const double at_hand = out.work + out.talk + out.copies;
    out.seconds = std::max({at_hand, prepare() / f.cores, fetch() * (1 - f.cached) / f.disk});
    out.data = out.seconds - at_hand;
    return out;
  }

 private:
  const Stall& stall(StallKind kind) const { return report_.of(kind); }
  double seconds(StallKind kind) const { return stall(kind).measured ? stall(kind).seconds : 0; }

  double work_now() const {
    return std::max(
        0.0, report_.alone_s + seconds(StallKind::kContention) + seconds(StallKind::kStraggler));
  }
  double at_hand_now() const { return work_now() + talk_now() + seconds(StallKind::kHostCopy); }
  double talk_now() const {
    double sum = 0;
    for (const StallKind kind : {StallKind::kInterconnect, StallKind::kNetwork})
      if (stall(kind).measured) sum += at(stall(kind), end_);
    return std::max(0.0, sum);
  }

  double talk(const Factors& f, double work) const {
    const double talk = talk_now();
    const double bytes = now_.parameters * kGradientBytes;
    if (talk <= 0) return 0;
    if (bytes < 1) return talk / f.links;
    const Wire wire = wire_of(bytes, now_.bucket_bytes, cost::kBackward * work_now(), talk);
    return exposed(bytes, f.bucket, wire.seconds_per_byte / f.links, wire.latency,
                   cost::kBackward * work);
  }

  // A stall that is not significant is overlapped: the loader may take any time up to what hides
  // it.
  double prepare() const { return loading(StallKind::kPrepare, at_hand_now()); }
  double fetch() const { return loading(StallKind::kFetch, std::max(at_hand_now(), prepare())); }
  double loading(StallKind kind, double before) const {
    if (!stall(kind).measured) return 0;
    if (stall(kind).significant) return before + at(stall(kind), end_);
    return end_ == End::kHigh ? before : 0;
  }

  const MeasuredStep& now_;
  const StallReport& report_;
  const End end_;
};

std::string of_stall(const char* what, double seconds, const Stall& stall) {
  if (!stall.measured) return fmt::format("{} was not measured: {}", what, stall.note);
  if (!stall.significant)
    return fmt::format("{} is fully hidden: its stall is not significant", what);
  return fmt::format("{}, {} per step", what, format_seconds(Seconds{seconds}));
}

std::string scales_of(const MeasuredStep& now, const Change& change) {
  const StallReport& r = now.report;
  const auto talk = [&] {
    const Stall &inside = r.of(StallKind::kInterconnect), &between = r.of(StallKind::kNetwork);
    if (!inside.measured && !between.measured) return std::string("communication was not measured");
    return fmt::format("exposed communication, {} per step",
                       format_seconds(Seconds{inside.seconds + between.seconds}));
  };
  switch (change.kind) {
    case ChangeKind::kCores:
      return of_stall("preparing", r.warm_s, r.of(StallKind::kPrepare));
    case ChangeKind::kDisk:
    case ChangeKind::kCached:
      return of_stall("reading storage", r.step_s, r.of(StallKind::kFetch));
    case ChangeKind::kLinks:
    case ChangeKind::kBucket:
      return talk();
    case ChangeKind::kDevice:
      return fmt::format("one device's work except launches, {} per step",
                         format_seconds(Seconds{r.alone_s}));
  }
  return {};
}

}  // namespace

std::string_view to_string(ChangeKind kind) {
  constexpr std::string_view kNames[] = {"cores", "disk", "cached", "links", "bucket", "device"};
  return kNames[static_cast<int>(kind)];
}

ChangedStep what_if(const MeasuredStep& now, const std::vector<Change>& changes) {
  const Factors then = factors_of(now, changes);
  const Factors same = factors_of(now, {});
  const auto changed = [&](End end) {
    const Model model(now, end);
    ChangedStep out = model.step(then);
    // Without changes, the result is the measured step; what the model leaves out is unchanged.
    out.seconds = now.report.step_s + out.seconds - model.step(same).seconds;
    return out;
  };
  ChangedStep out = changed(End::kMean);
  const double ends[] = {changed(End::kLow).seconds, changed(End::kHigh).seconds};
  out.low = std::min({ends[0], ends[1], out.seconds});
  out.high = std::max({ends[0], ends[1], out.seconds});
  for (const Change& change : changes)
    out.scales += (out.scales.empty() ? "" : "; ") + scales_of(now, change);
  return out;
}

std::vector<Change> usual_changes(const MeasuredStep& now) {
  const StallReport& r = now.report;
  std::vector<Change> out;
  if (r.of(StallKind::kPrepare).measured) out.push_back({ChangeKind::kCores, 2});
  if (r.of(StallKind::kFetch).measured) {
    out.push_back({ChangeKind::kDisk, 2});
    out.push_back({ChangeKind::kCached, 1});
  }
  if (r.of(StallKind::kInterconnect).measured || r.of(StallKind::kNetwork).measured) {
    out.push_back({ChangeKind::kLinks, 2});
    if (now.parameters > 0) {
      out.push_back({ChangeKind::kBucket, now.bucket_bytes / 4});
      out.push_back({ChangeKind::kBucket, now.bucket_bytes * 4});
    }
  }
  out.push_back({ChangeKind::kDevice, 2});
  return out;
}

}  // namespace nereus::measure
