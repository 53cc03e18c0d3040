// Whole jobs of small models for tests: ranks as threads, or as processes on one GPU.
#pragma once

#include <exception>
#include <mutex>
#include <thread>

#include "worker/execute/saving.hpp"
#include "worker/run/testing_outcome.hpp"
#include "worker/testing_lanes.hpp"
#include "worker/testing_models.hpp"
#include "worker/testing_processes.hpp"

namespace nereus::worker::testing {

// Runs all ranks of the job: as threads of this process, or as processes if NEREUS_TEST_DEVICE says
// so. Resumes and saves (after the last step) if the job says so; losses are then those of the
// remaining steps. Each rank calls `prepare`, on its thread, before its first step.
using Prepare = std::function<void(int rank, Executor& executor)>;
inline Outcome run_job(const job::Job& job, int num_steps, const ReadBatch& read,
                       const std::string& backend = "gloo", const Prepare& prepare = nullptr) {
  if (as_processes()) return RankProcesses::shared().run(job, num_steps);
  const int num_ranks = ranks_of(job);
  auto comms = open_local_comms(backend, num_ranks, std::chrono::seconds(60));
  Outcome outcome;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(num_ranks));
  std::vector<std::thread> threads;
  std::mutex mutex;
  LaneBook book;
  for (int rank = 0; rank < num_ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        at::set_num_threads(1);
        LaneComm comm(*comms[rank], book);
        Executor executor(job, comm, read);
        if (prepare) prepare(rank, executor);
        const std::int64_t first = resume(job, executor);
        // Removes leftovers of others: must come before the first step.
        Saver saver(job, rank, num_ranks);
        executor.before_update = [&] {
          const std::lock_guard lock(mutex);
          add_gradients(executor, outcome);
        };
        for (std::int64_t step = first; step < num_steps; ++step) {
          const StepResult result = executor.run(step);
          executor.before_update = nullptr;
          if (rank != 0) continue;
          outcome.losses.push_back(result.loss);
          outcome.norms.push_back(result.gradient_norm);
        }
        if (saver.saves()) saver.save(num_steps, executor);
        saver.finish();
        const std::lock_guard lock(mutex);
        add_statistics(executor, outcome);
      } catch (...) {
        failures[rank] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  // The cause first: the others lost their connection to it.
  std::exception_ptr lost;
  for (const std::exception_ptr& failure : failures) try {
      if (failure) std::rethrow_exception(failure);
    } catch (const CommError&) {
      if (!lost) lost = failure;
    }
  if (lost) std::rethrow_exception(lost);
  // Values that skip stages go another way with NCCL (Routing::kThrough), so only that way is
  // checked.
  if (job.machine.comm == "nccl" || job.plan.model.transformer) book.check();
  return outcome;
}

}  // namespace nereus::worker::testing
