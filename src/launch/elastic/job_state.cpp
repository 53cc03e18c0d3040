#include "launch/elastic/job_state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/write_file.hpp"
#include "launch/elastic/coordinator.hpp"
#include "launch/elastic/hmac.hpp"
#include "spec/reader.hpp"
#include "spec/source.hpp"

namespace nereus::launch {

namespace {

namespace fs = std::filesystem;

constexpr int kSchemaVersion = 1;
constexpr int kTokenBytes = 32;

std::string state_file(const std::string& folder) { return folder + "/coordinator.json"; }

}  // namespace

void save_state(const std::string& folder, const JobState& state) {
  spec::Table ranks, table;
  const auto put = [](spec::Table& to, const std::string& key, auto value) {
    to.emplace_back(key, spec::Value{.data = std::move(value)});
  };
  for (const auto& [name, rank] : state.ranks) put(ranks, name, std::int64_t{rank});
  put(table, "schema_version", std::int64_t{kSchemaVersion});
  put(table, "generation", state.generation);
  put(table, "steps", state.steps);
  put(table, "steps_done", state.steps_done);
  put(table, "complete", state.complete);
  put(table, "host", state.listen.host);
  put(table, "port", std::int64_t{state.listen.port});
  put(table, "step_s", state.step_s);
  put(table, "ranks", std::move(ranks));
  put(table, "job", state.job);
  write_file(state_file(folder), spec::to_json({.data = std::move(table)}) + "\n");
}

std::optional<JobState> load_state(const std::string& folder) {
  const std::string file = state_file(folder);
  if (!fs::exists(file)) return std::nullopt;
  const spec::Value root = spec::parse_json(spec::read_text_file(file), file);
  ErrorList errors;
  spec::Reader r(root, errors, spec::Units::kRawSi);
  JobState state;
  r.required_int("schema_version", kSchemaVersion, kSchemaVersion);
  state.generation = r.required_int64("generation", -1);
  state.steps = r.required_int64("steps", 0);
  state.steps_done = r.required_int64("steps_done", 0);
  state.complete = r.required_bool("complete");
  state.listen.host = r.required_string("host");
  state.listen.port = r.required_int("port", 0, 65535);
  state.step_s = r.required_double("step_s", 0);
  state.job = r.optional_string("job");
  spec::Reader ranks = r.required_table("ranks");
  for (const std::string_view name : ranks.keys())
    state.ranks[std::string(name)] = ranks.required_int(name, 0);
  ranks.finish();
  r.finish();
  errors.throw_if_any();
  return state;
}

JobLock::JobLock(const std::string& folder) {
  const std::string file = folder + "/lock";
  fd_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd_ < 0)
    throw_environment_error("elastic.folder", fmt::format("{}: {}", file, std::strerror(errno)));
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  close(fd_);
  throw_environment_error("elastic.running", "another coordinator runs this job",
                          fmt::format("end it, or another folder than {}", folder));
}

JobLock::~JobLock() { close(fd_); }

std::string job_token(const std::string& folder) {
  const std::string file = folder + "/token";
  const auto fail = [&](const std::string& what) {
    throw_environment_error("elastic.token", fmt::format("{}: {}", file, what),
                            "a folder that can be written to");
  };
  struct stat about {};
  if (stat(file.c_str(), &about) == 0) {
    if ((about.st_mode & 077) != 0)
      throw_input_error("elastic.token",
                        fmt::format("{} can be read by others (mode {:o})", file,
                                    static_cast<unsigned>(about.st_mode & 0777)),
                        {file}, "chmod 600, or remove it for a new one");
    std::string token = spec::read_text_file(file);
    while (!token.empty() && token.back() == '\n') token.pop_back();
    if (token.size() < 16)
      throw_input_error("elastic.token", fmt::format("{} holds no token", file), {file},
                        "remove it for a new one");
    return token;
  }
  const std::string token = random_hex(kTokenBytes);
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) fail(std::strerror(errno));
  const std::string line = token + "\n";
  const bool written = write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  close(fd);
  if (!written) fail("not written");
  return token;
}

}  // namespace nereus::launch
