#include "worker/run/rank_messages.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/build_info.hpp"
#include "base/error.hpp"
#include "job/norm_check.hpp"
#include "worker/comm/comm.hpp"
#include "worker/device/gpu.hpp"
#include "worker/device/process_memory.hpp"
#include "worker/run/run_job.hpp"
#include "worker/state/rank_plan.hpp"

namespace nereus::worker {

void check_can_run(const job::Job& job) {
  if (job.build != build_id())
    throw_input_error(
        "train.worker-build",
        fmt::format("the job is of build {}, this worker of build {}", job.build, build_id()));
  std::vector<Error> refused = cannot_run(job.plan);
  for (Error& error : job::check_norm(job.plan, job.training)) refused.push_back(std::move(error));
  if (!refused.empty()) throw Errors(refused);
}

job::Message hello_of_rank() {
  job::Message hello;
  hello.kind = job::MessageKind::kHello;
  hello.pid = getpid();
  hello.build = build_id();
  hello.library = worker_info().library;
  return hello;
}

job::Message message_of_step(const job::Job& job, std::int64_t step, const StepResult& result,
                             double seconds) {
  const double per_sample =
      job.plan.model.tokens_per_sample > 0 ? job.plan.model.tokens_per_sample : 1;
  job::Message message;
  message.kind = job::MessageKind::kStep;
  message.step = step;
  message.loss = result.loss;
  message.gradient_norm = result.gradient_norm;
  message.rate = rate_at(job.training, step);
  message.seconds = seconds;
  message.tokens =
      static_cast<std::int64_t>(per_sample * static_cast<double>(job.plan.placement.global_batch));
  message.memory_bytes = job.machine.device == "cuda" ? peak_gpu_memory() : peak_memory();
  message.waits = result.waits;
  return message;
}

std::vector<job::Message> failures(const std::exception_ptr& error) {
  job::Message failure;
  failure.kind = job::MessageKind::kError;
  std::vector<job::Message> list;
  try {
    std::rethrow_exception(error);
  } catch (const CommError& lost) {
    failure.code = "train.rank-missing";
    failure.message = lost.what();
    failure.missing_rank = lost.missing_rank;
  } catch (const Errors& errors) {
    for (const Error& one : errors.list()) {
      failure.code = one.code;
      failure.message = one.message;
      failure.hint = one.hint;
      failure.input_error = one.kind == ErrorKind::kInput;
      failure.environment_error = one.kind == ErrorKind::kEnvironment;
      list.push_back(failure);
    }
    return list;
  } catch (const c10::OutOfMemoryError& full) {
    failure.code = "train.out-of-memory";
    failure.message = full.what_without_backtrace();
    failure.message.resize(std::min(failure.message.find('\n'), failure.message.size()));
    failure.hint =
        "smaller micro-batches, --recompute full, --zero 3, or a plan made for this memory";
  } catch (const c10::Error& torch) {
    failure.code = "train.libtorch";
    failure.message = torch.what_without_backtrace();
  } catch (const std::exception& other) {
    failure.code = "train.worker-failed";
    failure.message = other.what();
  }
  list.push_back(failure);
  return list;
}

int exit_code_of(const std::vector<job::Message>& failures) {
  return failures.back().input_error ? 2 : failures.back().environment_error ? 4 : 5;
}

int tell_failures(job::Reporter& reporter) {
  const std::vector<job::Message> list = failures(std::current_exception());
  for (const job::Message& failure : list) {
    reporter.send(failure);
    std::fprintf(stderr, "%s: %s\n", failure.code.c_str(), failure.message.c_str());
  }
  return exit_code_of(list);
}

}  // namespace nereus::worker
