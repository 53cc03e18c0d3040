#include "app/predict/profiles.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "app/predict/profile_checks.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "cost/kernel_time.hpp"
#include "cost/measured_network.hpp"
#include "spec/source.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;
using cluster::Precision;
using profile::ProfileFile;
using profile::ProfileForm;

constexpr int kFoldersAbove = 3;

// The file of that name in the folder of `path` or above it.
std::optional<std::string> find_near(const std::string& path, const char* name) {
  fs::path folder = fs::path(path).parent_path();
  for (int i = 0; i <= kFoldersAbove; ++i) {
    std::error_code error;
    const fs::path candidate = (folder.empty() ? fs::path(".") : folder) / name;
    if (fs::is_regular_file(candidate, error)) return candidate.string();
    if (folder.empty()) return std::nullopt;
    folder = folder.parent_path();
  }
  return std::nullopt;
}

}  // namespace

std::vector<ProfileFile> read_profile_files(const std::vector<std::string>& paths) {
  std::vector<ProfileFile> files;
  std::vector<ProfileForm> forms;
  for (const std::string& path : paths) {
    files.push_back({path, spec::read_text_file(path)});
    forms.push_back(profile::form_of(files.back()));
  }
  const auto complete = [&](std::initializer_list<ProfileForm> wanting, ProfileForm sizes,
                            const char* name) {
    if (std::find(forms.begin(), forms.end(), sizes) != forms.end()) return;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (std::find(wanting.begin(), wanting.end(), forms[i]) == wanting.end()) continue;
      if (const std::optional<std::string> near = find_near(paths[i], name)) {
        files.push_back({*near, spec::read_text_file(*near)});
        return;
      }
    }
  };
  complete({ProfileForm::kSailor, ProfileForm::kSailorAll}, ProfileForm::kSailorSizes,
           "llm_info.json");
  complete({ProfileForm::kCephalo}, ProfileForm::kCephaloSizes, "model_stats.json");
  return files;
}

namespace {

std::vector<cost::NamedProfile> read_profiles(const std::vector<std::string>& paths) {
  std::vector<cost::NamedProfile> profiles;
  std::vector<ProfileFile> others;
  for (ProfileFile& file : read_profile_files(paths)) {
    if (profile::form_of(file) == ProfileForm::kOwn)
      profiles.push_back({profile::parse_profile(file.text, file.name), file.name});
    else
      others.push_back(std::move(file));
  }
  if (!others.empty()) {
    const std::string first = others.front().name;
    profiles.push_back({profile::import_profiles(others), first});
  }
  return profiles;
}

// The first profile with collectives of a device counts.
std::shared_ptr<const cost::MeasuredNetworks> networks_of(
    const std::vector<cost::NamedProfile>& profiles, const cluster::Cluster& cluster,
    const std::vector<std::string>& notes) {
  auto networks = std::make_shared<cost::MeasuredNetworks>();
  networks->notes = notes;
  for (const cost::NamedProfile& own : profiles) {
    const cluster::Device* device = device_named(cluster, own.profile.machine.context.device);
    if (!device || networks->of(device->short_name)) continue;
    cost::MeasuredNetwork fitted = cost::fit_network(own.profile.machine, device->short_name);
    if (!fitted.empty()) networks->list.push_back(std::move(fitted));
  }
  return networks;
}

}  // namespace

void use_profiles(const CalibrationRequest& calibration, const model::Model& model,
                  const cluster::Cluster& cluster, cost::Basis& basis) {
  if (calibration.profiles.empty()) return;
  std::vector<cost::NamedProfile> profiles = read_profiles(calibration.profiles);
  const std::vector<std::string> notes =
      check_profiles(profiles, cluster, calibration.force_profile);
  basis.networks = networks_of(profiles, cluster, notes);
  // A machine may have been measured without a model.
  std::erase_if(profiles, [](const cost::NamedProfile& own) { return own.profile.layers.empty(); });
  if (profiles.empty()) return;
  basis.layers =
      std::make_shared<const cost::MeasuredLayers>(cost::match_layers(profiles, model, cluster));
}

std::optional<Precision> measured_precision(const cost::Basis& basis) {
  std::optional<Precision> found;
  if (!basis.layers) return found;
  std::ptrdiff_t most = 0;
  for (const Precision precision :
       {Precision::kBf16, Precision::kFp16, Precision::kFp32, Precision::kFp64, Precision::kFp8,
        Precision::kMxfp8, Precision::kNvfp4, Precision::kInt8}) {  // tf32 is what fp32 serves
    const auto& devices = basis.layers->devices;
    const std::ptrdiff_t count =
        std::count_if(devices.begin(), devices.end(),
                      [&](const cost::MeasuredDevice& own) { return own.precision == precision; });
    if (count > most) found = precision;
    most = std::max(most, count);
  }
  return found;
}

void check_precision(const cost::Basis& basis, Precision precision) {
  if (!basis.layers) return;
  std::vector<std::string> known;
  for (const cost::MeasuredDevice& own : basis.layers->devices) {
    if (own.precision == precision) return;
    const std::string name(to_string(own.precision));
    if (own.precision == Precision::kTf32 &&
        std::find(known.begin(), known.end(), "fp32") != known.end())
      continue;  // what fp32 serves
    if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  }
  throw_input_error("profile.no-precision",
                    fmt::format("the plan computes in {}, but the profiles were measured in {}",
                                to_string(precision), fmt::join(known, ", ")),
                    {}, fmt::format("--precision {}", known.front()));
}

