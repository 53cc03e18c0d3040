#include "api/verbs/launched_rank.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/format.hpp"

namespace nereus::api {

namespace {

using Variable = std::function<std::string(const char*)>;

std::optional<int> number_in(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

class Environment {
 public:
  explicit Environment(const Variable& variable) : variable_(variable) {}

  bool has(const char* name) const { return !variable_(name).empty(); }
  std::string text(const char* name) const { return variable_(name); }
  // 0, with an error, if it is not a number.
  int number(const char* name) {
    const std::optional<int> value = number_in(variable_(name));
    if (!value) wrong(name);
    return value.value_or(0);
  }
  int number_or(const char* name, int fallback) { return has(name) ? number(name) : fallback; }
  void wrong(const char* name) {
    errors_.add("train.environment",
                has(name)
                    ? fmt::format("{}={} is not a whole number of 0 or more", name, text(name))
                    : fmt::format("{} is not set, but other variables of a launcher are", name),
                {}, "set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT together");
  }
  ErrorList& errors() { return errors_; }

 private:
  const Variable& variable_;
  ErrorList errors_;
};

// Equal on every rank of a job, and mostly different for the next job: FNV-1a, mapped to the range
// of ports for programs.
int port_of(const std::string& job) {
  std::uint32_t hash = 2166136261u;
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return 20000 + static_cast<int>(hash % 12000);
}

void find_master(Environment& environment, app::LaunchedRank& launched, bool one_host,
                 const std::string& job) {
  if (environment.has("MASTER_ADDR") || environment.has("MASTER_PORT") || !one_host) {
    launched.master_address = environment.text("MASTER_ADDR");
    if (launched.master_address.empty()) environment.wrong("MASTER_ADDR");
    launched.master_port = environment.number("MASTER_PORT");
    if (environment.text("TORCHELASTIC_USE_AGENT_STORE") == "True") ++launched.master_port;
  } else {
    launched.master_address = "127.0.0.1";
    launched.master_port = port_of(job);
  }
}

}  // namespace

std::optional<app::LaunchedRank> launched_rank_of(const Variable& variable) {
  Environment environment(variable);
  app::LaunchedRank launched;
  bool one_host = false;
  std::string job;
  if (environment.has("RANK") || environment.has("WORLD_SIZE")) {
    launched = {environment.number("RANK"), environment.number("WORLD_SIZE"), 0, {}, 0, {}};
    launched.local_rank = environment.number_or("LOCAL_RANK", launched.rank);
    launched.launcher = environment.has("TORCHELASTIC_RUN_ID") ? "torchrun" : "the launcher";
    one_host = launched.world_size == 1;
    job = std::to_string(launched.rank);
  } else if (environment.has("OMPI_COMM_WORLD_SIZE")) {
    launched = {environment.number("OMPI_COMM_WORLD_RANK"),
                environment.number("OMPI_COMM_WORLD_SIZE"),
                environment.number("OMPI_COMM_WORLD_LOCAL_RANK"),
                {},
                0,
                "mpirun"};
    one_host = environment.number_or("OMPI_COMM_WORLD_LOCAL_SIZE", 0) == launched.world_size;
    job = environment.text("PMIX_NAMESPACE") + environment.text("OMPI_MCA_ess_base_jobid");
    if (launched.world_size <= 1) return std::nullopt;
  } else if (environment.has("SLURM_STEP_NUM_TASKS")) {
    launched = {environment.number("SLURM_PROCID"),
                environment.number("SLURM_STEP_NUM_TASKS"),
                environment.number("SLURM_LOCALID"),
                {},
                0,
                "srun"};
    one_host = environment.number_or("SLURM_STEP_NUM_NODES", 0) == 1;
    job = environment.text("SLURM_JOB_ID") + "." + environment.text("SLURM_STEP_ID");
    if (launched.world_size <= 1) return std::nullopt;
  } else {
    return std::nullopt;
  }
  find_master(environment, launched, one_host, job);
  if (environment.errors().empty() && launched.rank >= launched.world_size)
    environment.errors().add(
        "train.environment",
        fmt::format("rank {} is out of range: {} numbered from 0", launched.rank,
                    counted(launched.world_size, "rank is", "ranks are")));
  environment.errors().throw_if_any();
  return launched;
}

std::string worker_beside_this() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path() / "nereus-worker";
}

std::optional<app::LaunchedRank> launched_rank() {
  return launched_rank_of([](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  });
}

}  // namespace nereus::api
