// A foreground and a background job of one rank each that take turns on one device, as `nereus
// train
// --background-by turns` runs them, where the device's machine has no nereus: two job files and the
// worker. For bench/gpu/background.
//
//   turns WORKER FOREGROUND.json BACKGROUND.json GATES SLOWDOWN
//
// GATES is the folder that both jobs name (sharing.gates). Prints a line of JSON a step of the
// foreground, {"seconds": 0.008}, and at the end what launch::BackgroundOutcome says.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "launch/background/runner.hpp"

namespace nereus {
namespace {

launch::RankSpec only_rank(const std::string& worker, const std::string& job) {
  launch::RankSpec spec;
  spec.child.arguments = {worker, "--job", job, "--rank", "0"};
  spec.child.report_option = "--report-fd";
  spec.child.environment = {{"RANK", "0"},
                            {"WORLD_SIZE", "1"},
                            {"LOCAL_RANK", "0"},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"MASTER_PORT", std::to_string(launch::free_port())}};
  return spec;
}

int run(char** words) {
  const std::string worker = words[1];
  launch::BackgroundOptions options;
  options.pace.bound = std::atof(words[5]);
  options.pace.alone_steps = 256;  // to know the 99th percentile of steps alone
  options.pace.probe_steps = 16;
  options.control_group = false;
  options.change_s = launch::kChangeOnGpus;
  options.gates = {job::Gate::make(fmt::format("{}/gate-0", words[4]))};
  options.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  launch::BackgroundRunner background({{"background", {only_rank(worker, words[3])}}}, options);
  launch::Watch watch;
  watch.message = [&](const job::Message& message) {
    if (message.kind != job::MessageKind::kStep) return;
    background.foreground_step(message.seconds);
    fmt::print("{{\"seconds\": {:.9f}}}\n", message.seconds);
  };
  watch.text = [](int, std::string_view line) { fmt::print(stderr, "{}\n", line); };
  const launch::Outcome foreground = launch::run_ranks({only_rank(worker, words[2])}, {}, watch);
  const launch::BackgroundOutcome outcome = background.finish(foreground.exit_code == 0);
  const launch::Slowdown& s = outcome.slowdown;
  const launch::BackgroundResult& job = outcome.jobs.front();
  fmt::print(
      "{{\"exit_code\": {}, \"alone_s\": {}, \"median\": {}, \"p99\": {}, \"mean\": {}, "
      "\"alone_p99\": {}, "
      "\"alone\": {}, \"beside\": {}, \"share_of_time\": {}, \"pieces\": {}, \"late\": {}, "
      "\"too_long\": {}, \"longest_s\": {}, \"given_s\": {}, \"steps_per_turn\": {}, \"start_s\": "
      "{}, \"rests\": {}, "
      "\"steps\": {}, \"seconds\": {}, \"step_s\": {}, \"alone_step_s\": {}, \"why\": \"{}\"}}\n",
      foreground.exit_code, s.alone_s, s.median, s.p99, s.mean, s.alone_p99, s.num_alone,
      s.num_shared, outcome.mean_share, outcome.num_pieces, outcome.num_late, outcome.num_too_long,
      outcome.longest_s, outcome.given_s, outcome.steps_per_turn, outcome.start_s,
      outcome.num_rests, job.steps, job.seconds, job.step_s, job.alone_step_s, job.why);
  if (foreground.failure) fmt::print(stderr, "{}\n", foreground.failure->message);
  return foreground.exit_code;
}

}  // namespace
}  // namespace nereus

int main(int count, char** words) {
  if (count != 6) {
    std::fputs("turns WORKER FOREGROUND.json BACKGROUND.json GATES SLOWDOWN\n", stderr);
    return 2;
  }
  try {
    return nereus::run(words);
  } catch (const nereus::Errors& errors) {
    for (const nereus::Error& error : errors.list()) fmt::print(stderr, "{}\n", error.message);
    return 4;
  }
}
