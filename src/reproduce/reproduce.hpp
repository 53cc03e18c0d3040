// `nereus reproduce SYSTEM`: compares published claims with our results, computed at each call.
//
//   ReproduceAnswer a = reproduce({.system = "comet"});
//   a.claims[0].ours;
//
// COMET: runs the studies comet-* of data/studies like `nereus explore`; a claim is a ratio of
// their answers. Overrides change the studies, and the claims with them.
// Cephalo: solves the cases of data/cephalo/cases.csv with Cephalo's objective.
// Varuna: replays Oobleck's artifact and public spot traces, and checks the paper's claims.
// DeepPool: compares the plans of its planner with our Pareto front, both from its own profiles.
// Stash: predicts the steps, stalls and costs that the paper reports, and how long collectives take
// that others published.
// Sailor: compares steps that its authors measured on mixed machines with predictions from the
// authors' profiles.
// AMP: compares trials on a cluster of V100s and T4s with predictions from data sheets.
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
  // "expansion.workload.global_batch" for one study, "all.workload.global_batch" for all; for
  // Cephalo a column of its cases, or a constant of its planner.
  std::vector<std::pair<std::string, std::string>> overrides;
  int threads = 0;
  std::function<bool()> stop;
};

enum class ClaimKind { kMeasured, kSimulated, kDerived };
std::string_view to_string(ClaimKind kind);

struct Claim {
  std::string name;
  std::optional<double> published;
  std::optional<double> ours;  // empty if no plan fits
  ClaimKind kind = ClaimKind::kSimulated;
  std::string note;
  std::string inputs;   // the study, and its changes
  std::string command;  // the call that computes this number
  double seconds = 0;
};

struct ReproduceAnswer {
  std::string system;
  std::vector<Claim> claims;
  std::vector<std::string> notes;  // what is assumed, and what is unknown
  bool complete = true;
};

std::vector<std::string> reproducible_systems();

ReproduceAnswer reproduce(const ReproduceRequest& request, const ProgressSink& progress = {});

}  // namespace nereus::app
