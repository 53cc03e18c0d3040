// Stash's stalls of data loading, as its formulas intend and as its code computes them
// (data/stash/stall_formulas.csv), on the same predicted times of one epoch:
//   T2  synthetic     only the step, with bucketed all-reduces on the best links
//   T4  warm          the longest of the step, preparation, and fetching what is not cached
//   T3  cold          the same, with nothing cached
// Loading overlaps with the step (search/rent/feed.hpp).
//   intended prep (T4 - T2) / T4               fetch (T3 - T4) / T3
//   coded    prep (T4 - T2) / (d T4)           fetch (T3 - (T4 - T2)) / (d T3)
// d = 2: runs with data have twice the samples of synthetic ones, and the code scales only the
// numerator of each fraction back; and it subtracts the prep stall instead of the warm time.
#include <fmt/format.h>

#include <algorithm>

#include "reproduce/stash_claims.hpp"
#include "search/rent/feed.hpp"

namespace nereus::app {

namespace {

constexpr double kDatasetBytes = 146e9;  // ImageNet-1k as its scripts hold it
constexpr double kDivisor = 2;           // synthetic_div_factor

struct Times {
  double synthetic = 0, warm = 0, cold = 0;
};

Times times_of(StashClaims& claims, const StashRun& run, const StashMachine& machine) {
  const double images = claims.settings.number("images");
  const double batch = static_cast<double>(run.batch) * machine.devices();
  const double step = claims.step(run, machine, Sums::kBuckets, Links::kBest).all();
  rent::Feed feed;
  feed.core_seconds = claims.settings.number("prepare_ms") * 1e-3;
  feed.sample_bytes = kDatasetBytes / images;
  feed.dataset_bytes = kDatasetBytes;
  feed.disk = claims.settings.number("disk_mb_s") * 1e6;
  const cluster::MemoryTier* host = machine.node.tier("host");
  const rent::FeedMachine own{.cores = machine.node.vcpus / 2.0,
                              .memory = host ? host->capacity.value : 0};
  const double warm = rent::feed_time(feed, own, machine.count, batch).seconds();
  feed.dataset_bytes = 0;
  const double cold = rent::feed_time(feed, own, machine.count, batch).seconds();
  const double steps = images / batch;
  return {steps * step, steps * std::max(step, warm), steps * std::max(step, cold)};
}

void add(StashClaims& claims, const StashRun& run, const StashMachine& machine, const char* stall,
         double meant, double coded, const Times& t) {
  const auto name = [&](const char* how) {
    return fmt::format("{}, {} samples per device, {}: {} stall {}, % of the run", run.model,
                       run.batch, machine.name, stall, how);
  };
  const std::string note =
      fmt::format("an epoch takes {:.0f} s synthetic, {:.0f} s warm, {:.0f} s cold", t.synthetic,
                  t.warm, t.cold);
  Claim& right = claims.add(name("as meant"), "formulas", " --set all.model=" + run.model);
  right.ours = 100 * meant;
  right.note = note;
  Claim& wrong = claims.add(name("as coded"), "formulas", " --set all.model=" + run.model);
  wrong.ours = 100 * coded;
  wrong.note = note;
}

}  // namespace

void add_stash_formulas(StashClaims& claims) {
  const StashRun runs[] = {{"resnet18", 128}, {"resnet50", 80}};
  for (const StashRun& run : runs)
    for (const char* name : {"p3.2xlarge", "p3.16xlarge"}) {
      if (!claims.settings.wants("model", run.model)) continue;
      const StashMachine machine = stash_machine(name);
      const Times t = times_of(claims, run, machine);
      const double prep = t.warm - t.synthetic;
      add(claims, run, machine, "prep", prep / t.warm, prep / (kDivisor * t.warm), t);
      add(claims, run, machine, "fetch", (t.cold - t.warm) / t.cold,
          (t.cold - prep) / (kDivisor * t.cold), t);
    }
}

}  // namespace nereus::app
