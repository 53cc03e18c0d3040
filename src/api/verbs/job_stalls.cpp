#include "api/verbs/job_stalls.hpp"

#include <fmt/format.h>

#include "api/form/exit_codes.hpp"
#include "api/reports/stalls_report.hpp"
#include "app/measure/measure_job.hpp"
#include "app/measure/measure_traces.hpp"

namespace nereus::api {

namespace {

app::StallAnswer answer_of(const JobOptions& given, const StallOptions& stalls, Caller& caller) {
  ErrorList errors;
  if (!given.command.empty() && !given.traces.empty())
    errors.add("cli.conflict", "a command to run and traces to read were both given", {},
               "give either -- COMMAND or --kineto FILE");
  if (stalls.stalls)
    errors.add("cli.conflict", "--stalls measures a job of nereus train only", {},
               given.traces.empty() ? "-- COMMAND without --stalls" : "--kineto without --stalls");
  check_stall_options(stalls, errors);
  errors.throw_if_any();
  app::MeasuredJobRequest request;
  request.seconds = stalls.seconds.value_or(request.seconds);
  if (!given.traces.empty()) return app::measure_traces(given.traces);
  request.rounds = stalls.rounds.value_or(request.rounds);
  request.command = given.command;
  return app::measure_job(request, [&caller](std::string_view text) { caller.say(text); });
}

}  // namespace

void add_job_options(Command& command, JobOptions& given) {
  command.group("Existing PyTorch jobs");
  command.files("--kineto", "FILE", given.traces,
                "show what a step waited for, from traces of PyTorch's profiler, one per rank "
                "(.json, .json.gz, or a folder of them)");
  command.rest("COMMAND", given.command,
               "run a PyTorch job, such as torchrun train.py, and show what its steps wait for; "
               "the script is not edited, and nothing is learned or saved");
}

int run_job(Caller& caller, const JobOptions& given, const StallOptions& stalls,
            const OutputOptions& output) {
  const app::StallAnswer answer = answer_of(given, stalls, caller);
  if (answer.failure) {
    caller.warn(*answer.failure);
    return answer.exit_code;
  }
  if (!answer.speaks) return kDone;
  caller.answer(stalls_report(answer), output);
  write_stall_pictures(answer, stalls.svg_file, stalls.html_file);
  return kDone;
}

}  // namespace nereus::api
