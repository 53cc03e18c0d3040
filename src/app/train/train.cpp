#include "app/train/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <list>

#include "app/train/run_record.hpp"
#include "app/train/scratch_folder.hpp"
#include "app/train/train_background.hpp"
#include "app/train/train_setup.hpp"
#include "app/train/train_steps.hpp"
#include "base/format.hpp"
#include "base/write_file.hpp"
#include "checkpoint/folder_lock.hpp"
#include "cluster/this_machine.hpp"
#include "launch/supervise.hpp"
#include "launch/tensorboard.hpp"
#include "spec/source.hpp"
#include "timeline/chrome_trace.hpp"
#include "timeline/rank_timeline.hpp"
#include "timeline/svg.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Records steps: in the answer, on the screen, in files.
class Recorder {
 public:
  Recorder(const TrainRequest& request, const TrainWatch& watch, TrainAnswer& answer)
      : watch_(watch), answer_(answer) {
    if (!answer.speaks) return;
    if (!request.metrics_file.empty()) {
      // A job that goes on goes on in the same file.
      metrics_.open(request.metrics_file,
                    request.checkpoint.resume.empty() ? std::ios::trunc : std::ios::app);
      if (!metrics_)
        throw_environment_error("train.metrics",
                                fmt::format("{} cannot be written", request.metrics_file));
    }
    if (!request.tensorboard.empty()) events_.emplace(request.tensorboard, wall_clock());
  }

  void take(TrainStep step, std::optional<double> flops_per_second) {
    if (flops_per_second && step.seconds > 0)
      step.mfu = answer_.predicted->model_flops / step.seconds / *flops_per_second;
    if (metrics_.is_open()) {
      metrics_ << metrics_line(step, answer_.counts_tokens) << std::endl;
      if (!metrics_)
        throw_environment_error("train.metrics", "the --metrics file can no longer be written",
                                "free space on its disk");
    }
    if (events_) events_->add(wall_clock(), step.step, scalars(step));
    if (watch_.step && answer_.speaks) watch_.step(step);
    answer_.steps.push_back(std::move(step));
  }

  void event(std::string kind, int rank, std::string text) {
    const std::int64_t last = answer_.steps.empty() ? -1 : answer_.steps.back().step;
    answer_.events.push_back({std::move(kind), last, rank, std::move(text)});
  }

 private:
  launch::Scalars scalars(const TrainStep& step) const {
    launch::Scalars list{{"loss", step.loss},
                         {"learning_rate", step.rate},
                         {"step_s", step.seconds},
                         {answer_.counts_tokens ? "tokens_per_s" : "samples_per_s",
                          static_cast<double>(step.tokens) / step.seconds},
                         {"memory_bytes", step.memory_bytes},
                         {"wait/data", step.waits.data},
                         {"wait/tensor", step.waits.tensor},
                         {"wait/pipeline", step.waits.pipeline},
                         {"wait/gather", step.waits.gather},
                         {"wait/reduce", step.waits.reduce},
                         {"wait/checkpoint", step.waits.checkpoint}};
    if (step.gradient_norm) list.emplace_back("gradient_norm", *step.gradient_norm);
    if (step.mfu) list.emplace_back("mfu", *step.mfu);
    return list;
  }

  const TrainWatch& watch_;
  TrainAnswer& answer_;
  std::ofstream metrics_;
  std::optional<launch::EventFile> events_;
};

// For the whole job; empty if the devices' rates are only assumptions.
std::optional<double> peak_of(const ResolvedPlan& plan, const plan::Placement& placement) {
  if (cluster::is_nominal(plan.cluster)) return std::nullopt;
  double sum = 0;
  for (const cluster::NodeGroup& group : plan.cluster.groups)
    sum += group.num_devices() * group.node.device.peak_of(placement.precision).value;
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

void write_timeline(const TrainRequest& request, const fs::path& folder, const std::string& title,
                    Recorder& recorder) {
  std::vector<timeline::RankTimeline> ranks;
  std::error_code ignored;
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files)
    ranks.push_back(timeline::parse_rank_timeline(spec::read_text_file(file), file));
  if (ranks.empty()) {
    recorder.event("no timeline", -1, "no rank survived to write one");
    return;
  }
  // Each launcher only sees its rank.
  std::string path = request.timeline_file;
  if (request.launched && request.launched->world_size > 1) {
    const std::size_t dot = path.find('.', path.rfind('/') + 1);
    path.insert(std::min(dot, path.size()), fmt::format("-rank{}", request.launched->rank));
  }
  const timeline::Timeline all = timeline::join(ranks);
  if (path.ends_with(".svg"))
    write_file(path, timeline::svg_picture(all, title));
  else
    timeline::write_chrome_trace(path, all);
}

std::optional<cost::Prediction> try_predict(const ResolvedPlan& plan) {
  try {
    return predict_step(plan);
  } catch (const Errors&) {
    return std::nullopt;  // a schedule without a closed form
  }
}

