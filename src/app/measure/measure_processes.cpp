#include "app/measure/measure_processes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "app/train/train_setup.hpp"
#include "spec/source.hpp"

namespace nereus::app {

namespace {

constexpr double kNoMessage = 120;  // of a worker that greeted
constexpr int kLastPort = 65535;

// Teams of several ranks meet at ports of their own.
std::string ports_of(const job::MeasureJob& job, int num_ranks) {
  std::vector<int> ports;
  for (int team = 0; team < num_ranks / job.team; ++team)
    ports.push_back(job.team > 1 ? launch::free_port() : 0);
  return fmt::format("{}", fmt::join(ports, " "));
}

int port_of_process(int first, int process) {
  return first + process <= kLastPort ? first + process : first - process;
}

std::vector<launch::RankSpec> specs_of(const MeasureRequest& request, int num_ranks, int process,
                                       const std::string& file) {
  TrainRequest train = request.train;
  if (train.launched)
    train.launched->master_port = port_of_process(train.launched->master_port, process);
  std::vector<launch::RankSpec> specs =
      rank_specs(train, ranks_to_start(train, num_ranks), num_ranks, file);
  for (launch::RankSpec& spec : specs) spec.child.arguments[1] = "--measure";
  return specs;
}

// Reports what rank 0 does, each activity once.
launch::Watch watch_of(const MeasureWatch& watch, int process, std::string& doing) {
  launch::Watch heard;
  heard.message = [&watch, &doing, process](const job::Message& message) {
    if (message.kind != job::MessageKind::kAlive || message.rank != 0 || message.doing == doing)
      return;
    doing = message.doing;
    if (watch.say && !doing.empty()) watch.say(fmt::format("process {}: {}", process + 1, doing));
  };
  heard.text = watch.text;
  return heard;
}

}  // namespace

bool goes_on(const MeasureRequest& request, int done, double seconds) {
  if (request.processes) return done < *request.processes;
  if (done < kLeastProcesses) return true;
  if (done >= kProcesses) return false;
  if (request.train.launched) return true;
  const double with_next = seconds * (done + 1) / done;
  return with_next <= (request.quick ? kQuickSeconds : kFullSeconds);
}

MeasuredProcesses run_processes(const MeasureRequest& request, job::MeasureJob job, int num_ranks,
                                const MeasureWatch& watch) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const bool speaks = !request.train.launched || request.train.launched->rank == 0;
  MeasuredProcesses all;
  for (int process = 0; goes_on(request, process, seconds()); ++process) {
    job.output = fmt::format("{}/profile-{}.json", job.scratch, process);
    job.ports = ports_of(job, num_ranks);
    const std::string file = fmt::format("{}/measure-{}.json", job.scratch, process);
    job::save_measure_job(file, job);
    std::string doing;
    all.outcome = launch::run_ranks(specs_of(request, num_ranks, process, file),
                                    {.timeout_s = kNoMessage}, watch_of(watch, process, doing));
    if (all.outcome.failure || all.outcome.exit_code != 0) break;
    if (speaks)
      all.profiles.push_back(profile::parse_profile(spec::read_text_file(job.output), job.output));
  }
  return all;
}

}  // namespace nereus::app
