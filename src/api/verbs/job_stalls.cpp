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
    errors.add("cli.conflict", "a command is to be run, and traces are to be read", {},
               "-- COMMAND or --kineto FILE, one at a time");
  if (stalls.stalls)
    errors.add("cli.conflict", "--stalls is of a job as nereus train runs it", {},
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
  command.group("PyTorch jobs that are not nereus train's");
  command.files("--kineto", "FILE", given.traces,
                "what a step waited for by traces of PyTorch's profiler (.json, .json.gz, or a "
                "folder of them), one of each rank");
  command.rest("COMMAND", given.command,
               "what a step of a PyTorch job waits for, started like this: torchrun train.py; the "
               "script is not edited, and nothing is learned or saved");
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
