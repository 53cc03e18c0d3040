// Background jobs beside a foreground job on one machine: they queue, one runs at a time, and as
// much as the foreground's own steps allow (launch/background/pace.hpp).
//
//   BackgroundRunner runner(jobs, {.pace = {.bound = 0.05}, .memory_bytes = 4e9});
//   runner.foreground_step(seconds);               // from the foreground's supervisor, every step
//   BackgroundOutcome outcome = runner.finish(true);   // the foreground is done
//
// On CPUs the ranks are processes of lowest priority, in a control group where one can be made.
// Within every period (a quarter of a foreground's step alone, 4 to 100 ms) they run for
// pace.share() of it and are stopped (SIGSTOP) for the rest, all ranks of a job at once. So what
// pace counts on, that they run for a share of every step, holds also where steps are as short as a
// period.
//
// With gates (job/gate.hpp: GPUs, whose work no signal stops) the two jobs take turns piece by
// piece. The foreground opens the gate while it waits, and beyond that for at most
//
//   once a step         share x 0.65 x bound x (a step alone)
//   once in 1,024 steps share x (0.85 x bound - slow-down of the others) x (1,024 steps alone)
//
// in a step, so that it is not longer than promised, where that is worth eight changes from one job
// to the other and back; else in one step of 1,024, which are so together not longer than promised,
// and at their 99th percentile as long as alone. Where steps are longer the share is cut.
//
// Whatever happens to a background job, the foreground does not notice: nothing is shared but the
// machine. A job that fails, or takes more memory than its quota, is ended, named in the outcome,
// and the next begins; one that somebody else asks to end before its last step has failed too. At
// the end of the foreground the running job goes on alone for a few steps, so that its speed beside
// the foreground has something to be compared with; then it is asked to end, upon which it saves
// where it was told to.
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
  std::int64_t num_steps = 0;  // of it in all; 0: until the foreground ends
};

// Seconds; that of a GPU is of an H200 (bench/gpu/RESULTS.md).
inline constexpr double kChangeOnCpus = 50e-6, kChangeOnGpus = 0.25e-3;

struct BackgroundOptions {
  PaceOptions pace{};
  double memory_bytes = 0;    // of all ranks of a job together; 0: no quota
  bool control_group = true;  // where one can be made
  std::function<void(const std::string&)> say{};
  std::vector<job::Gate> gates{};   // one a device; none: ranks are stopped and woken
  double change_s = kChangeOnCpus;  // what a device takes to change between jobs and back
};

class BackgroundRunner {
 public:
  BackgroundRunner(std::vector<BackgroundJob> jobs, BackgroundOptions options);
  ~BackgroundRunner();
  BackgroundRunner(const BackgroundRunner&) = delete;
  BackgroundRunner& operator=(const BackgroundRunner&) = delete;

  void foreground_step(double seconds);
  // Once. `measure_alone`: the foreground ended as it should, so there is time for it.
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
  // How long the background ran since the foreground's last step, and since when it does.
  Clock::time_point last_step_ = Clock::now();
  Clock::duration ran_{};
  std::optional<Clock::time_point> runs_since_{};
  // In all, since the first job's start.
  std::optional<Clock::time_point> begun_{};
  Clock::duration ran_in_all_{};
  // Where they take turns: since when the running job does and the first did, and the seconds of
  // them then and at the foreground's last step.
  std::optional<Clock::time_point> turns_since_{}, first_step_{};
  double first_used_ = 0, used_ = 0;

  std::size_t next_ = 0;
  std::unique_ptr<Running> running_;
  BackgroundOutcome outcome_{};
  std::thread thread_;
};

}  // namespace nereus::launch
