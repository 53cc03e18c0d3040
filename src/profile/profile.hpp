// Times of a model's layers that were measured on devices, whoever measured them: what `nereus
// import` makes of other people's files, and what `--profile` reads. One JSON file:
//
//   {"schema_version": 1, "origin": {"source": "...", "date": "..."}, "notes": [],
//    "layers": [{"model": "OPT-350", "role": "block", "hidden": 1024, "seq": 2048,
//                "parameters": 12596224, "device": "A100-40", "precision": "fp32", "tp": 2,
//                "includes_collectives": true, "includes_launches": true,
//                "samples": [1, 2, 4], "forward_s": [..], "backward_s": [..], "update_s": 0.0015,
//                "memory_bytes": 360726528}]}
//
// Seconds and bytes are those of one rank of a tensor group of `tp`. Where seq is not known,
// `elements` (seq x hidden) tells what was measured; of a layer of a vision model, which `layer`
// names, it is what the layer reads. `nereus measure` writes what else it found of the machine
// beside them (profile/machine_profile.hpp); of such a file `layers` may be empty.
//
//   Profile p = parse_profile(text, "a100.json");          // or one of profile/import_file.hpp
//   TimeCurve forward = curve_of(p.layers[0].samples, p.layers[0].forward).curve;
//   forward.at(3);                                          // seconds of three samples
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/machine_profile.hpp"

namespace nereus::profile {

inline constexpr int kProfileSchemaVersion = 1;

enum class Role { kEmbedding, kBlock, kHead, kOther };
std::string_view to_string(Role role);

// Where the numbers are from; what nobody said is empty.
struct Origin {
  std::string source{};  // repository and commit, paper, or the machine
  std::string licence{};
  std::string date{};
  std::string library{};
  std::string driver{};
  bool operator==(const Origin&) const = default;
};

// One layer, or as many equal ones as the model has: their median.
struct MeasuredLayer {
  std::string model{};  // as its source calls it
  Role role = Role::kBlock;
  std::string layer{};    // of a vision model: its type as its source calls it
  int hidden = 0;         // 0: not known, as below; but of seq and elements one is
  int seq = 0;            // tokens of a sample
  double elements = 0;    // of a sample's activations between layers: seq x hidden
  double parameters = 0;  // of the whole layer
  std::string device{};
  std::string precision{};  // of activations: what a model in fp32 computes by tf32 is fp32
  int tp = 1;
  bool includes_collectives = false;  // of the tensor group
  bool includes_launches = false;     // a wall clock, or kernels alone
  bool includes_rest = false;         // layers and updates make up a whole step
  bool fitted = false;                // two points of a line whose measured points nobody kept
  std::vector<double> samples{};      // ascending
  std::vector<double> forward{};      // seconds of as many samples
  std::vector<double> backward{};     // empty: not measured
  // Quantiles of 10 and 90 % of the repeats; empty: not known
  std::vector<double> forward_low{}, forward_high{}, backward_low{}, backward_high{};
  int processes = 0;  // that measured it; 0: not known
  // Of the intervals of 95 % over them (profile/statistics.hpp); empty: not known
  std::vector<double> forward_half_width{}, backward_half_width{};
  double update = 0;  // seconds of the optimizer; 0: not measured
  double memory = 0;  // bytes kept for backward of one sample; 0: not measured
  bool operator==(const MeasuredLayer&) const = default;
};

struct Profile {
  Origin origin{};
  std::vector<std::string> notes{};  // what its importer left out or repaired
  std::vector<MeasuredLayer> layers{};
  Machine machine{};
  bool operator==(const Profile&) const = default;
};

// Throws Errors with every fault: a time that is not above 0 or over an hour, memory of 0, lists of
// unequal length, samples out of order, the same layer or number of the machine twice, quantiles
// out of order.
Profile parse_profile(std::string_view text, const std::string& file);
std::string profile_to_json(const Profile& profile);
// Every fault of layers that no file holds, as an importer made them.
void check_profile(const Profile& profile, const std::string& file);

// Seconds by samples: straight between points. Beyond the last the line through the last two, but
// no quicker a sample than the last, so that no plan gains by what nobody measured; before the
// first the line through the first two, but no less than in proportion and no more than the first.
// One point: in proportion to samples. Never falls.
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

// More samples never take less: neighbours that say otherwise are replaced by their mean, as often
// as need be, which is the nearest curve that never falls (least squares; Ayer et al. 1955). That
// is noise as long as no point moves by more than kMostNoise.
inline constexpr double kMostNoise = 1.5;
struct RepairedCurve {
  TimeCurve curve{};
  int moved = 0;
  double most = 1;  // the largest ratio of a point to what was measured, or of that to it
};
RepairedCurve curve_of(const std::vector<double>& samples, const std::vector<double>& seconds);

// Where launches take longer than kernels, few samples take as long as many, and noise does the
// rest: a measured layer that falls by more than noise may is put right, and a note says so.
void mend_falling(MeasuredLayer& layer, std::vector<std::string>& notes);

}  // namespace nereus::profile
