// `nereus validate --collectives` and `--iterations`: times of collectives and of whole iterations
// against what was measured, or against what ASTRA-sim says.
//
// Three kinds of tables, told apart by their columns:
//   measured collectives (gpu, gpus, bytes, collective, measured_ns): the default model
//     (simulate/nccl_model.hpp) with its four numbers fitted to the table; with `astra_sim` what
//     ASTRA-sim would say of a switch of the same links;
//   ASTRA-sim's collectives: with `astra_sim` its formulas (simulate/compat), without the same
//     networks played by our own simulator (simulate/network);
//   ASTRA-sim's iterations: its list schedule, with `astra_sim` only.
// Rows without an answer are skipped and counted by reason; a table with no row left is an error.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulate/nccl_model.hpp"

namespace nereus::app {

struct ValidateNetworkRequest {
  std::string collectives;  // one of both
  std::string iterations;
  bool astra_sim = false;
};

struct NetworkRow {
  int line = 0;
  std::string what;         // "All-Reduce of 64 MiB, ring on Switch(8)"
  double reference_ns = 0;  // measured, or simulated by somebody else
  double predicted_ns = 0;
};

struct ValidateNetworkAnswer {
  int rows = 0;
  std::vector<NetworkRow> used;
  std::map<std::string, int> skipped;  // reason -> rows
  double mean_abs_error = 0;
  double max_abs_error = 0;
  int exact = 0;  // equal to the nanosecond
  bool measured = false;
  // Where the default model was fitted to measured rows.
  std::optional<simulate::NcclNumbers> fitted;
  std::optional<double> leave_one_size_out_error;
  std::optional<double>
      built_in_mean_abs_error;  // of the numbers the program ships, not fitted here
};

ValidateNetworkAnswer validate_network(const ValidateNetworkRequest& request);

}  // namespace nereus::app
