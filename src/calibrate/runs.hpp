// Measured training runs, as rows of a CSV (columns as in data/published/runs.csv).
//
// The measured value of a row is converted to the time of one step, according to its `metric`:
//   iteration_s            the value
//   samples_per_s          global_batch / value
//   tokens_per_s_per_gpu   seq x global_batch / (value x gpus)
//   tflops_per_gpu         FLOPs / (value x gpus); or the source's step time if the table has it
//   mfu                    model FLOPs / (value % x peak x gpus)
//   hfu                    FLOPs with recompute / (value % x peak x gpus)
// Throughput in TFLOP/s counts recomputed FLOPs if the run recomputes everything (Narayanan 2021,
// eq. 3).
//
// A blank field has the documented default of its stack. A row without layers is a run of the
// catalog model that `model` names: CNNs, BERT and DLRM have no other columns of sizes. Its blank
// tp, pp and dp mean data parallelism alone, where that fits.
//
// What else a row leaves blank is filled in, and named in `derived`: gpu and gpus (nodes x node)
// from the node; seq from the catalog's model; recompute, where the software is not known, and of a
// throughput (samples_per_s, tokens_per_s_per_gpu) tp, pp, micro_batch and global_batch by
// calibrate/derive_plan.hpp: a throughput is published of the plan that serves a job best, while a
// step's time, TFLOP/s or MFU are of one plan. A row that lacks data all the same is skipped, and
// the reason is counted.
//
// The machine is the catalog's with the row's device, or `node`. `network` ("100 Gbit/s", of one
// node) replaces its network, and `slices` says in how many parts of equal size a pod of TPUs is
// cut, which are joined by that network; more chips than a pod has are several slices anyway. Where
// state is sharded (zero 3) on slices, each slice has a copy, as MaxText's meshes have by default
// (dcn_data_parallelism, ici_fsdp_parallelism in its base.yml).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"
#include "spec/csv.hpp"
#include "stack/stack.hpp"

namespace nereus::calibrate {

struct Run {
  std::string file;
  int line = 0;
  std::string set;
  std::string model_name;
  std::shared_ptr<const model::Model> model;  // shared by rows with the same shape
  cluster::Cluster cluster;
  plan::Degrees degrees;
  std::string stack;  // name in the library
  std::string site;   // empty if unknown
  plan::Attention attention = plan::Attention::kFlash;
  double step = 0;                   // seconds, measured; 0 if the run failed
  double memory = 0;                 // bytes, reported; 0 if not
  std::string suspect;               // why the row is doubtful; empty if it is not
  std::vector<std::string> derived;  // columns that the row leaves blank and that were filled in
  bool failed = false;
  bool recompute_stated = true;
  std::string ranking_group;  // equal for comparable runs: of the same software, among others
  // Whether the row leaves its plan, batch or precision open. Its prediction is then of a plan that
  // was perhaps not run: its error counts apart, and nothing is fitted to it.
  bool plan_assumed() const;
  std::string suite;  // what is held out together in cross-validation: set and model
};

struct RunTable {
  int rows = 0;
  std::vector<Run> runs;               // the usable ones
  std::map<std::string, int> skipped;  // reason -> rows
  std::map<std::string, int> derived;  // column -> usable rows that it was filled in for
};

// Reads one file. Throws Errors for a file that is not such a table (missing columns, no rows).
// Unknown stacks are replaced by `fallback_stack`.
RunTable read_runs(const std::string& path, const cost::StackLibrary& library,
                   const std::string& fallback_stack = "generic");
RunTable parse_runs(const spec::Csv& csv, const std::string& default_set,
                    const cost::StackLibrary& library,
                    const std::string& fallback_stack = "generic");
void append(RunTable& into, RunTable&& more);
// "3 heads not stated, 1 unknown device X": why rows were skipped; "no rows" for an empty table.
std::string reasons(const RunTable& table);

}  // namespace nereus::calibrate
