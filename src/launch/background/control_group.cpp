#include "launch/background/control_group.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace nereus::launch {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRoot = "/sys/fs/cgroup";

bool write_to(const std::string& file, const std::string& text) {
  if (access(file.c_str(), W_OK) != 0) return false;
  std::ofstream out(file);
  out << text << std::flush;
  return out.good();
}

// The groups of this process, by controller; version 2 has no name.
std::map<std::string, std::string> own_groups() {
  std::map<std::string, std::string> groups;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string names = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    for (std::size_t end = 0; end != std::string::npos;) {
      end = names.find(',');
      groups[names.substr(0, end)] = path;
      if (end != std::string::npos) names.erase(0, end + 1);
    }
  }
  return groups;
}

// A new folder in which `file` is found, or none.
bool make_folder(const std::string& folder, const char* file) {
  std::error_code failed;
  if (!fs::create_directory(folder, failed)) return false;
  if (fs::exists(fmt::format("{}/{}", folder, file), failed)) return true;
  fs::remove(folder, failed);
  return false;
}

}  // namespace

std::unique_ptr<ControlGroup> ControlGroup::make(const std::string& name, double memory_bytes) {
  std::unique_ptr<ControlGroup> group(new ControlGroup);
  const std::map<std::string, std::string> own = own_groups();
  const std::string bytes = fmt::format("{:.0f}", memory_bytes);
  std::error_code unknown;
  if (own.count("") > 0 && fs::exists(fmt::format("{}/cgroup.controllers", kRoot), unknown)) {
    const std::string here = kRoot + own.at("");
    for (const std::string& parent : {fs::path(here).parent_path().string(), here}) {
      const std::string folder = parent + "/" + name;
      if (!parent.starts_with(kRoot) || !make_folder(folder, "cpu.weight")) continue;
      group->folders_.push_back(folder);
      if (!write_to(folder + "/cpu.idle", "1")) write_to(folder + "/cpu.weight", "1");
      group->limits_memory_ = memory_bytes > 0 && write_to(folder + "/memory.max", bytes);
      return group;
    }
  }
  if (own.count("cpu") > 0) {
    const std::string folder = fmt::format("{}/cpu{}/{}", kRoot, own.at("cpu"), name);
    if (make_folder(folder, "cpu.shares")) {
      group->folders_.push_back(folder);
      if (!write_to(folder + "/cpu.idle", "1")) write_to(folder + "/cpu.shares", "2");
    }
  }
  if (own.count("memory") > 0 && memory_bytes > 0) {
    const std::string folder = fmt::format("{}/memory{}/{}", kRoot, own.at("memory"), name);
    if (make_folder(folder, "memory.limit_in_bytes")) {
      group->folders_.push_back(folder);
      group->limits_memory_ = write_to(folder + "/memory.limit_in_bytes", bytes);
    }
  }
  if (group->folders_.empty()) return nullptr;
  return group;
}

ControlGroup::~ControlGroup() {
  // A process that was just killed is in it for another moment.
  constexpr int kTries = 50;
  for (const std::string& folder : folders_)
    for (int i = 0; i < kTries && rmdir(folder.c_str()) != 0; ++i) usleep(10'000);
}

void ControlGroup::add(pid_t pid) const {
  for (const std::string& folder : folders_)
    write_to(folder + "/cgroup.procs", std::to_string(pid));
}

}  // namespace nereus::launch
