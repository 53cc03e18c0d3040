#include "worker/run/run_job.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/build_info.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "base/write_file.hpp"
#include "job/alike.hpp"
#include "job/reporter.hpp"
#include "timeline/rank_timeline.hpp"
#include "worker/device/gpu.hpp"
#include "worker/device/torch_compat.hpp"
#include "worker/execute/samples.hpp"
#include "worker/execute/saving.hpp"
#include "worker/run/blocks.hpp"
#include "worker/run/device_turns.hpp"
#include "worker/run/rank_messages.hpp"

namespace nereus::worker {

namespace {

constexpr double kEnd = 1, kSave = 1e6;  // signals of ranks, summed

double signal_of(job::Asked asked) {
  return asked == job::Asked::kSave ? kSave : asked == job::Asked::kEnd ? kEnd : 0;
}

void pin_to_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

// If weights are gathered and freed layer by layer, large buffers are allocated and freed all the
// time, and the C library keeps freed memory between them: 823 MiB with 498 in use (a GPT of 58 M
// parameters, a quarter of its state). This returns large buffers to the system, at a cost of 5 %
// of the time.
void give_back_large_buffers(const plan::Placement& placement) {
  constexpr int kLarge = 16 << 20;
  for (const plan::LayerRun& run : placement.runs)
    for (const plan::StateShare& share : run.state)
      if (share.kind == plan::StateKind::kWeights &&
          (share.pieces > 1 || share.begin > 0 || share.end < plan::kStateUnits)) {
        mallopt(M_MMAP_THRESHOLD, kLarge);
        return;
      }
}

timeline::RankTimeline timeline_of(const std::vector<Done>& slices, int rank, int num_ranks,
                                   std::int64_t origin_ns, std::int64_t wall_ns,
                                   const std::vector<std::int64_t>& step_starts) {
  timeline::RankTimeline mine;
  mine.origin_ns = wall_ns;
  timeline::Timeline& t = mine.timeline;
  t.num_ranks = num_ranks;
  t.lanes = {{rank, fmt::format("rank {}", rank), "compute", timeline::Stream::kCompute}};
  const auto copies = [](const Done& done) { return done.kind == timeline::SliceKind::kCopy; };
  if (std::any_of(slices.begin(), slices.end(), copies))
    t.lanes.push_back({rank, fmt::format("rank {}", rank), "copies", timeline::Stream::kCopy});
  for (const Done& done : slices)
    t.slices.push_back({copies(done) ? 1 : 0, (done.start - origin_ns) * 1000,
                        (done.end - origin_ns) * 1000, done.kind, done.stage, done.micro_batch});
  for (std::size_t i = 0; i + 1 < step_starts.size(); ++i) {
    timeline::Mark mark =
        timeline::step_mark(static_cast<int>(i), (step_starts[i] - origin_ns) * 1000,
                            (step_starts[i + 1] - origin_ns) * 1000);
    mark.process = rank;
    t.marks.push_back(std::move(mark));
  }
  return mine;
}

std::int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// This process as the rank: its core or GPU, and the others at the end of a wire.
std::unique_ptr<Comm> become_rank(const RankOptions& options, const job::Job& job) {
  if (job.machine.pin) pin_to_core(options.local_rank);
  if (job.machine.device == "cuda" && job.machine.comm == "nccl") {
    choose_gpu(options.local_rank);
    if (options.num_ranks > 1) prepare_waiting_kernels();
  }
  if (job.machine.deterministic) use_deterministic_kernels();
  use_own_stream(at::Device(job.machine.device));
  give_back_large_buffers(job.plan.placement);
  if (const double limit = job::memory_limit(job.machine, options.rank, options.num_ranks);
      limit > 0)
    limit_gpu_memory(limit);
  at::set_num_threads(job.machine.threads);
  CommOptions comm_options;
  comm_options.backend = job.machine.comm;
  comm_options.rank = options.rank;
  comm_options.num_ranks = options.num_ranks;
  comm_options.address = options.address;
  comm_options.port = options.port;
  comm_options.job = fmt::format("{}-{}", options.address, options.port);
  comm_options.card = job::job_card(job);
  comm_options.timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(job.machine.timeout_s * 1000));
  return open_comm(comm_options);
}

// If the previous save failed, for example because the disk was full, that checkpoint is reported
// and given up, training continues, and the next save is tried. Only at the end there is no next
// one: then the job fails with this error.
void pass_over_failed_save(Saver& saver) {
  try {
    saver.finish();
  } catch (const Errors& errors) {
    for (const Error& error : errors.list())
      if (error.kind != ErrorKind::kEnvironment) throw;
    for (const Error& error : errors.list())
      std::fprintf(stderr, "%s: %s; training goes on\n", error.code.c_str(), error.message.c_str());
  }
}

int measure(const RankOptions& options, const job::Job& job, job::Reporter& reporter) {
  const std::unique_ptr<Comm> comm = become_rank(options, job);
  const job::AskedGuard guard;
  measure_blocks(job, *comm, [&](const job::Message& message) { reporter.send(message); });
  job::Message done;
  done.kind = job::MessageKind::kDone;
  reporter.send(done);
  return job::asked() == job::Asked::kNothing ? 0 : 10;
}

int train(const RankOptions& options, const job::Job& job, job::Reporter& reporter) {
  const std::unique_ptr<Comm> comm = become_rank(options, job);
  DeviceTurns turns(job, options.local_rank, *comm);
  // The reader needs the first step, and that the checkpoint: so it comes in later.
  ReadBatch read;
  Executor executor(job, turns.comm(), [&](auto... which) { return read(which...); });
  executor.pieces = turns.pieces();
  executor.at_rest = turns.at_rest();
  const std::int64_t first = resume(job, executor);
  if (first >= job.training.steps)
    throw_input_error("train.done",
                      fmt::format("the checkpoint has {} already, and --steps is {}",
                                  counted(first, "step"), job.training.steps),
                      {job.checkpoint.resume}, "--steps counts from the very first");
  read = make_reader(job, options.rank, first);
  Saver saver(job, options.rank, options.num_ranks);

  const job::AskedGuard guard;
  std::vector<Done> slices;
  std::vector<std::int64_t> step_starts;
  std::int64_t origin = 0, origin_wall = 0;
  int status = 0;
  for (std::int64_t step = first; step < job.training.steps; ++step) {
    reporter.doing(step, fmt::format("step {}", step));
    const bool traced =
        !job.output.timeline.empty() && step >= job.training.steps - job.output.timeline_steps;
    if (traced && origin == 0) {
      origin = now_ns();
      origin_wall = wall_ns();
      executor.slices = &slices;
    }
    if (traced) step_starts.push_back(now_ns());
    const auto start = std::chrono::steady_clock::now();
    turns.begin_step();
    StepResult result = executor.run(step, signal_of(job::asked()));
    const bool ends = result.signals > 0;
    const bool saves_now =
        saver.saves() && (step + 1 == job.training.steps || ends ||
                          (job.checkpoint.every > 0 && (step + 1) % job.checkpoint.every == 0));
    if (saves_now) {
      const auto save_start = std::chrono::steady_clock::now();
      pass_over_failed_save(saver);
      saver.save(step + 1, executor);
      result.waits.checkpoint =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - save_start).count();
    }
    reporter.send(message_of_step(
        job, step, result,
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
    if (ends || step + 1 == job.training.steps) saver.finish();
    for (const checkpoint::Writer::Complete& complete : saver.take_completed()) {
      job::Message saved;
      saved.kind = job::MessageKind::kCheckpoint;
      saved.step = complete.step;
      saved.folder = complete.folder;
      reporter.send(saved);
    }
    if (ends) {
      status = result.signals >= kSave && saver.saves() ? 75 : 10;
      break;
    }
  }
  if (!job.output.timeline.empty() && origin > 0) {
    step_starts.push_back(now_ns());
    write_file(fmt::format("{}/rank-{:05}.json", job.output.timeline, options.rank),
               timeline::rank_timeline_to_json(timeline_of(slices, options.rank, options.num_ranks,
                                                           origin, origin_wall, step_starts)));
  }
  job::Message done;
  done.kind = job::MessageKind::kDone;
  reporter.send(done);
  return status;
}

}  // namespace

job::WorkerInfo worker_info() {
  job::WorkerInfo info;
  info.build = build_id();
  info.library = "libtorch " + torch_version();
  info.num_gpus = static_cast<int>(torch::cuda::device_count());
#ifdef NEREUS_NCCL
  info.backends = "nccl shared";
#elif defined(NEREUS_GLOO)
  info.backends = "gloo shared";
#else
  info.backends = "shared";
#endif
  return info;
}

int run_rank(const RankOptions& options) {
  job::Reporter reporter(options.report_fd, options.rank);
  try {
    const job::Job job = job::load_job(options.job_file);
    check_can_run(job);
    reporter.send(hello_of_rank());
    return job.measuring.seconds > 0 ? measure(options, job, reporter)
                                     : train(options, job, reporter);
  } catch (...) {
    return tell_failures(reporter);
  }
}

}  // namespace nereus::worker
