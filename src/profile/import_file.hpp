// Converts other people's measured layers to a Profile. The form of a file decides its kind:
//
//   Sailor    github.com/eth-easl/sailor: micro-batch -> tp -> layer -> [forward, backward, update]
//             in seconds, in a folder MODEL/DEVICE; or the same under model -> device. Its
//             llm_info.json describes the layers: model -> tp -> layer -> sizes.
//   Cephalo   github.com/benson-guo/cephalo and /zorse: model -> device -> sequence -> precision ->
//             [line forward, line backward, points forward, points backward] in ms of one block;
//             its model_stats.json has the sizes.
//   DeepPool  github.com/DeepPoolML/DeepPool: text, one line per layer and batch of a vision model
//             (profile/deeppool.hpp), in a file DEVICE_MODEL.prof.
//
//   Profile p = import_profiles({{"OPT-350/A100-40/profile.json", text},
//                                {"llm_info.json", sizes}});
//   p.notes;                                          // what was skipped, and why
//
// A number that was not measured (Sailor writes 0, or the few microseconds of an empty call) is
// skipped with a note; an invalid time is an error. Layers with times more than kMostNoise below
// those for fewer samples are skipped with a note.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.hpp"

namespace nereus::profile {

struct ProfileFile {
  std::string name{};  // its path: Sailor's contains model and device
  std::string text{};
};

enum class ProfileForm {
  kNone,
  kOwn,
  kSailor,        // for one device
  kSailorAll,     // for all devices
  kSailorSizes,   // llm_info.json
  kCephalo,       // also Zorse's
  kCephaloSizes,  // model_stats.json
  kDeepPool,
};
// Decided by the content only. Apart from DeepPool's text, a file that is not JSON has no form
// (kNone).
ProfileForm form_of(const ProfileFile& file);

// Throws Errors. Files in our form are joined with the others.
Profile import_profiles(const std::vector<ProfileFile>& files);

}  // namespace nereus::profile
