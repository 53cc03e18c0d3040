// `nereus reproduce SYSTEM`: published claims beside ours, computed at each call.
//
//   ReproduceAnswer a = reproduce({.system = "comet"});
//   a.claims[0].ours;
//
// COMET: the studies comet-* of data/studies are run as `nereus explore` runs them; a claim is a
// ratio of their answers. Overrides change the studies, and the claims with them.
// Cephalo: the cases of data/cephalo/cases.csv are solved under its own objective.
// Varuna: the replay of Oobleck's artifact, public spot traces, the paper's own claims.
// DeepPool: its planner's rule beside our front on its released profiles.
// Stash: its steps, stalls and costs by prediction on its machines; published collectives.
// Sailor: steps its authors measured on mixed machines, beside predictions from their profiles.
// AMP: trials on V100s and T4s together, beside predictions from data sheets.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/progress.hpp"

namespace nereus::app {

struct ReproduceRequest {
  std::string system;
  // "expansion.workload.global_batch" of one study, "all.workload.global_batch" of all; of a case
  // its columns and the constants of Cephalo's planner.
  std::vector<std::pair<std::string, std::string>> overrides;
  int threads = 0;
  std::function<bool()> stop;
};

enum class ClaimKind { kMeasured, kSimulated, kDerived };
std::string_view to_string(ClaimKind kind);

struct Claim {
  std::string name;
  std::optional<double> published;
  std::optional<double> ours;  // nothing where no plan fits
  ClaimKind kind = ClaimKind::kSimulated;
  std::string note;
  std::string inputs;   // the study, and what was changed in it
  std::string command;  // the call that gives this number
  double seconds = 0;
};

struct ReproduceAnswer {
  std::string system;
  std::vector<Claim> claims;
  std::vector<std::string> notes;  // what is assumed, and what is not known
  bool complete = true;
};

std::vector<std::string> reproducible_systems();

ReproduceAnswer reproduce(const ReproduceRequest& request, const ProgressSink& progress = {});

}  // namespace nereus::app
