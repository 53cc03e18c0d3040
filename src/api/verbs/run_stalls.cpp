#include "api/verbs/run_stalls.hpp"

#include <fmt/format.h>

#include "api/reports/stalls_report.hpp"
#include "api/verbs/launched_rank.hpp"
#include "api/verbs/machine_options.hpp"
#include "app/measure/measure_stalls.hpp"
#include "base/format.hpp"

namespace nereus::api {

void add_stall_options(Command& command, StallOptions& given) {
  command.group("Stalls of a job");
  command.flag("--stalls", given.stalls,
               "show what a step of this job waits for, by cause; runs blocks of a few steps: "
               "some without communication, some without reading files, and so on");
  command.number("--seconds", given.seconds, "seconds to measure for (default: 60)");
  command.whole("--rounds", given.rounds, 2,
                "minimum number of rounds; each round runs every kind of block (default: 6)");
  command.text("--svg", "FILE", given.svg_file, "draw the stalls; with --what-if, draw the steps");
  command.text("--html", "FILE", given.html_file, "write pictures and tables as one page");
}

void check_stall_options(const StallOptions& given, ErrorList& errors) {
  double seconds = 1;
  set_within(seconds, given.seconds, "--seconds", 1, 1e6, errors);
}

int run_stalls(Caller& caller, app::TrainRequest train, const StallOptions& given,
               const OutputOptions& output) {
  app::StallRequest request;
  request.seconds = given.seconds.value_or(request.seconds);
  request.rounds = given.rounds.value_or(request.rounds);
  request.train = std::move(train);
  if (request.train.worker.empty()) request.train.worker = worker_beside_this();
  request.train.launched = launched_rank();
  const auto write = [&caller](const std::string& text) { caller.say(text); };
  app::StallWatch watch;
  watch.begin = [&](const app::TrainBegin& begin) {
    if (begin.speaks)
      write(fmt::format("measuring {} on {}: {}\n", begin.model, counted(begin.num_ranks, "rank"),
                        begin.library));
  };
  watch.round = [&](int round, double left) {
    write(left > 0 ? fmt::format("round {}, {:.0f} s left\n", round + 1, left)
                   : fmt::format("round {}\n", round + 1));
  };
  watch.text = [&](int rank, std::string_view line) {
    write(fmt::format("rank {}: {}\n", rank, line));
  };
  const app::StallAnswer answer = app::measure_stalls(request, watch);
  if (answer.speaks && !answer.failure) {
    caller.answer(stalls_report(answer), output);
    write_stall_pictures(answer, given.svg_file, given.html_file);
  }
  if (answer.failure) caller.warn(*answer.failure);
  return answer.exit_code;
}

}  // namespace nereus::api
