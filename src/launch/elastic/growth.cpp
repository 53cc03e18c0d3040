#include "launch/elastic/growth.hpp"

#include <fmt/format.h>

#include "launch/elastic/coordinator_parts.hpp"

namespace nereus::launch {

double Coordinator::expected_to_last() const {
  const double left = measured_step_ * static_cast<double>(state_.steps - state_.steps_done);
  if (changes_ == 0 || !begun_) return left;
  return std::min(left, seconds(Clock::now() - *begun_) / changes_);
}

void Coordinator::grow() {
  const int count = static_cast<int>(usable().size());
  if (count <= num_ranks_ || count == grown_for_ || seconds(Clock::now() - joined_) < kMoreJoin ||
      measured_step_ <= 0)
    return;
  grown_for_ = count;
  const std::optional<PlannedJob> planned = hooks_.plan(count);
  if (!planned || planned->num_ranks <= num_ranks_) return;
  const Growth growth{state_.step_s, planned->step_s, expected_to_last(), usual_morph_s_};
  if (growing_pays(growth)) {
    end_softly(fmt::format("{} machines are available: {}", count, planned->text), false);
    return;
  }
  say(fmt::format("{} machines: {} would save {:.1f} s, and a morph takes {:.1f} s", count,
                  planned->text, growth.step_now > 0 ? growth.gained() : 0, usual_morph_s_));
}

}  // namespace nereus::launch
