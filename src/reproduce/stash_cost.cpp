// Epochs in money and hours: Stash's tables of cost, and cases in which money buys no speed.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "reproduce/stash_claims.hpp"

namespace nereus::app {

namespace {

struct Epoch {
  const StashMachine* machine = nullptr;
  double seconds = 0;
  double usd() const { return seconds / 3600 * machine->usd_per_hour; }
};

// BERT ran on two p3.8xlarge and on a p3dn.24xlarge, the others everywhere else.
bool ran(const StashRun& run, const StashMachine& machine) {
  if (run.model == "bert-large") return false;  // no epoch of images
  return machine.name != "p3dn.24xlarge";
}

std::string family_of(const StashMachine& machine) { return machine.node.name.substr(0, 2); }

}  // namespace

void add_stash_cost(StashClaims& claims) {
  for (const StashMachine& machine : claims.machines)
    for (const StashRun& run : claims.runs(family_of(machine))) {
      if (!ran(run, machine)) continue;
      if (claims.stopped()) return;
      Claim& claim = claims.add(fmt::format("{}, {} samples per device, {}: $ per epoch", run.model,
                                            run.batch, machine.name),
                                "cost", " --set all.model=" + run.model);
      // Buckets on the best links, and also what its code did.
      const Epoch own{&machine, claims.epoch_seconds(run, machine, Sums::kBuckets, Links::kBest)};
      const Epoch coded{&machine,
                        claims.epoch_seconds(run, machine, Sums::kByTensor, Links::kBest)};
      const Epoch shared{&machine,
                         claims.epoch_seconds(run, machine, Sums::kByTensor, Links::kShared)};
      claim.ours = own.usd();
      claim.note =
          fmt::format("{:.3f} h at ${:.2f} per hour", own.seconds / 3600, machine.usd_per_hour);
      if (machine.devices() > 1)
        claim.note +=
            fmt::format("; one all-reduce per tensor ${}, over shared links ${}",
                        format_significant(coded.usd()), format_significant(shared.usd()));
    }
}

// Of any two choices for the same run, those that are more expensive per hour but not faster.
void add_stash_dearer(StashClaims& claims) {
  for (const Sums sums : claims.wanted_sums())
    for (const Links links : claims.wanted_links()) {
      int pairs = 0, slower = 0;
      double most = 0;
      std::string where;
      for (const StashMachine& dear : claims.machines)
        for (const StashRun& run : claims.runs(family_of(dear)))
          for (const StashMachine& cheap : claims.machines) {
            if (dear.usd_per_hour <= cheap.usd_per_hour || !ran(run, dear) || !ran(run, cheap))
              continue;
            const std::vector<StashRun> there = claims.runs(family_of(cheap));
            const bool same = std::any_of(there.begin(), there.end(), [&](const StashRun& other) {
              return other.model == run.model && other.batch == run.batch;
            });
            if (!same) continue;
            ++pairs;
            const double ratio = claims.epoch_seconds(run, dear, sums, links) /
                                 claims.epoch_seconds(run, cheap, sums, links);
            if (ratio <= 1) continue;
            ++slower;
            if (ratio <= most) continue;
            most = ratio;
            where = fmt::format(
                "{}, {} samples per device: {} at ${:.2f} takes {:.1f} times as long as {} at "
                "${:.2f}",
                run.model, run.batch, dear.name, dear.usd_per_hour, ratio, cheap.name,
                cheap.usd_per_hour);
          }
      if (pairs == 0) continue;
      Claim& claim = claims.add(
          fmt::format("more expensive choices that are slower, {}, {} links: % of pairs",
                      sums == Sums::kBuckets ? "buckets" : "one all-reduce per tensor",
                      to_string(links)),
          "dearer",
          fmt::format(" --set all.sums={} --set all.links={}", to_string(sums), to_string(links)));
      claim.ours = 100.0 * slower / pairs;
      claim.note = fmt::format("{} of {} pairs; published: that there are some{}", slower, pairs,
                               where.empty() ? "" : "; most: " + where);
    }
}

}  // namespace nereus::app
