// Runs background jobs while a foreground job runs on the same machine. Jobs wait in a queue, and
// one runs at a time, as much as the step times of the foreground allow
// (launch/background/pace.hpp).
//
//   BackgroundRunner runner(jobs, {.pace = {.bound = 0.05}, .memory_bytes = 4e9});
//   runner.foreground_step(seconds);               // called by its supervisor, per step
//   BackgroundOutcome outcome = runner.finish(true);   // the foreground is done
//
// On CPUs, ranks are processes of the lowest priority, in a control group if one can be created. In
// every period (a quarter of a foreground step without background, 4 to 100 ms), they run for the
// share pace.share(), and are stopped (SIGSTOP) for the rest, all ranks of a job at once. So they
// run for that share of every step, as pace assumes, even if steps are as short as a period.
//
// With gates (job/gate.hpp: for GPUs, whose work no signal can stop), the two jobs take turns piece
// by piece. The foreground opens the gate while it waits, and beyond that for at most
//
//   once per step        share x 0.65 x bound x (a step without background)
//   once per 1,024 steps share x (0.85 x bound - slow-down of the others) x (1,024 such steps)
//
// The first rule keeps every step within the promise; it is used if its time is at least that of
// eight changes from one job to the other and back. Otherwise one step in 1,024 grants the time of
// all of them, so that the sum of these steps is within the promise, and their 99th percentile is
// as without background. If steps become slower than promised, the share is reduced.
//
// A failing background job never affects the foreground: they share nothing but the machine. A job
// that fails, or exceeds its memory quota, is ended and named in the outcome, and the next job
// starts. A job that someone else asks to end before its last step counts as failed. After the end
// of the foreground, the running job continues for a few steps, to measure its speed without the
// foreground; then it is asked to end, and saves if it was told to.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "job/gate.hpp"
#include "launch/background/control_group.hpp"
#include "launch/background/outcome.hpp"
#include "launch/supervise.hpp"

namespace nereus::launch {

struct BackgroundJob {
  std::string name;
  std::vector<RankSpec> ranks;
  std::int64_t num_steps = 0;  // total; 0: until the foreground ends
};

// Seconds to change to the other job and back; the value for GPUs was measured on an H200
// (bench/gpu/RESULTS.md).
inline constexpr double kChangeOnCpus = 50e-6, kChangeOnGpus = 0.25e-3;

struct BackgroundOptions {
  PaceOptions pace{};
  double memory_bytes = 0;    // for all ranks of a job together; 0: no quota
  bool control_group = true;  // use one if it can be created
  std::function<void(const std::string&)> say{};
  std::vector<job::Gate> gates{};   // one per device; empty: ranks are stopped and woken
  double change_s = kChangeOnCpus;  // time of a device to change to the other job and back
};

class BackgroundRunner {
 public:
  BackgroundRunner(std::vector<BackgroundJob> jobs, BackgroundOptions options);
  ~BackgroundRunner();
  BackgroundRunner(const BackgroundRunner&) = delete;
  BackgroundRunner& operator=(const BackgroundRunner&) = delete;

  void foreground_step(double seconds);
  // Called once. `measure_alone`: the foreground ended normally, so there is time to measure.
  BackgroundOutcome finish(bool measure_alone);

 private:
  using Clock = std::chrono::steady_clock;
  struct Running;

  void loop();
  void start_next();
  void look_after();
  void let_run(bool runs);
  void run_for_a_period(double share, double alone);
  void grant_turns();
  double most_given() const;
  double given_each_step() const;
  bool gives_each_step() const;
  double used_turns() const;
  bool knows_its_turns() const;
  void pause_until(Clock::time_point end);
  void end_running(bool measure_alone);
  std::string why_failed(const Outcome& outcome) const;
  double memory_of_running() const;

  const BackgroundOptions options_;
  std::vector<BackgroundJob> jobs_;
  std::unique_ptr<ControlGroup> group_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Pace pace_;
  bool finishing_ = false;
  bool measures_alone_ = false;
  // How long the background has run since the foreground's last step, and since when it runs.
  Clock::time_point last_step_ = Clock::now();
  Clock::duration ran_{};
  std::optional<Clock::time_point> runs_since_{};
  // In total, since the first job's start.
  std::optional<Clock::time_point> begun_{};
  Clock::duration ran_in_all_{};
  // If jobs take turns: when the running job and the first job began to do so; the background's
  // seconds of device time at the first job's beginning, and at the foreground's last step.
  std::optional<Clock::time_point> turns_since_{}, first_step_{};
  double first_used_ = 0, used_ = 0;

  std::size_t next_ = 0;
  std::unique_ptr<Running> running_;
  BackgroundOutcome outcome_{};
  std::thread thread_;
};

}  // namespace nereus::launch
