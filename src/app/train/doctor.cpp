#include "app/train/doctor.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "app/train/train_setup.hpp"
#include "base/build_info.hpp"
#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "base/units.hpp"
#include "spec/reader.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const char* text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text == nullptr ? "" : text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

// The value of "key : value" or "key=value" in a small text file; empty if there is none.
std::string field_of(const char* path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find(separator);
    if (at == std::string::npos || !line.starts_with(key)) continue;
    const size_t begin = line.find_first_not_of(" \t\"", at + 1);
    if (begin == std::string::npos) return "";
    const size_t end = line.find_last_not_of(" \t\"");
    return line.substr(begin, end - begin + 1);
  }
  return "";
}

std::optional<std::string> find_program(const std::string& name) {
  for (const std::string& directory : split(std::getenv("PATH"), ':')) {
    const std::string path = directory + "/" + name;
    if (access(path.c_str(), X_OK) == 0 && !fs::is_directory(path)) return path;
  }
  return std::nullopt;
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  return pclose(pipe) == 0 ? text : "";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

// Whether a child may have a network of its own, which tests across "hosts" use.
bool can_unshare(int flags) {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(flags) == 0 ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// The version of the first libtorch under CMAKE_PREFIX_PATH or the usual places.
std::optional<std::string> find_libtorch() {
  std::vector<std::string> prefixes = split(std::getenv("CMAKE_PREFIX_PATH"), ':');
  prefixes.insert(prefixes.end(), {"/usr", "/usr/local", "/opt/libtorch"});
  for (const std::string& prefix : prefixes) {
    for (const char* place :
         {"/include/torch/csrc/api/include/torch/version.h", "/include/torch/version.h"}) {
      std::ifstream file(prefix + place);
      std::map<std::string, std::string> parts;
      for (std::string define, name, value, line; std::getline(file, line);)
        if (std::istringstream words(line); words >> define >> name >> value && define == "#define")
          parts[name] = value;
      if (parts.contains("TORCH_VERSION_MAJOR"))
        return fmt::format("{}.{}.{} in {}", parts["TORCH_VERSION_MAJOR"],
                           parts["TORCH_VERSION_MINOR"], parts["TORCH_VERSION_PATCH"], prefix);
    }
  }
  return std::nullopt;
}

class Doctor {
 public:
  DoctorAnswer answer;

  void add(const char* group, std::string name, CheckStatus status, std::string detail,
           std::string needed_for = "") {
    answer.healthy &= status != CheckStatus::kBroken;
    answer.checks.push_back(
        {group, std::move(name), status, std::move(detail), std::move(needed_for)});
  }
  void optional(const char* group, std::string name, const std::optional<std::string>& detail,
                std::string needed_for) {
    const bool here = detail.has_value();
    add(group, std::move(name), here ? CheckStatus::kWorks : CheckStatus::kAbsent,
        detail.value_or("not found"), std::move(needed_for));
  }

  void program() {
    const BuildInfo& info = build_info();
    add("program", "nereus", CheckStatus::kWorks,
        fmt::format("{} (commit {})", info.version, info.commit));
    add("program", "built with", CheckStatus::kWorks,
        fmt::format("{}, {}{}", info.compiler, info.build_type,
                    info.sanitizers.empty() ? "" : ", sanitizers " + info.sanitizers));
    for (const LibraryVersion& library : info.libraries) {
      add("libraries", library.name, CheckStatus::kWorks,
          library.version.empty() ? "version not stated" : library.version);
    }
  }

  void data() {
    size_t bytes = 0;
    for (const EmbeddedFile& file : embedded_files()) bytes += file.text.size();
    const bool here = !embedded_files().empty();
    add("data", "embedded files", here ? CheckStatus::kWorks : CheckStatus::kBroken,
        here ? fmt::format("{} files, {:.0f} KiB", embedded_files().size(),
                           static_cast<double>(bytes) / kKiB)
             : "none: the program was built without its catalogue",
        "the catalogue of models, devices and prices");
  }

  void training(const std::string& worker) {
    try {
      const job::WorkerInfo info = ask_worker(worker);
      const bool same = info.build == build_id();
      add("training", "nereus-worker", same ? CheckStatus::kWorks : CheckStatus::kAbsent,
          fmt::format("{}; {}; {}{}", info.library, info.backends, counted(info.num_gpus, "GPU"),
                      same ? "" : fmt::format("; of another build ({})", info.build)),
          "train");
    } catch (const Errors& errors) {
      add("training", "nereus-worker", CheckStatus::kAbsent, errors.list().front().message,
          "train");
    }
    std::string text;
    for (const Proven& proven : parse_proven(find_embedded("proven.toml").value_or("")))
      text += fmt::format("{}{} ({}) on {}, {}, commit {}: {}", text.empty() ? "" : "; ",
                          proven.library, proven.backends, proven.architecture, proven.date,
                          proven.commit, proven.what);
    add("training", "last tested with", text.empty() ? CheckStatus::kAbsent : CheckStatus::kWorks,
        text.empty() ? "nothing yet" : text, "trusting train");
  }

  void machine() {
    utsname name{};
    uname(&name);
    const std::string system = field_of("/etc/os-release", "PRETTY_NAME", '=');
    add("machine", "system", CheckStatus::kWorks,
        fmt::format("{}, {} {}, {}", system.empty() ? "unknown" : system, name.sysname,
                    name.release, name.machine));
    const std::string model = field_of("/proc/cpuinfo", "model name", ':');
    add("machine", "cores", CheckStatus::kWorks,
        fmt::format("{} usable of {}{}", usable_cores(), sysconf(_SC_NPROCESSORS_ONLN),
                    model.empty() ? "" : ", " + model));
    const auto gib = [](const std::string& kib) { return std::atof(kib.c_str()) * kKiB / kGiB; };
    add("machine", "memory", CheckStatus::kWorks,
        fmt::format("{:.1f} GiB, {:.1f} GiB free", gib(field_of("/proc/meminfo", "MemTotal", ':')),
                    gib(field_of("/proc/meminfo", "MemAvailable", ':'))));
    gpus();
  }

  void gpus() {
    std::optional<std::string> detail;
    if (find_program("nvidia-smi")) {
      std::string list = output_of(
          "timeout 10 nvidia-smi --query-gpu=name,memory.total --format=csv,noheader 2>/dev/null");
      std::replace(list.begin(), list.end(), '\n', ';');
      while (!list.empty() && list.back() == ';') list.pop_back();
      if (!list.empty()) detail = list;
    }
    optional("machine", "NVIDIA GPUs", detail, "measuring and training on GPUs");
  }

  void tools() {
    const auto tool = [&](const char* name, const std::vector<const char*>& programs,
                          const char* use) {
      std::optional<std::string> path;
      for (const char* program : programs) {
        if (!path) path = find_program(program);
      }
      optional("tools", name, path, use);
    };
    tool("C++ compiler", {"c++", "g++", "clang++"}, "building");
    tool("cmake", {"cmake"}, "building");
    tool("ninja", {"ninja"}, "building");
    tool("ccache", {"ccache"}, "faster builds");
    tool("clang", {"clang++-14", "clang++"}, "fuzzers (./test --all)");
    tool("clang-format", {"clang-format-14"}, "the format check (./test --all)");
    tool("git", {"git"}, "the commit in nereus version");
    tool("mpirun", {"mpirun"}, "sweeps over many machines");
    tool("ip and tc", {"tc"}, "tests across network namespaces");
    optional("tools", "libtorch", find_libtorch(), "training");
  }

  void permissions() {
    const bool root = geteuid() == 0;
    add("permissions", "root", root ? CheckStatus::kWorks : CheckStatus::kAbsent,
        root ? "yes" : "no", "installing packages");
    const bool network = can_unshare(CLONE_NEWNET);
    add("permissions", "network namespaces", network ? CheckStatus::kWorks : CheckStatus::kAbsent,
        network                                     ? "yes"
        : can_unshare(CLONE_NEWUSER | CLONE_NEWNET) ? "only inside a user namespace"
                                                    : "no",
        "tests across several hosts on one machine");
  }
};

}  // namespace

std::vector<Proven> parse_proven(std::string_view toml) {
  const spec::Value root = spec::parse_toml(toml, "proven.toml");
  ErrorList errors;
  spec::Reader r(root, errors);
  std::vector<Proven> list;
  for (spec::Reader& row : r.optional_tables("proven")) {
    list.push_back({row.required_string("library"), row.required_string("backends"),
                    row.required_string("architecture"), row.required_string("date"),
                    row.required_string("commit"), row.required_string("what")});
    row.finish();
  }
  r.finish();
  errors.throw_if_any();
  return list;
}

DoctorAnswer doctor(const std::string& worker) {
  Doctor doctor;
  doctor.program();
  doctor.data();
  doctor.training(worker);
  doctor.machine();
  doctor.tools();
  doctor.permissions();
  return doctor.answer;
}

timeline::TraceCheck check_trace(const std::string& file) {
  timeline::TraceCheck check = timeline::check_trace_file(file);
  ErrorList errors;
  for (const std::string& fault : check.faults) errors.add("trace.fault", fault, {file});
  if (check.num_faults > static_cast<std::int64_t>(check.faults.size()))
    errors.add(
        "trace.fault",
        counted(check.num_faults - static_cast<std::int64_t>(check.faults.size()), "more error"),
        {file});
  errors.throw_if_any();
  return check;
}

}  // namespace nereus::app
