#include <fmt/format.h>

#include "base/error.hpp"
#include "base/format.hpp"
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

bool Coordinator::is_saved(std::int64_t steps_done) const {
  return !hooks_.is_saved || last_saved_ == steps_done || hooks_.is_saved(steps_done);
}

void Coordinator::fail_to_save(std::int64_t steps_done) {
  const std::string why =
      last_remark_.find("checkpoint: ") == std::string::npos ? "" : ": " + last_remark_;
  job::Message failure;
  failure.kind = job::MessageKind::kError;
  failure.code = "elastic.not-saved";
  failure.message = fmt::format(
      "{} state could not be saved{}",
      counted(steps_done, "step is trained, but its", "steps are trained, but their"), why);
  failure.hint =
      "free some space, then run the same command; it resumes from the last complete "
      "checkpoint";
  outcome_.failure = failure;
  outcome_.exit_code = 4;
  try {
    finish();
  } catch (const Errors& errors) {  // the same disk; what is there says that the job is not done
    say(errors.list().front().message);
    phase_ = Phase::kFinished;
  }
}

void Coordinator::tell_interval() {
  const std::optional<SavePace::Numbers> n = pace_.numbers(now_s(), single_copy_);
  if (!options_.paces_saves || !n) return;
  if (n->interval < told_interval_ * kWorthTelling && n->interval * kWorthTelling > told_interval_)
    return;
  told_interval_ = n->interval;
  event("checkpoint interval", -1,
        fmt::format("{:.1f} s: one checkpoint costs {:.3f} s of training and takes {:.2f} s to "
                    "write, and losses that need it occur at most every {:.0f} s",
                    n->interval, n->cost, n->write, n->between));
}

}  // namespace nereus::launch
