#include <fmt/format.h>

#include <cstdint>

#include "cluster/write_cluster.hpp"
#include "model/model_io.hpp"
#include "search/explore/database.hpp"
#include "stack/parameters.hpp"

namespace nereus::explore {

namespace {

// FNV-1a with 64 bits.
std::uint64_t fnv(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace

std::string identity_of(const Study& study, const std::string& commit) {
  std::string all = commit + study.text;
  for (const Variant& variant : study.variants)
    all += variant.unbuildable.empty() ? spec::to_json(model::model_to_value(variant.model))
                                       : variant.unbuildable;
  for (const StudyMachine& machine : study.machines) {
    all += cluster::cluster_to_json(machine.cluster);
    for (const auto& [number, basis] : machine.bases) {
      const cost::StackOptions& o = basis.stack.options;
      all += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}", basis.stack.name, number,
                         static_cast<int>(o.attention), static_cast<int>(o.stages),
                         static_cast<int>(o.selective), static_cast<int>(o.zero2), o.weight_bytes,
                         o.gradient_bytes, o.optimizer_bytes, o.reduce_bytes, o.gather_bytes,
                         o.regather_backward, o.host_update, o.local_batch_split);
      const cost::Parameters p =
          basis.stack.parameters_for(machine.cluster.groups.front().node.device);
      for (const cost::ParameterInfo& own : cost::parameter_table())
        all += fmt::format(" {}", p.*own.member);
    }
  }
  // Two halves of one fingerprint: the second starts elsewhere.
  return fmt::format("{:016x}{:016x}", fnv(all, 0xCBF29CE484222325u),
                     fnv(all, 0x9E3779B97F4A7C15u));
}

}  // namespace nereus::explore
