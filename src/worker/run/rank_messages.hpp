// The messages of a rank at its start, after every step and at its end, to the process that started
// it.
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

// Checks that the job is for this build, and that the worker supports its plan and norm groups.
void check_can_run(const job::Job& job);
job::Message hello_of_rank();
// `seconds` is the time of the step, including concurrent work.
job::Message message_of_step(const job::Job& job, std::int64_t step, const StepResult& result,
                             double seconds);
// All errors, at least one.
std::vector<job::Message> failures(const std::exception_ptr& error);
int exit_code_of(const std::vector<job::Message>& failures);  // 2 (input), 4 (environment) or 5
// Sends the current exception to the process that started the rank, and to stderr; returns the exit
// code.
int tell_failures(job::Reporter& reporter);

}  // namespace nereus::worker
