#include "schedule/phases.hpp"

#include <algorithm>

namespace nereus::schedule {

using plan::Schedule;

namespace {

// When each stage is done with its last micro-batch, in one direction, and its message has arrived.
// `takes(s)` includes the message; `first(s)` and `last(s)` are the additional time of the first
// and last micro-batch. `ends` does not include that of the last ones, because no chunk of a rank
// follows those that have it.
template <class Takes, class First, class Last>
void one_way(const PipelineSize& size, std::vector<double>& ends, std::vector<double>& done,
             const Takes& takes, const First& first, const Last& last) {
  const int num_stages = size.num_stages();
  const double more = size.micro_batches - 1;
  ends.assign(static_cast<std::size_t>(num_stages), 0);
  done.assign(static_cast<std::size_t>(num_stages), 0);
  for (int from = 0; from < num_stages; from = from == 0 ? size.depth : from + 1) {
    double sum = from == 0 ? 0 : ends[from - size.depth];
    double longest = 0;  // of a stage, all micro-batches after the first
    double longest_last = 0;
    double before = 0;
    for (int s = from; s < num_stages; ++s) {
      sum += takes(s);
      if (from == 0) before += first(s);
      longest = std::max(longest, before + more * takes(s));
      longest_last = std::max(longest_last, before + more * takes(s)) + last(s);
      double& end = ends[s];
      end = std::max(end, sum + longest);
      double& with_last = done[s];
      with_last = std::max(with_last, sum + longest_last);
    }
  }
}

}  // namespace

bool in_phases(Schedule schedule) {
  return schedule == Schedule::kGpipe || schedule == Schedule::kLoopedBfs;
}

void play_phases(const PipelineSize& size, const PipelineSeconds& times, std::vector<double>& room,
                 PipelineClose& close) {
  const int num_stages = size.num_stages();
  const auto stage = [&](int s) -> const StageSeconds& { return times.stages[s]; };
  const auto none = [](int) { return 0.0; };
  const bool sends = size.depth > 1;
  std::vector<double>& done = close.last_back;
  one_way(
      size, room, done,
      [&](int s) {
        return stage(s).forward + (s + 1 == num_stages ? times.ends : sends ? stage(s).send : 0);
      },
      [&](int s) { return sends && s + 1 < num_stages ? stage(s).send_alone - stage(s).send : 0; },
      none);
  const double turn = done.back();
  // From the last stage on.
  const auto back = [&](int i) { return num_stages - 1 - i; };
  const auto held = [&](int s) { return s == 0 ? times.ends : sends ? stage(s).send_back : 0; };
  const auto longer = [&](int s) {
    return sends && s > 0 ? stage(s).send_back_alone - stage(s).send_back : 0;
  };
  const auto takes = [&](int s) { return stage(s).input + stage(s).weight; };
  one_way(
      size, room, done, [&](int i) { return takes(back(i)) + held(back(i)); }, none,
      [&](int i) { return longer(back(i)); });
  std::reverse(done.begin(), done.end());
  for (int s = 0; s < num_stages; ++s) done[s] += turn - longer(s) - held(s) - takes(s);
  close.end.resize(static_cast<std::size_t>(size.depth));
  close.busy_after.resize(static_cast<std::size_t>(num_stages));
  for (int s = 0; s < num_stages; ++s) {
    const auto own = static_cast<std::size_t>(s);
    close.busy_after[own] = takes(s);
    if (s < size.depth)
      close.end[own] = done[own] + takes(s);
    else  // then all micro-batches on the chunks before it
      close.busy_after[own] += close.busy_after[own - static_cast<std::size_t>(size.depth)] +
                               (size.micro_batches - 1) * takes(s - size.depth);
  }
}

}  // namespace nereus::schedule
