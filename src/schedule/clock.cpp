#include "schedule/clock.hpp"

#include <algorithm>

#include "schedule/clock_program.hpp"
#include "schedule/phases.hpp"
#include "schedule/varuna_clock.hpp"
#include "schedule/wave.hpp"

namespace nereus::schedule {

using plan::Schedule;

double PipelineClose::longest() const { return *std::max_element(end.begin(), end.end()); }

Clock::Clock() : wave_(std::make_unique<Wave>()), varuna_(std::make_unique<VarunaClock>()) {}
Clock::~Clock() = default;
Clock::Clock(Clock&&) noexcept = default;

ClockProgram& Clock::program(Schedule schedule, const PipelineSize& size, bool extends) {
  for (Known& known : known_)
    if (known.schedule == schedule && known.size == size && known.extends == extends)
      return *known.program;
  known_.push_back(
      {schedule, size, extends, std::make_unique<ClockProgram>(schedule, size, extends)});
  return *known_.back().program;
}

void Clock::play(Schedule schedule, const PipelineSize& size, const PipelineSeconds& times,
                 bool staggered, PipelineClose& close) {
  if (in_phases(schedule)) return play_phases(size, times, room_, close);
  if (schedule == Schedule::kVaruna) return varuna_->play(size, times, close);
  if (in_waves(schedule, size) && !staggered) return wave_->play(size, times, close);
  const int round = round_of(schedule, size);
  PipelineSize some = size;
  for (int rounds = 4 * size.depth / round;; rounds *= 2) {
    // As many as remain at the end.
    some.micro_batches = rounds * round + size.micro_batches % round;
    const bool extends = some.micro_batches < size.micro_batches;
    if (!extends) some.micro_batches = size.micro_batches;
    if (program(schedule, some, extends).play(times, size.micro_batches, staggered, close)) return;
  }
}

}  // namespace nereus::schedule
