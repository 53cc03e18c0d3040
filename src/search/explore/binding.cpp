#include "search/explore/binding.hpp"

#include <algorithm>

namespace nereus::explore {

using cost::Part;

std::string_view to_string(Resource resource) {
  switch (resource) {
    case Resource::kCompute:
      return "compute";
    case Resource::kMemoryBandwidth:
      return "memory bandwidth";
    case Resource::kInsideLinks:
      return "inside links";
    case Resource::kNetwork:
      return "network";
    case Resource::kFarMemory:
      return "far memory";
    case Resource::kBubble:
      return "bubble";
    case Resource::kHost:
      return "host";
    case Resource::kMemoryCapacity:
      return "memory capacity";
  }
  return "";
}

ResourceSeconds resource_seconds(const cost::Prediction& p, const plan::Degrees& d,
                                 const cost::Roofline& roofline, int domain, double beyond) {
  ResourceSeconds out{};
  const auto add = [&](Resource resource, double seconds) {
    out[static_cast<std::size_t>(resource)] += seconds;
  };
  const double kernels = p.part(Part::kCompute) + p.part(Part::kRecompute);
  add(Resource::kCompute, kernels * (1 - roofline.memory_bound));
  add(Resource::kMemoryBandwidth, kernels * roofline.memory_bound + p.part(Part::kOptimizer));
  const auto spans = [&](int ranks) {
    return ranks > domain ? Resource::kNetwork : Resource::kInsideLinks;
  };
  add(spans(d.tp), p.part(Part::kTensorComm));
  add(spans(d.tp * d.cp), p.part(Part::kContextComm));
  add(spans(d.ep * d.expert_tp), p.part(Part::kExpertComm));
  add(spans(d.num_ranks()), p.part(Part::kPipelineComm));
  add(spans(d.tp * d.cp * d.dp), p.part(Part::kDataComm));
  add(Resource::kFarMemory, p.part(Part::kOffload));
  add(Resource::kBubble, p.part(Part::kBubble));
  add(Resource::kHost, p.part(Part::kLaunch) + p.part(Part::kFixed) + p.part(Part::kInput));
  if (beyond > 0) add(Resource::kMemoryCapacity, std::max(0.0, p.step - beyond));
  return out;
}

Resource binding(const ResourceSeconds& seconds) {
  return static_cast<Resource>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
}

}  // namespace nereus::explore
