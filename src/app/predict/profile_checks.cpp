#include "app/predict/profile_checks.hpp"

#include <fmt/format.h>

#include <map>

#include "base/format.hpp"
#include "cluster/catalogue.hpp"
#include "cluster/this_machine.hpp"
#include "profile/import_file.hpp"
#include "spec/source.hpp"

namespace nereus::app {

namespace {

constexpr const char* kForce = "--force-profile uses it nevertheless; or measure this machine";

bool has_device(const cost::NamedProfile& own, const cluster::Cluster& cluster) {
  if (device_named(cluster, own.profile.machine.context.device)) return true;
  for (const profile::MeasuredLayer& layer : own.profile.layers)
    if (device_named(cluster, layer.device)) return true;
  return false;
}

void rename_device(profile::Profile& profile, const std::string& name) {
  profile.machine.context.device = name;
  for (profile::MeasuredLayer& layer : profile.layers) layer.device = name;
}

class Checks {
 public:
  Checks(const cluster::Cluster& cluster, bool force) : cluster_(cluster), force_(force) {}
  ErrorList errors;
  std::vector<std::string> notes;

  void check(cost::NamedProfile& own) {
    const profile::Context& context = own.profile.machine.context;
    const std::string& here = cluster_.groups.front().node.device.short_name;
    if (cluster::is_nominal(cluster_) && !context.device.empty()) {
      check_this_machine(own, here);
    } else if (!has_device(own, cluster_)) {
      const std::string device = context.device.empty() && !own.profile.layers.empty()
                                     ? own.profile.layers.front().device
                                     : context.device;
      // Without a machine of its own the layers say it, with all their devices.
      if (!force_ && own.profile.machine.empty()) return;
      refuse(
          "profile.no-device",
          fmt::format("the profile was measured on {}, but {} has {}", device, cluster_.name, here),
          own.file);
      if (force_) rename_device(own.profile, here);
    }
    check_libraries(own);
  }

 private:
  // This machine runs its kind of device under any name; but it must be the same device.
  void check_this_machine(cost::NamedProfile& own, const std::string& here) {
    const profile::Context& context = own.profile.machine.context;
    const bool cpu_here = cluster::own_device_kind(here) == "cpu";
    const bool cpu_there = cluster::own_device_kind(context.device) == "cpu";
    const std::string name = cpu_here ? cluster::this_cpu() : here;
    if (cpu_here != cpu_there || (cpu_here && context.device_name != name))
      refuse("profile.other-device",
             fmt::format("the profile was measured on {}, but this machine has {}",
                         context.device_name, name),
             own.file);
    const int ranks = cluster_.num_devices();
    if (cpu_here && context.ranks > 0 && context.ranks != ranks && !own.profile.layers.empty())
      notes.push_back(fmt::format(
          "{} was measured with {} of {}, but this plan has {}, which share cores and memory "
          "differently",
          own.file, counted(context.ranks, "rank"), counted(context.threads, "thread"), ranks));
    rename_device(own.profile, here);
  }

  void check_libraries(const cost::NamedProfile& own) {
    const profile::Context& context = own.profile.machine.context;
    if (context.library.empty()) return;
    const auto [known, is_new] = libraries_.try_emplace(context.device, context.library, own.file);
    if (!is_new && known->second.first != context.library)
      refuse("profile.other-library",
             fmt::format("{} was measured by {} in this profile, but by {} in {}", context.device,
                         context.library, known->second.first, known->second.second),
             own.file);
  }

  void refuse(const char* code, const std::string& message, const std::string& file) {
    if (force_)
      notes.push_back(fmt::format("forced: {} ({})", message, file));
    else
      errors.add(code, message, {file}, kForce);
  }

  const cluster::Cluster& cluster_;
  bool force_;
  std::map<std::string, std::pair<std::string, std::string>> libraries_;  // by device
};

}  // namespace

const cluster::Device* device_named(const cluster::Cluster& cluster, const std::string& name) {
  if (name.empty()) return nullptr;
  const cluster::Device* known = cluster::builtin_catalogue().find_device(name);
  for (const cluster::NodeGroup& group : cluster.groups) {
    const cluster::Device& own = group.node.device;
    if (own.short_name == name || own.name == name ||
        (known && known->short_name == own.short_name))
      return &own;
  }
  return nullptr;
}

std::vector<std::string> check_profiles(std::vector<cost::NamedProfile>& profiles,
                                        const cluster::Cluster& cluster, bool force) {
  Checks checks(cluster, force);
  for (cost::NamedProfile& own : profiles) checks.check(own);
  checks.errors.throw_if_any();
  return checks.notes;
}

void check_library(const CalibrationRequest& calibration, const std::string& library,
                   ErrorList& errors) {
  if (calibration.force_profile) return;
  for (const std::string& path : calibration.profiles) {
    const profile::ProfileFile file{path, spec::read_text_file(path)};
    if (profile::form_of(file) != profile::ProfileForm::kOwn) continue;
    const std::string measured = profile::parse_profile(file.text, path).machine.context.library;
    if (!measured.empty() && measured != library)
      errors.add("profile.other-library",
                 fmt::format("the profile was measured by {}, but the worker runs on {}", measured,
                             library),
                 {path}, kForce);
  }
}

}  // namespace nereus::app