void hear(const job::Message& message, Recorder& recorder, TrainAnswer& answer,
          const TrainWatch& watch) {
  using job::MessageKind;
  if (message.kind == MessageKind::kHello && answer.library.empty())
    answer.library = message.library;
  // All ranks write a checkpoint; the rank that completes it reports it.
  if (message.kind == MessageKind::kCheckpoint) {
    recorder.event("checkpoint", message.rank, message.folder);
    if (watch.say && answer.speaks)
      watch.say(
          fmt::format("checkpoint after {}: {}", counted(message.step, "step"), message.folder));
  }
}

const char* words_of(launch::Asked asked) {
  switch (asked) {
    case launch::Asked::kEnd:
      return "asked to stop: will stop after this step (ask again to stop at once)";
    case launch::Asked::kSave:
      return "terminated: will save and stop (ask again to stop at once)";
    case launch::Asked::kKill:
      return "stopping at once";
    case launch::Asked::kNothing:
      break;
  }
  return "";
}

}  // namespace

TrainAnswer train(const TrainRequest& request, const TrainWatch& watch) {
  TrainSetup setup = set_up(request);
  TrainAnswer answer;
  answer.plan = setup.resolved;
  answer.num_ranks = setup.num_ranks;
  answer.library = setup.worker.library;
  answer.counts_tokens = setup.resolved.model.tokens_per_sample > 0;
  answer.speaks = !request.launched || request.launched->rank == 0;
  answer.nominal = cluster::is_nominal(setup.resolved.cluster);
  answer.predicted = try_predict(setup.resolved);
  std::optional<double> peak = peak_of(setup.resolved, setup.job.plan.placement);
  if (!answer.predicted) peak.reset();

  std::list<checkpoint::FolderLock> locks;
  const auto lock = [&](const std::string& folder) {
    if (!folder.empty() && answer.speaks) locks.emplace_back(folder);
  };
  lock(request.checkpoint.folder);
  if (watch.say && answer.speaks)
    for (const std::string& note : setup.notes) watch.say(note);
  const ScratchFolder scratch("train");
  const fs::path timelines = scratch.path() / "timeline";
  if (!request.timeline_file.empty()) {
    fs::create_directory(timelines);
    setup.job.output.timeline = timelines;
  }
  if (!request.background.empty() && takes_turns(request)) {
    setup.job.sharing.gates = scratch.path() / "gates";
    setup.job.sharing.num_gates = setup.num_ranks;
  }
  const std::string job_file = scratch.path() / "job.json";
  job::save_job(job_file, setup.job);

  Recorder recorder(request, watch, answer);
  const std::vector<int> ranks = ranks_to_start(request, setup.num_ranks);
  StepCollector collector(ranks);
  // Before anything starts, so that what is wrong with it is said first.
  std::optional<launch::BackgroundRunner> background;
  if (!request.background.empty()) {
    BackgroundJobs jobs = set_up_background(request, setup, scratch.path());
    jobs.options.say = watch.say;
    for (const BackgroundRequest& one : request.background) lock(one.checkpoint.folder);
    background.emplace(std::move(jobs.list), jobs.options);
  }
  launch::Watch launch_watch;
  launch_watch.message = [&](const job::Message& message) {
    hear(message, recorder, answer, watch);
    for (TrainStep& step : collector.take(message)) {
      if (background) background->foreground_step(step.seconds);
      recorder.take(std::move(step), peak);
    }
  };
  launch_watch.text = watch.text;
  launch_watch.asked = [&](launch::Asked asked) {
    recorder.event(asked == launch::Asked::kSave ? "preempted" : "asked to end", -1,
                   words_of(asked));
    if (watch.say) watch.say(words_of(asked));
  };
  if (!request.checkpoint.resume.empty()) recorder.event("resumed", -1, request.checkpoint.resume);
  if (watch.begin)
    watch.begin({answer.plan.model.name, answer.num_ranks, answer.library, answer.counts_tokens,
                 answer.speaks});
  const launch::Limits limits{.timeout_s = request.machine.timeout_s};
  const launch::Outcome outcome = launch::run_ranks(
      rank_specs(request, ranks, setup.num_ranks, job_file), limits, launch_watch);
  for (TrainStep& step : collector.rest()) recorder.take(std::move(step), peak);

  if (background) answer.background = background->finish(outcome.exit_code == 0);

  answer.exit_code = outcome.exit_code;
  if (outcome.failure) {
    const launch::Failure& failure = *outcome.failure;
    answer.failure = error_of_rank(failure);
    for (const job::Message& more : failure.more)
      answer.more.push_back(
          error_of_rank(failure.rank, more.code, more.message, more.hint, more.input_error));
    recorder.event("failure", outcome.failure->rank, answer.failure->message);
  }
  answer.step_s = median_step(answer.steps);
  answer.waits = mean_waits(answer.steps);
  if (answer.step_s > 0)
    answer.rate = static_cast<double>(answer.steps.back().tokens) / answer.step_s;
  if (!request.timeline_file.empty())
    write_timeline(
        request, timelines,
        fmt::format("{} on {}", answer.plan.model.name, counted(answer.num_ranks, "rank")),
        recorder);
  if (!request.record_file.empty() && answer.speaks && !answer.failure)
    append_run(request.record_file, answer);
  return answer;
}

}  // namespace nereus::app
