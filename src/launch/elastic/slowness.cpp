#include <fmt/format.h>

#include "launch/elastic/coordinator_parts.hpp"

namespace nereus::launch {

namespace {

constexpr double kLongestProbation = 3600;  // seconds

}  // namespace

void Coordinator::leave_out_slow() {
  end_probations(false);
  const std::optional<SlowRank> slow = times_.slowest();
  if (!slow) return;
  const auto found = std::find_if(members_.begin(), members_.end(), [&](const auto& entry) {
    return entry.second.in_generation && entry.second.rank == slow->rank;
  });
  const int count = static_cast<int>(usable().size()) - 1;
  if (found == members_.end() || count < 1) return;
  const std::optional<PlannedJob> planned = hooks_.plan(count);
  if (!planned) return;
  const std::optional<double> without =
      leaving_out_pays(*slow, {state_.step_s, planned->step_s, expected_to_last(), usual_morph_s_});
  if (!without) return;
  Member& member = found->second;
  member.probation_s = member.probation_s > 0 ? std::min(2 * member.probation_s, kLongestProbation)
                                              : options_.probation_s;
  member.slow_until =
      Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(member.probation_s * 1e3));
  event(
      "slow", slow->rank,
      fmt::format("{}: busy {:.3f} s of a step, the others {:.3f} s; a step takes {:.3f} s, and "
                  "{:.3f} s without it; tried again in {:.0f} s",
                  member.name, slow->busy, slow->others, slow->step, *without, member.probation_s));
  end_softly(member.name + " is slow", false);
}

void Coordinator::end_probations(bool all) {
  for (auto& [name, member] : members_) {
    if (!member.slow_until || (!all && Clock::now() < *member.slow_until)) continue;
    member.slow_until.reset();
    grown_for_ = -1;
    changed_ = true;
    event("probation", -1, name + (all ? ": slow, but needed" : ": was slow, and is tried again"));
  }
}

}  // namespace nereus::launch
