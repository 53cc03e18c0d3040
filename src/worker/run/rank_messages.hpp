// What a rank tells of itself at its start, after every step and at its end, whoever started it.
//
//   check_can_run(job);                             // throws Errors
//   report(hello_of_rank());
//   report(message_of_step(job, step, executor.run(step), seconds));
//   } catch (...) { return tell_failures(reporter); }
#pragma once

#include <exception>
#include <vector>

#include "job/job.hpp"
#include "job/message.hpp"
#include "job/reporter.hpp"
#include "worker/execute/executor.hpp"

namespace nereus::worker {

// Of this build, and a plan and norm groups that the worker runs.
void check_can_run(const job::Job& job);
job::Message hello_of_rank();
// `seconds`: that it took, with what was done beside it.
job::Message message_of_step(const job::Job& job, std::int64_t step, const StepResult& result,
                             double seconds);
// All that is wrong, at least one.
std::vector<job::Message> failures(const std::exception_ptr& error);
int exit_code_of(const std::vector<job::Message>& failures);  // 2 (input) or 5
// What is being caught, to whoever started the rank and to stderr; the exit code.
int tell_failures(job::Reporter& reporter);

}  // namespace nereus::worker
