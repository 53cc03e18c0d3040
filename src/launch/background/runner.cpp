#include "launch/background/runner.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <utility>

#include "base/error.hpp"
#include "base/format.hpp"

namespace nereus::launch {

namespace {

using namespace std::chrono_literals;

constexpr auto kShortestPeriod = 4ms, kLongestPeriod = 100ms, kTick = 50ms;
constexpr auto kShortestRun = 500us;  // less is spent on waking up
constexpr double kPeriodsPerStep = 4;
constexpr double kForGood = 0.98;   // a share that is not worth stopping for
constexpr double kNoTimeout = 1e6;  // a rank that is stopped says nothing
constexpr auto kBetweenLooks = 500ms;
constexpr int kAloneSteps = 4;  // the first may have begun while the foreground ran
constexpr auto kLongestAlone = 10s, kGrace = 10s;

double seconds_of(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// Resident and private to this process: shared memory (libraries, messages between ranks) is
// excluded.
double private_bytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  double size = 0, resident = 0, shared = 0;
  if (!(file >> size >> resident >> shared)) return 0;
  return std::max(0.0, resident - shared) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

PaceOptions pace_of(const BackgroundOptions& options) {
  if (options.gates.empty()) return options.pace;
  PaceOptions turns = pace_of_turns(options.pace.bound);
  turns.alone_steps = std::max(turns.alone_steps, options.pace.alone_steps);
  turns.probe_steps = std::max(turns.probe_steps, options.pace.probe_steps);
  return turns;
}

}  // namespace

struct BackgroundRunner::Running {
  RankControl control;
  std::future<Outcome> outcome;
  std::thread thread;
  Clock::time_point begin = Clock::now();
  Clock::time_point looked_at = Clock::now();
  bool over_quota = false;
  // Steps of its first rank; guarded by the runner's mutex.
  std::vector<Clock::time_point> steps;
  std::vector<double> losses;
  std::int64_t work = 0;
  std::int64_t num_done = 0;   // of the job's steps, with those before a resume
  std::size_t num_beside = 0;  // of the steps
  double most_memory = 0;
};

BackgroundRunner::BackgroundRunner(std::vector<BackgroundJob> jobs, BackgroundOptions options)
    : options_(std::move(options)), jobs_(std::move(jobs)), pace_(pace_of(options_)) {
  for (const BackgroundJob& job : jobs_) {
    outcome_.jobs.push_back({.name = job.name});
    for (const RankSpec& rank : job.ranks) outcome_.lowest_priority |= rank.child.lowest_priority;
  }
  outcome_.bound = options_.pace.bound;
  if (options_.control_group)
    group_ =
        ControlGroup::make(fmt::format("nereus-background-{}", getpid()), options_.memory_bytes);
  outcome_.control_group = group_ != nullptr;
  thread_ = std::thread([this] { loop(); });
}

BackgroundRunner::~BackgroundRunner() {
  if (thread_.joinable()) finish(false);
}

void BackgroundRunner::foreground_step(double seconds) {
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    bool starts = false;  // in this step it had the device until it knew its pieces
    if (runs_since_) {
      ran_ += now - *runs_since_;
      ran_in_all_ += now - *runs_since_;
      runs_since_ = now;
    }
    if (!options_.gates.empty()) {
      const double used = used_turns();
      if (!turns_since_ && knows_its_turns()) {
        turns_since_ = now;
        starts = true;
        if (!first_step_) {
          first_step_ = now;
          first_used_ = used;
        }
      }
      ran_ =
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(used - used_));
      used_ = used;
    }
    const double between = seconds_of(now - last_step_);
    if (starts)
      outcome_.start_s = std::max(outcome_.start_s, seconds - pace_.alone());
    else
      pace_.step(seconds, between > 0 ? std::min(1.0, seconds_of(ran_) / between) : 0,
                 turns_since_.has_value());
    last_step_ = now;
    ran_ = {};
    grant_turns();
  }
  changed_.notify_all();
}

BackgroundOutcome BackgroundRunner::finish(bool measure_alone) {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    measures_alone_ = measure_alone;
  }
  changed_.notify_all();
  thread_.join();
  return outcome_;
}

