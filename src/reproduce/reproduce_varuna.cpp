#include "reproduce/reproduce_varuna.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace nereus::app {

namespace {

constexpr ReproduceField kVarunaFields[] = {
    {"part", "", 0, 0, true},               // replay, spot or paper alone
    {"model", "", 0, 0, true},              // one model alone
    {"trace", "", 0, 0, true},              // one trace alone
    {"detect_s", "2", 0, 1e6},              // ours, from a loss until it is known; not measured yet
    {"bandwidth_gbit_s", "10", 1e-3, 1e6},  // of a machine, over which state moves
    {"notice_s", "30", 0, 1e6},             // on spot traces
    {"stages", "4", 1, 1e4, false, true},   // of the artifact's plans, for ours
    {"state_bytes_per_parameter", "16", 1, 64},
    {"look_ahead_s", "0", 0, 1e6},
    {"global_batch", "8192", 1, 1e6, false, true},  // of the paper's models
    {"machines", "64", 1, 4096, false, true},       // for the paper's claims
    {"jitter", "normal:2ms", 0, 0},                 // of compute, as Varuna's simulator has it
    {"link_jitter", "delay:10ms", 0, 0},
};

}  // namespace

ReproduceAnswer reproduce_varuna(const ReproduceRequest& request) {
  const VarunaSettings settings = read_settings(kVarunaFields, request);
  ErrorList errors;
  settings.require_one_of("part", {"replay", "spot", "paper"}, errors);
  errors.throw_if_any();
  ReproduceAnswer out;
  out.system = "varuna";
  if (settings.wants("part", "paper")) add_paper_claims(settings, request, out);
  if (settings.wants("part", "replay")) add_replay_claims(settings, request, out);
  if (settings.wants("part", "spot")) add_spot_claims(settings, request, out);
  if (out.claims.empty() && out.complete)
    throw_input_error("reproduce.value",
                      fmt::format("nothing is known of model '{}' and trace '{}'",
                                  settings.text.at("model"), settings.text.at("trace")),
                      {}, "nereus reproduce varuna, for all of them");
  out.notes.emplace_back(
      "docs/varuna.md describes the rules and explains differences; our detection time "
      "(all.detect_s) is that of a machine that goes silent, as measured "
      "(docs/elastic-training.md)");
  return out;
}

}  // namespace nereus::app
