// A table of runs: whole, and as rows below the header that runs have. Every run that is taken must
// have a prediction, whose parts are all there is to it.
#include <cmath>

#include "calibrate/evaluate_runs.hpp"
#include "calibrate/runs.hpp"
#include "fuzz.hpp"
#include "stack/stack_file.hpp"

namespace nereus::calibrate {
namespace {

constexpr std::string_view kHeader =
    "model,layers,hidden,heads,kv_heads,ffn,vocab,seq,gpu,gpus,tp,pp,dp,cp,ep,vpp,micro_batch,"
    "global_batch,recompute,sequence_parallel,zero,precision,metric,value,mem_gib_reported,stack,"
    "attention,mlp,experts,top_k,expert_ffn,q_lora,kv_lora\n";

void check(const Run& run) {
  NEREUS_CHECK(run.failed || run.step > 0, "a run without a measured time");
  const cost::Prediction p = predict(run, cost::builtin_stacks());
  NEREUS_CHECK(std::isfinite(p.step) && p.step > 0, "a step that takes no time");
  NEREUS_CHECK(std::isfinite(p.memory.total) && p.memory.total > 0, "a rank that holds nothing");
  double sum = 0;
  for (double part : p.parts) {
    NEREUS_CHECK(part >= 0, "a part of a step below zero");
    sum += part;
  }
  NEREUS_CHECK(std::abs(sum - p.step) <= 1e-9 * p.step, "parts that are not the whole");
}

void table(std::string_view text) {
  const spec::Csv csv = spec::parse_csv(text, "fuzz.csv");
  const RunTable runs = parse_runs(csv, "fuzz", cost::builtin_stacks());
  int rows = static_cast<int>(runs.runs.size());
  for (const auto& [why, count] : runs.skipped) rows += count;
  NEREUS_CHECK(rows == runs.rows, "a row neither used nor skipped");
  for (const Run& run : runs.runs) check(run);
}

void rows(std::string_view text) { table(std::string(kHeader) + std::string(text)); }

}  // namespace
}  // namespace nereus::calibrate

NEREUS_FUZZER(runs)(const std::uint8_t* data, std::size_t size) {
  nereus::fuzz(data, size, nereus::calibrate::table);
  return nereus::fuzz(data, size, nereus::calibrate::rows);
}