void BackgroundRunner::loop() {
  while (true) {
    double share = 0, alone = 0;
    {
      const std::lock_guard lock(mutex_);
      if (finishing_) break;
      share = pace_.share();
      alone = pace_.alone();
    }
    look_after();
    const bool gated = !options_.gates.empty();
    if (!running_ && (share > 0 || gated) && next_ < jobs_.size()) start_next();
    if (gated) {
      pause_until(Clock::now() + kTick);
    } else if (!running_ || share <= 0) {
      let_run(false);
      pause_until(Clock::now() + kTick);
    } else {
      run_for_a_period(share, alone);
    }
  }
  const bool measure = measures_alone_;
  {
    const std::lock_guard lock(mutex_);
    outcome_.slowdown = pace_.slowdown();
    if (running_) {  // once the foreground has done its last step the device is free
      const std::vector<Clock::time_point>& steps = running_->steps;
      running_->num_beside = static_cast<std::size_t>(
          std::upper_bound(steps.begin(), steps.end(), last_step_) - steps.begin());
    }
    if (begun_) {
      if (runs_since_) ran_in_all_ += Clock::now() - *runs_since_;
      outcome_.mean_share = seconds_of(ran_in_all_) / seconds_of(Clock::now() - *begun_);
    }
    if (first_step_ && last_step_ > *first_step_)
      outcome_.mean_share = (used_ - first_used_) / seconds_of(last_step_ - *first_step_);
    for (const job::Gate& gate : options_.gates) {
      outcome_.num_pieces += gate.page().num_pieces;
      outcome_.num_late += gate.page().num_late;
      outcome_.num_too_long += gate.page().num_too_long;
      outcome_.longest_s =
          std::max(outcome_.longest_s, 1e-9 * static_cast<double>(gate.page().longest));
    }
    outcome_.steps_per_turn = gives_each_step() ? 1 : job::GateHost::kStepsPerTurn;
    outcome_.given_s = most_given() * static_cast<double>(outcome_.steps_per_turn);
    outcome_.num_rests = pace_.num_rests();
  }
  if (running_) end_running(measure);
  group_.reset();
}

void BackgroundRunner::run_for_a_period(double share, double alone) {
  const Clock::time_point begin = Clock::now();
  let_run(true);
  if (share >= kForGood) return pause_until(begin + kTick);
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  const auto quarter = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(alone / kPeriodsPerStep));
  Clock::duration period = std::clamp<Clock::duration>(quarter, kShortestPeriod, kLongestPeriod);
  if (share * Nanoseconds(period) < kShortestRun)
    period = std::chrono::duration_cast<Clock::duration>(Nanoseconds(kShortestRun) / share);
  pause_until(begin + std::chrono::duration_cast<Clock::duration>(share * Nanoseconds(period)));
  let_run(false);
  pause_until(begin + period);
}

// Waits until then, or until steps without background must be measured, or the foreground ends.
void BackgroundRunner::pause_until(Clock::time_point end) {
  std::unique_lock lock(mutex_);
  const bool ran = runs_since_.has_value();
  changed_.wait_until(lock, end, [&] { return finishing_ || (ran && pace_.share() <= 0); });
}

void BackgroundRunner::let_run(bool runs) {
  if (!running_) return;
  const std::lock_guard lock(mutex_);
  if (!options_.gates.empty()) {
    for (const job::Gate& gate : options_.gates) runs ? gate.open(job::kAlways) : gate.close();
    return;
  }
  const Clock::time_point now = Clock::now();
  if (runs == runs_since_.has_value()) return;
  running_->control.signal(runs ? SIGCONT : SIGSTOP);
  if (runs) {
    runs_since_ = now;
  } else {
    ran_ += now - *runs_since_;
    ran_in_all_ += now - *runs_since_;
    runs_since_.reset();
  }
}

void BackgroundRunner::start_next() {
  const BackgroundJob& job = jobs_[next_++];
  running_ = std::make_unique<Running>();
  Running& running = *running_;
  if (group_) running.control.added = [this](pid_t pid) { group_->add(pid); };
  std::promise<Outcome> promise;
  running.outcome = promise.get_future();
  // The kernel ends the ranks with the thread that started them: it lives as long as they do.
  running.thread = std::thread([this, &running, &job, promise = std::move(promise)]() mutable {
    Watch watch;
    watch.control = &running.control;
    watch.message = [&](const job::Message& message) {
      if (message.kind != job::MessageKind::kStep || message.rank != 0) return;
      {
        const std::lock_guard lock(mutex_);
        running.steps.push_back(Clock::now());
        running.losses.push_back(message.loss);
        running.work = message.tokens;
        running.num_done = message.step + 1;
      }
      changed_.notify_all();
    };
    const Limits limits{.timeout_s = kNoTimeout,
                        .start_timeout_s = kNoTimeout,
                        .grace_s = 1,
                        .hears_signals = false};
    try {
      promise.set_value(run_ranks(job.ranks, limits, watch));
    } catch (const Errors& errors) {
      Outcome outcome;
      outcome.failure = Failure{.rank = 0,
                                .code = errors.list().front().code,
                                .message = errors.list().front().message,
                                .hint = {}};
      promise.set_value(outcome);
    }
    changed_.notify_all();
  });
  {
    const std::lock_guard lock(mutex_);
    if (options_.gates.empty()) runs_since_ = Clock::now();
    if (!begun_) begun_ = Clock::now();
    turns_since_.reset();
  }
  if (options_.say) options_.say(fmt::format("background {} starts", job.name));
}

double BackgroundRunner::memory_of_running() const {
  double sum = 0;
  for (const pid_t pid : running_->control.running()) sum += private_bytes(pid);
  return sum;
}

