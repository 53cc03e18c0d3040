// Measured times of a model's layers on devices: what `nereus import` makes from other people's
// files, and what `--profile` reads. It is one JSON file:
//
//   {"schema_version": 1, "origin": {"source": "...", "date": "..."}, "notes": [],
//    "layers": [{"model": "OPT-350", "role": "block", "hidden": 1024, "seq": 2048,
//                "parameters": 12596224, "device": "A100-40", "precision": "fp32", "tp": 2,
//                "includes_collectives": true, "includes_launches": true,
//                "samples": [1, 2, 4], "forward_s": [..], "backward_s": [..], "update_s": 0.0015,
//                "memory_bytes": 360726528}]}
//
// Seconds and bytes are those of one rank in a tensor group of `tp`. If seq is unknown, `elements`
// (seq x hidden) identifies what was measured; for a layer of a vision model, whose type is in
// `layer`, `elements` is the number of its input elements per sample. `nereus measure` adds its
// other measurements of the machine (profile/machine_profile.hpp); `layers` may then be empty.
//
//   Profile p = parse_profile(text, "a100.json");          // or one of profile/import_file.hpp
//   TimeCurve forward = curve_of(p.layers[0].samples, p.layers[0].forward).curve;
//   forward.at(3);                                          // seconds for three samples
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/machine_profile.hpp"

namespace nereus::profile {

inline constexpr int kProfileSchemaVersion = 1;

enum class Role { kEmbedding, kBlock, kHead, kOther };
std::string_view to_string(Role role);

// The source of the numbers; unknown values are empty.
struct Origin {
  std::string source{};  // repository and commit, paper, or the machine
  std::string licence{};
  std::string date{};
  std::string library{};
  std::string driver{};
  bool operator==(const Origin&) const = default;
};

// One layer, or the median of equal ones in the model.
struct MeasuredLayer {
  std::string model{};  // name in its source
  Role role = Role::kBlock;
  std::string layer{};    // for a vision model: its type in its source
  int hidden = 0;         // 0: unknown, as below; but seq or elements must be known
  int seq = 0;            // tokens per sample
  double elements = 0;    // activations per sample between layers: seq x hidden
  double parameters = 0;  // of the whole layer
  std::string device{};
  std::string precision{};  // of activations: a model in fp32 that computes in tf32 is fp32
  int tp = 1;
  bool includes_collectives = false;  // those of the tensor group
  bool includes_launches = false;     // wall-clock time; else only kernels
  bool includes_rest = false;         // layers and updates make up a whole step
  bool fitted = false;                // two points of a line whose measured points were not kept
  std::vector<double> samples{};      // ascending
  std::vector<double> forward{};      // for that many samples
  std::vector<double> backward{};     // empty: not measured
  // Quantiles of 10 and 90 % of the repeats; empty: unknown
  std::vector<double> forward_low{}, forward_high{}, backward_low{}, backward_high{};
  int processes = 0;  // number that measured it; 0: unknown
  // Half widths of the 95 % intervals over the processes (profile/statistics.hpp); empty: unknown
  std::vector<double> forward_half_width{}, backward_half_width{};
  double update = 0;  // seconds of the optimizer; 0: not measured
  double memory = 0;  // bytes kept for backward per sample; 0: not measured
  bool operator==(const MeasuredLayer&) const = default;
};

struct Profile {
  Origin origin{};
  std::vector<std::string> notes{};  // what its importer skipped or repaired
  std::vector<MeasuredLayer> layers{};
  Machine machine{};
  bool operator==(const Profile&) const = default;
};

// Throws Errors that list everything wrong: a time that is not above 0 or over an hour, memory of
// 0, lists of unequal length, samples out of order, duplicate layers or machine numbers, quantiles
// out of order.
Profile parse_profile(std::string_view text, const std::string& file);
std::string profile_to_json(const Profile& profile);
// Checks layers that an importer made, and throws all their errors.
void check_profile(const Profile& profile, const std::string& file);

// Seconds by number of samples, linear between points. Beyond the last point it follows the line
// through the last two, but is never faster per sample than the last point, so that no plan
// benefits from sizes that were not measured. Before the first point it follows the line through
// the first two, but is at least proportional to the samples and at most as long as the first
// point. With one point it is proportional to the samples. It never decreases.
struct TimeCurve {
  std::vector<double> samples{};
  std::vector<double> seconds{};
  bool empty() const { return samples.empty(); }
  bool is_measured(double s) const {
    return !empty() && s >= samples.front() && s <= samples.back();
  }
  double at(double s) const;
  bool operator==(const TimeCurve&) const = default;
};

// More samples never take less time: adjacent points that decrease are replaced by their mean,
// repeatedly. This gives the nearest curve that never decreases (least squares; Ayer et al. 1955).
// A decrease counts as noise if no point changes by more than the factor kMostNoise.
inline constexpr double kMostNoise = 1.5;
struct RepairedCurve {
  TimeCurve curve{};
  int moved = 0;
  double most = 1;  // the largest ratio between a point and its measured value, in either direction
};
RepairedCurve curve_of(const std::vector<double>& samples, const std::vector<double>& seconds);

// If launches take longer than kernels, a few samples take as long as many, and noise can make the
// measured times fall as samples grow. Where they fall by more than noise explains, the repaired
// curve replaces them, with a note.
void mend_falling(MeasuredLayer& layer, std::vector<std::string>& notes);

}  // namespace nereus::profile
