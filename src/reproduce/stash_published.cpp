// Compares published collectives with ours, as claims.
#include <fmt/format.h>

#include "base/format.hpp"
#include "base/units.hpp"
#include "reproduce/stash_claims.hpp"
#include "reproduce/stash_collectives.hpp"

namespace nereus::app {

namespace {

std::string size_text(double bytes) {
  if (bytes >= kGiB) return fmt::format("{:g} GiB", bytes / kGiB);
  if (bytes >= kMiB) return fmt::format("{:g} MiB", bytes / kMiB);
  return fmt::format("{:g} bytes", bytes);
}

std::string name_of(const PublishedCollective& own) {
  return fmt::format("{}, {} on {}, {} of {}{}: us", own.system,
                     counted(own.site.num_ranks, "rank"), counted(own.site.nodes(), "node"),
                     own.operation, size_text(own.bytes),
                     own.counts ? "" : " (NVLS off, not counted)");
}

}  // namespace

void add_stash_collectives(StashClaims& claims) {
  const simulate::NcclNodeNumbers numbers = claims.options(Sums::kBuckets, Links::kBest).nccl;
  const PublishedCollectives all = published_collectives(numbers);
  for (const PublishedCollective& own : all.rows) {
    Claim& claim = claims.add(name_of(own), "collectives");
    claim.published = own.measured * 1e6;
    claim.ours = own.predicted * 1e6;
    claim.note = fmt::format("{:+.1f} %; {}", 100 * (own.predicted / own.measured - 1), own.source);
  }
  Claim& median = claims.add("published collectives: median error, %", "collectives");
  median.ours = 100 * all.median_error;
  median.note = fmt::format(
      "{} rows that state bytes, ranks and a result; nothing is fitted to them: one node as fitted "
      "to A100s elsewhere, networks at {:g} of their rate, switches that add at {:g} of theirs",
      all.counted, numbers.network_efficiency, numbers.switch_efficiency);
  for (const NotPredicted& own : all.others)
    claims.out.notes.push_back(fmt::format("not predicted: {}: {}", own.what, own.why));
}

}  // namespace nereus::app