// Takes leave of a job that has ended, and watches over the quota of one that has not.
void BackgroundRunner::look_after() {
  if (!running_) return;
  Running& running = *running_;
  const Clock::time_point now = Clock::now();
  if (now - running.looked_at >= kBetweenLooks) {
    running.looked_at = now;
    running.most_memory = std::max(running.most_memory, memory_of_running());
    if (options_.memory_bytes > 0 && running.most_memory > options_.memory_bytes &&
        !running.over_quota) {
      running.over_quota = true;
      running.control.signal(SIGKILL);
    }
  }
  if (running.outcome.wait_for(0s) != std::future_status::ready) return;
  running.thread.join();
  const Outcome outcome = running.outcome.get();
  const std::lock_guard lock(mutex_);
  if (runs_since_) {
    ran_ += now - *runs_since_;
    ran_in_all_ += now - *runs_since_;
    runs_since_.reset();
  }
  for (const job::Gate& gate : options_.gates) {  // no piece waits any more
    gate.page().wanted = 0;
    gate.page().guest = job::Guest::kNobody;
  }
  BackgroundResult& result = outcome_.jobs[next_ - 1];
  const std::optional<Clock::time_point> turns_since = std::exchange(turns_since_, std::nullopt);
  if (!finishing_) running.num_beside = running.steps.size();
  result.memory_bytes = running.most_memory;
  // With gates, it has the device to itself until it knows how long its pieces are.
  const Clock::time_point since = std::max(running.begin, turns_since.value_or(running.begin));
  const auto first = static_cast<std::size_t>(
      std::lower_bound(running.steps.begin(), running.steps.end(), since) - running.steps.begin());
  const std::size_t beside = running.num_beside - std::min(first, running.num_beside);
  result.steps = static_cast<std::int64_t>(running.num_beside);
  result.work = running.work;
  if (running.num_beside > 0) {
    result.first_loss = running.losses.front();
    result.last_loss = running.losses[running.num_beside - 1];
  }
  result.seconds = seconds_of((finishing_ ? last_step_ : now) - since);
  if (turns_since && beside > 0)  // many at once, and then none for long
    result.step_s = result.seconds / static_cast<double>(beside);
  else if (beside > 1)
    result.step_s = seconds_of(running.steps[running.num_beside - 1] - running.steps[first]) /
                    static_cast<double>(beside - 1);
  if (running.over_quota) {
    result.end = BackgroundEnd::kOverQuota;
    result.why = fmt::format("its ranks used {}, but the quota is {}",
                             human(running.most_memory, Unit::kBytes),
                             human(options_.memory_bytes, Unit::kBytes));
  } else if (finishing_) {
    result.end = BackgroundEnd::kWithForeground;
  } else {
    result.why = why_failed(outcome);
    result.end = result.why.empty() ? BackgroundEnd::kDone : BackgroundEnd::kFailed;
  }
  if (options_.say && !result.why.empty())
    options_.say(fmt::format("background {} ended: {}", result.name, result.why));
  else if (options_.say)
    options_.say(fmt::format("background {} ended after {}{}", result.name,
                             counted(result.steps, "step"),
                             finishing_ ? fmt::format(" with the foreground, and {} alone",
                                                      running.steps.size() - running.num_beside)
                                        : ""));
  running_.reset();
}

// Why a job failed that we did not ask to end; empty if it did not fail.
std::string BackgroundRunner::why_failed(const Outcome& outcome) const {
  if (outcome.failure)
    return fmt::format("rank {}: {}", outcome.failure->rank, outcome.failure->message);
  const std::int64_t done = running_->num_done, all = jobs_[next_ - 1].num_steps;
  // A rank that is asked to end says that it is done, as one does that has nothing left to do.
  if (outcome.exit_code == 0 || (all > 0 && done >= all)) return {};
  return fmt::format(
      "stopped by another process after {}",
      all > 0 ? fmt::format("{} of {}", done, counted(all, "step")) : counted(done, "step"));
}

void BackgroundRunner::end_running(bool measure_alone) {
  Running& running = *running_;
  let_run(true);
  const auto ended = [&] { return running.outcome.wait_for(0s) == std::future_status::ready; };
  double alone_step_s = 0;
  if (measure_alone) {
    std::unique_lock lock(mutex_);
    const std::size_t first = running.steps.size();
    changed_.wait_for(lock, kLongestAlone,
                      [&] { return ended() || running.steps.size() >= first + kAloneSteps; });
    // Between whole steps: the first of them may have begun while the foreground ran.
    if (running.steps.size() >= first + 2)
      alone_step_s = seconds_of(running.steps.back() - running.steps[first]) /
                     static_cast<double>(running.steps.size() - 1 - first);
  }
  running.control.signal(SIGTERM);
  const Clock::time_point deadline = Clock::now() + kGrace;
  while (!ended() && Clock::now() < deadline) running.outcome.wait_for(kTick);
  if (!ended()) running.control.signal(SIGKILL);
  running.outcome.wait();
  look_after();
  outcome_.jobs[next_ - 1].alone_step_s = alone_step_s;
}

}  // namespace nereus::launch
