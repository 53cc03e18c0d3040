#include "reproduce/reproduce.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "reproduce/reproduce_amp.hpp"
#include "reproduce/reproduce_cephalo.hpp"
#include "reproduce/reproduce_comet.hpp"
#include "reproduce/reproduce_deeppool.hpp"
#include "reproduce/reproduce_sailor.hpp"
#include "reproduce/reproduce_stash.hpp"
#include "reproduce/reproduce_varuna.hpp"

namespace nereus::app {

std::string_view to_string(ClaimKind kind) {
  switch (kind) {
    case ClaimKind::kMeasured:
      return "measured";
    case ClaimKind::kSimulated:
      return "simulated";
    case ClaimKind::kDerived:
      return "derived";
  }
  return "";
}

std::vector<std::string> reproducible_systems() {
  return {"comet", "cephalo", "varuna", "deeppool", "stash", "sailor", "amp"};
}

ReproduceAnswer reproduce(const ReproduceRequest& request, const ProgressSink& progress) {
  if (request.system == "comet") return reproduce_comet(request, progress);
  if (request.system == "cephalo") return reproduce_cephalo(request);
  if (request.system == "varuna") return reproduce_varuna(request);
  if (request.system == "deeppool") return reproduce_deeppool(request);
  if (request.system == "stash") return reproduce_stash(request);
  if (request.system == "sailor") return reproduce_sailor(request);
  if (request.system == "amp") return reproduce_amp(request);
  throw_input_error("reproduce.unknown",
                    fmt::format("'{}' is not a system that can be reproduced", request.system), {},
                    fmt::format("one of {}", fmt::join(reproducible_systems(), ", ")));
}

}  // namespace nereus::app
