#include "app/measure/measure_stalls.hpp"

#include <fmt/format.h>

#include <chrono>

#include "app/train/scratch_folder.hpp"
#include "app/train/train_setup.hpp"
#include "job/bucket_sizes.hpp"
#include "launch/supervise.hpp"

namespace nereus::app {

namespace {

// A rank that waits for its turn waits for as many blocks as its host has ranks.
constexpr double kLongestWait = 600;

measure::BlockTime block_of(const job::Message& message) {
  measure::BlockTime time;
  time.block = message.block;
  time.round = message.round;
  time.rank = message.of_rank;
  time.host = message.host;
  time.seconds = message.seconds;
  time.slowest = message.slowest;
  time.bytes = message.bytes;
  time.count = message.count;
  return time;
}

}  // namespace

StallAnswer measure_stalls(const StallRequest& request, const StallWatch& watch) {
  TrainSetup setup = set_up(request.train);
  setup.job.measuring.seconds = request.seconds;
  setup.job.measuring.rounds = request.rounds;
  setup.job.measuring.most_rounds = std::max(request.rounds, setup.job.measuring.most_rounds);
  setup.job.machine.timeout_s = std::max(setup.job.machine.timeout_s, kLongestWait);
  StallAnswer answer;
  answer.model = setup.resolved.model.name;
  answer.library = setup.worker.library;
  answer.parameters = setup.resolved.model.parameters();
  answer.bucket_bytes = job::kBucketBytes;
  const auto batch = static_cast<double>(setup.job.plan.placement.global_batch);
  const double tokens = setup.resolved.model.tokens_per_sample;
  answer.counts_tokens = tokens > 0;
  answer.tokens = batch * (tokens > 0 ? tokens : 1);
  answer.speaks = !request.train.launched || request.train.launched->rank == 0;

  const ScratchFolder scratch("measure");
  const std::string job_file = scratch.path() / "job.json";
  job::save_job(job_file, setup.job);
  const std::vector<int> ranks = ranks_to_start(request.train, setup.num_ranks);

  std::vector<measure::BlockTime> times;
  int last_round = -1;
  const auto start = std::chrono::steady_clock::now();
  launch::Watch launch_watch;
  launch_watch.message = [&](const job::Message& message) {
    if (message.kind != job::MessageKind::kBlock) return;
    times.push_back(block_of(message));
    if (std::exchange(last_round, message.round) == message.round || !watch.round) return;
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - start;
    watch.round(message.round, request.seconds - gone.count());
  };
  launch_watch.text = watch.text;
  if (watch.begin)
    watch.begin(
        {answer.model, setup.num_ranks, answer.library, answer.counts_tokens, answer.speaks});
  const launch::Outcome outcome =
      launch::run_ranks(rank_specs(request.train, ranks, setup.num_ranks, job_file),
                        {.timeout_s = setup.job.machine.timeout_s}, launch_watch);
  answer.exit_code = outcome.exit_code;
  if (outcome.failure) answer.failure = error_of_rank(*outcome.failure);
  if (answer.speaks && !answer.failure) answer.report = measure::find_stalls(times);
  answer.blocks = std::move(times);
  return answer;
}

}  // namespace nereus::app
