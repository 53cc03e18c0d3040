#include "app/measure/measure_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "app/train/scratch_folder.hpp"
#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/write_file.hpp"
#include "launch/child.hpp"
#include "launch/signals.hpp"
#include "measure/shim_blocks.hpp"
#include "spec/source.hpp"

namespace nereus::app {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kShim = "../python/shim/";
constexpr int kWorkerFailed = 5, kStopped = 10;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Finds it like a shell does.
std::string program_of(const std::string& word) {
  const auto runs = [](const std::string& path) {
    return fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0;
  };
  if (word.find('/') != std::string::npos) {
    if (runs(word)) return word;
  } else {
    const std::string all = variable("PATH");
    for (std::size_t begin = 0; begin <= all.size();) {
      const std::size_t end = std::min(all.find(':', begin), all.size());
      const std::string folder = end > begin ? all.substr(begin, end - begin) : ".";
      if (runs(folder + "/" + word)) return folder + "/" + word;
      begin = end + 1;
    }
  }
  throw_input_error("measure.no-program", fmt::format("there is no program '{}'", word), {},
                    "nereus measure -- torchrun train.py, or -- python3 train.py");
}

void write_shim(const fs::path& folder) {
  for (const EmbeddedFile& file : embedded_files())
    if (file.path.starts_with(kShim))
      write_file((folder / file.path.substr(kShim.size())).string(), std::string(file.text));
}

// Runs it to its end; its words are handed on. -1: killed, by whomever.
int run(const launch::ChildSpec& spec, const std::function<void(std::string_view)>& say) {
  const launch::SignalPipe signals;
  const launch::Child child = launch::start_child(spec);
  int asked = 0;
  std::string text;
  while (launch::read_available(child.text_fd, text)) {
    if (!text.empty()) say(text);
    text.clear();
    pollfd wait[] = {{child.text_fd, POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    poll(wait, 2, 1000);
    const launch::SignalPipe::Counts counts = signals.take();
    if (counts.interrupts + counts.terminations == 0) continue;
    asked += counts.interrupts + counts.terminations;
    kill(-child.pid, asked > 1 ? SIGKILL : counts.terminations > 0 ? SIGTERM : SIGINT);
  }
  if (!text.empty()) say(text);
  close(child.text_fd);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (asked > 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<fs::path> named(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  return found;
}

[[noreturn]] void explain_nothing(const fs::path& folder, const std::string& command) {
  if (named(folder, "attached-").empty())
    throw_input_error(
        "measure.no-torch",
        fmt::format("'{}' ended, but no Python process in it loaded torch with the shim", command),
        {},
        "a command that runs Python with PYTHONPATH and without -I, -E or -S, on this "
        "machine, and imports torch");
  throw_input_error(
      "measure.no-step",
      fmt::format("'{}' ended before an optimizer of torch.optim had done enough steps", command),
      {}, "ask for more steps in the script's arguments");
}

// The script's name, as what is measured.
std::string name_of(const std::vector<std::string>& command) {
  for (const std::string& word : command)
    if (word.ends_with(".py")) return fs::path(word).filename();
  return fs::path(command.front()).filename();
}

void take(StallAnswer& answer, const std::string& file) {
  measure::ShimBlocks blocks = measure::read_shim_blocks(spec::read_text_file(file), file);
  const measure::ShimJob& job = blocks.job;
  answer.library =
      fmt::format("PyTorch {}{}{}", job.torch, job.backend.empty() ? "" : ", ", job.backend);
  answer.parameters = job.parameters;
  answer.tokens = job.samples;
  answer.report = measure::find_stalls(blocks.times);
  measure::explain_missing(answer.report, job);
  if (job.num_ranks > 1 && job.unswitchable.empty())
    answer.report.notes.push_back(
        "in some blocks gradients were not all-reduced; the learning rate was 0 and nothing was "
        "saved, so start the job again to train");
  else
    answer.report.notes.push_back(
        "the learning rate was 0 and nothing was saved, so start the job again to train");
  answer.blocks = std::move(blocks.times);
}

}  // namespace

StallAnswer measure_job(const MeasuredJobRequest& request,
                        const std::function<void(std::string_view)>& say) {
  launch::ChildSpec spec{.arguments = request.command};
  spec.arguments[0] = program_of(request.command[0]);
  const ScratchFolder scratch("measure");
  const fs::path shim = scratch.path() / "shim", times = scratch.path() / "times";
  fs::create_directory(shim);
  fs::create_directory(times);
  write_shim(shim);
  const std::string path = variable("PYTHONPATH");
  spec.environment = {{"PYTHONPATH", path.empty() ? shim.string() : shim.string() + ":" + path},
                      {"PYTHONDONTWRITEBYTECODE", "1"},
                      {"NEREUS_SHIM_FOLDER", times.string()},
                      {"NEREUS_SHIM_SECONDS", fmt::format("{}", request.seconds)},
                      {"NEREUS_SHIM_ROUNDS", fmt::format("{}", request.rounds)}};
  StallAnswer answer;
  answer.model = name_of(request.command);
  answer.counts_tokens = false;
  const std::string command = fmt::format("{}", fmt::join(request.command, " "));
  const int code = run(spec, say);
  if (code < 0) {
    answer.exit_code = kStopped;
    answer.failure = Error{"measure.stopped", "stopped before the measurement was done"};
    return answer;
  }
  if (code != 0) {
    answer.exit_code = kWorkerFailed;
    answer.failure = Error{"measure.job-failed",
                           fmt::format("'{}' ended with exit code {}", command, code),
                           {},
                           "see its output above; does it run without nereus measure?"};
    return answer;
  }
  const std::vector<fs::path> found = named(times, "blocks-");
  if (found.size() > 1)
    throw_input_error("measure.ranks", fmt::format("{} processes all report rank 0", found.size()),
                      {}, "start one job per call, whose ranks communicate by torch.distributed");
  if (found.empty() && !named(times, "rank-").empty()) {
    answer.speaks = false;  // rank 0 is on another machine
    return answer;
  }
  if (found.empty()) explain_nothing(times, command);
  take(answer, found.front().string());
  return answer;
}

}  // namespace nereus::app
