// `nereus validate --collectives` and `--iterations`: compares times of collectives and of whole
// iterations with measurements, or with results of ASTRA-sim.
//
// There are three kinds of tables, distinguished by their columns:
//   measured collectives (gpu, gpus, bytes, collective, measured_ns): the default model
//     (simulate/nccl_model.hpp) with its four numbers fitted to the table; with `astra_sim`,
//     ASTRA-sim's prediction for a switch with the same links;
//   ASTRA-sim's collectives: with `astra_sim` its formulas (simulate/compat), otherwise the same
//     networks in our simulator (simulate/network);
//   ASTRA-sim's iterations: its list schedule, only with `astra_sim`.
// Rows without an answer are skipped and counted by reason; a table without any answer is an error.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulate/nccl_model.hpp"

namespace nereus::app {

struct ValidateNetworkRequest {
  std::string collectives;  // this or `iterations` is given
  std::string iterations;
  bool astra_sim = false;
};

struct NetworkRow {
  int line = 0;
  std::string what;         // "All-Reduce of 64 MiB, ring on Switch(8)"
  double reference_ns = 0;  // measured, or from another simulator
  double predicted_ns = 0;
};

struct ValidateNetworkAnswer {
  int rows = 0;
  std::vector<NetworkRow> used;
  std::map<std::string, int> skipped;  // reason -> rows
  double mean_abs_error = 0;
  double max_abs_error = 0;
  int exact = 0;  // number of rows that are equal to the nanosecond
  bool measured = false;
  // If the default model was fitted to measured rows.
  std::optional<simulate::NcclNumbers> fitted;
  std::optional<double> leave_one_size_out_error;
  std::optional<double> built_in_mean_abs_error;  // of the built-in numbers, without the fit
};

ValidateNetworkAnswer validate_network(const ValidateNetworkRequest& request);

}  // namespace nereus::app
