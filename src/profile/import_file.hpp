// Other people's measured layers as a Profile. Files are told by their form:
//
//   Sailor    github.com/eth-easl/sailor: micro-batch -> tp -> layer -> [forward, backward, update]
//             in seconds, in a folder MODEL/DEVICE; or the same under model -> device. What the
//             layers are is in its llm_info.json: model -> tp -> layer -> sizes.
//   Cephalo   github.com/benson-guo/cephalo and /zorse: model -> device -> sequence -> precision ->
//             [line forward, line backward, points forward, points backward] in ms of one block;
//             its model_stats.json has the sizes.
//   DeepPool  github.com/DeepPoolML/DeepPool: text, a line for each layer and batch of a vision
//             model (profile/deeppool.hpp), in a file DEVICE_MODEL.prof.
//
//   Profile p = import_profiles({{"OPT-350/A100-40/profile.json", text},
//                                {"llm_info.json", sizes}});
//   p.notes;                                          // what was left out, and why
//
// A number that was not measured (Sailor writes 0, or the few microseconds of an empty call) is
// left out and noted; one that is no time at all is an error. Layers that lie more than kMostNoise
// below those of fewer samples are left out and noted.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.hpp"

namespace nereus::profile {

struct ProfileFile {
  std::string name{};  // its path: Sailor's says model and device
  std::string text{};
};

enum class ProfileForm {
  kNone,
  kOwn,
  kSailor,        // of one device
  kSailorAll,     // of all
  kSailorSizes,   // llm_info.json
  kCephalo,       // and Zorse's
  kCephaloSizes,  // model_stats.json
  kDeepPool,
};
// By its form alone; what is no JSON has none.
ProfileForm form_of(const ProfileFile& file);

// Throws Errors. Files of our own form are joined with the others.
Profile import_profiles(const std::vector<ProfileFile>& files);

}  // namespace nereus::profile