std::string_view to_string(LayerSource::Kind kind) {
  switch (kind) {
    case LayerSource::Kind::kMeasured:
      return "measured";
    case LayerSource::Kind::kExtrapolated:
      return "extrapolated";
    case LayerSource::Kind::kModelled:
      break;
  }
  return "modelled";
}

namespace {

class Sources {
 public:
  explicit Sources(const ResolvedPlan& plan) : plan_(plan), measured_(*plan.basis.layers) {
    for (const cluster::NodeGroup& group : plan.cluster.groups)
      for (int i = 0; i < group.num_devices(); ++i) device_of_.push_back(&group.node.device);
  }

  std::vector<LayerSource> list() {
    if (plan_.degrees)
      of_degrees(*plan_.degrees);
    else
      of_placement(plan_.placement);
    return std::move(list_);
  }

 private:
  void of_degrees(const plan::Degrees& d) {
    cost::LayerSplit split;
    split.tp = d.tp;
    split.cp = d.cp;
    split.ep = d.ep;
    split.expert_tp = d.expert_tp;
    split.samples = d.micro_batch;
    if (plan_.basis.stack.options.local_batch_split && d.pp > 1) split.samples /= d.pp;
    for (const cluster::NodeGroup& group : plan_.cluster.groups)
      for (std::size_t k = 0; k < plan_.model.kinds.size(); ++k)
        add(k, group.node.device, d.precision, split);
  }

  void of_placement(const plan::Placement& placement) {
    for (const plan::LayerRun& run : placement.runs)
      for (const plan::Replicas& r : run.replicas) {
        cost::LayerSplit split;
        split.tp = r.tp;
        split.cp = r.cp;
        split.ep = run.ep;
        split.expert_tp = run.expert_tp;
        const cluster::Device* last = nullptr;
        for (int team = 0; team < r.count; ++team) {
          const cluster::Device* device = device_of_[r.first + team * r.team_stride];
          if (device == last) continue;
          last = device;
          for (const int samples : {r.micro_batch, r.last_micro_batch})
            if (samples > 0) of_run(run, placement, *device, split, samples);
        }
      }
  }

  void of_run(const plan::LayerRun& run, const plan::Placement& placement,
              const cluster::Device& device, cost::LayerSplit split, int samples) {
    split.samples = samples;
    int last = -1;
    for (int i = run.first_layer; i < run.first_layer + run.num_layers; ++i) {
      const int kind = plan_.model.layers[i];
      if (kind != last) add(static_cast<std::size_t>(kind), device, placement.precision, split);
      last = kind;
    }
  }

  void add(std::size_t kind, const cluster::Device& device, Precision precision,
           const cost::LayerSplit& split) {
    LayerSource source;
    source.layer = plan_.model.kinds[kind].name;
    source.device = device.short_name;
    source.tp = split.tp;
    source.samples = split.samples;
    const cost::MeasuredDevice* own = measured_.of(device.short_name, precision);
    const cost::MeasuredKind* known = own ? own->find(kind, split) : nullptr;
    if (known) {
      source.low = known->forward.samples.front();
      source.high = known->forward.samples.back();
      const bool inside = !known->fitted && known->forward.is_measured(split.samples);
      source.kind = inside ? LayerSource::Kind::kMeasured : LayerSource::Kind::kExtrapolated;
      if (known->fitted)
        source.why = "a fitted line without its measured points";
      else if (!inside)
        source.why = fmt::format("{}; {:g} to {:g} were measured",
                                 counted(fmt::format("{:g}", split.samples), "sample"), source.low,
                                 source.high);
      if (known->backward.empty())
        source.why += fmt::format("{}backward was not measured and is modelled",
                                  source.why.empty() ? "" : "; ");
    } else {
      source.why = why_not(own, kind, split);
      if (const cost::MeasuredKind* other = own ? own->least(kind) : nullptr) {
        source.kind = LayerSource::Kind::kExtrapolated;
        source.why += fmt::format("; modelled time, scaled by measured over modelled time at tp {}",
                                  other->tp);
      }
    }
    if (std::find(list_.begin(), list_.end(), source) == list_.end()) list_.push_back(source);
  }

  static std::string why_not(const cost::MeasuredDevice* own, std::size_t kind,
                             const cost::LayerSplit& split) {
    if (!own) return "no profile covers this device at this precision";
    if (own->kinds[kind].empty()) return "no profile covers this layer on this device";
    if (split.cp > 1) return "context parallelism was not measured";
    std::vector<int> degrees;
    for (const cost::MeasuredKind& k : own->kinds[kind]) degrees.push_back(k.tp);
    std::sort(degrees.begin(), degrees.end());
    return fmt::format("tp {} was not measured, only {}", split.tp, fmt::join(degrees, ", "));
  }

  const ResolvedPlan& plan_;
  const cost::MeasuredLayers& measured_;
  std::vector<const cluster::Device*> device_of_;
  std::vector<LayerSource> list_;
};

}  // namespace

std::vector<LayerSource> layer_sources(const ResolvedPlan& plan) {
  if (!plan.basis.layers) return {};
  return Sources(plan).list();
}

}  // namespace nereus::app
