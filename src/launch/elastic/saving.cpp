#include <fmt/format.h>

#include "launch/elastic/coordinator_parts.hpp"

namespace nereus::launch {

namespace {

constexpr double kWorthTelling = 2;  // times as long or short as told last

}  // namespace

void Coordinator::save_when_due() {
  if (!options_.paces_saves || !pace_.is_due(now_s(), single_copy_)) return;
  for (auto& [name, member] : members_)
    if (member.in_generation && member.rank == 0)
      member.tell(message_of(ElasticKind::kSaveAfter, state_.generation));
  pace_.asked(now_s());
}

void Coordinator::tell_interval() {
  const std::optional<SavePace::Numbers> n = pace_.numbers(now_s(), single_copy_);
  if (!options_.paces_saves || !n) return;
  if (n->interval < told_interval_ * kWorthTelling && n->interval * kWorthTelling > told_interval_)
    return;
  told_interval_ = n->interval;
  event("checkpoint interval", -1,
        fmt::format("{:.1f} s: one costs {:.3f} s of training and takes {:.2f} s to write, and "
                    "losses that need it come every {:.0f} s or more rarely",
                    n->interval, n->cost, n->write, n->between));
}

}  // namespace nereus::launch
