#include "calibrate/runs.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "base/units.hpp"
#include "cluster/catalogue.hpp"
#include "stack/stack_file.hpp"
#include "tests/source_dir.hpp"

namespace nereus::calibrate::runs_test {
namespace {

using cluster::Precision;
using plan::Attention;
using plan::Recompute;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

cost::StackLibrary test_library() {
  cost::StackLibrary library;
  cost::overlay_stacks(library, R"(
[stack.generic]
[stack.generic.defaults]
vocab = 1000
[stack.tuned]
inherits = "generic"
attention = "unfused"
[stack.tuned.defaults]
vocab = 2000
interleave = 2
zero = 1
recompute = "full"
sequence_parallel = false
tied_embeddings = false
bias = false
[stack.tuned.variants]
compile = "tuned-compile"
[stack.tuned-compile]
inherits = "tuned"
[stack.dated]
inherits = "generic"
[stack.dated.releases]
"20" = "dated-old"
"25.01" = "dated"
"26.06" = "dated-new"
[stack.dated-old]
inherits = "dated"
[stack.dated-old.defaults]
expert_tensor = true
[stack.dated-new]
inherits = "dated"
[stack.dated-new.defaults]
tensor_overlap = true
[stack.dated-new.variants]
"cuda_graphs=no" = "dated"
[site.lab]
sets = ["ours"]
network = "33 GB/s"
)",
                       "test.toml");
  return library;
}

using Cells = std::map<std::string, std::string>;

// Eight samples on each of four replicas of 2 x 2 A100s.
Cells base_row() {
  return {{"model", "m"},   {"layers", "4"},       {"hidden", "1024"},       {"heads", "16"},
          {"seq", "2048"},  {"gpu", "A100-80GB"},  {"gpus", "16"},           {"tp", "2"},
          {"pp", "2"},      {"dp", "4"},           {"micro_batch", "2"},     {"global_batch", "32"},
          {"value", "1.5"}, {"precision", "bf16"}, {"metric", "iteration_s"}};
}

std::string csv_of(const std::vector<Cells>& rows) {
  std::set<std::string> columns;
  for (const Cells& row : rows)
    for (const auto& [column, cell] : row) columns.insert(column);
  std::string text;
  for (const std::string& column : columns) text += (text.empty() ? "" : ",") + column;
  for (const Cells& row : rows) {
    std::string line;
    for (const std::string& column : columns) {
      const auto at = row.find(column);
      line += (line.empty() ? "\n" : ",") + (at == row.end() ? "" : at->second);
    }
    text += line;
  }
  return text + "\n";
}

RunTable parse(const std::vector<Cells>& rows) {
  return parse_runs(spec::parse_csv(csv_of(rows), "test.csv"), "test", test_library());
}

// The base row with these cells changed; an empty cell is a blank one.
Cells with(const Cells& changes) {
  Cells row = base_row();
  for (const auto& [column, cell] : changes) row[column] = cell;
  return row;
}

Run run_of(const Cells& changes) {
  RunTable table = parse({with(changes)});
  if (table.runs.size() != 1) {
    for (const auto& [why, count] : table.skipped) ADD_FAILURE() << "skipped: " << why;
    return {};
  }
  return table.runs[0];
}

std::string skipped_for(const Cells& changes) {
  const RunTable table = parse({with(changes)});
  EXPECT_EQ(table.rows, 1);
  if (table.skipped.size() != 1 || !table.runs.empty()) return "used";
  EXPECT_EQ(table.skipped.begin()->second, 1);
  return table.skipped.begin()->first;
}

// Of the base row: forward and backward of 32 samples, head of 1000 words included.
double model_flops() {
  const double l = 4, h = 1024, s = 2048, v = 1000;
  return 32 * s * (6 * (l * 12 * h * h + v * h) + 12 * l * h * s);
}

// --- stacks by release ------------------------------------------------------------------------

TEST(RunsStack, IsThatOfTheRelease) {
  const auto stack = [](const char* date, const char* graphs) {
    return run_of({{"stack", "dated"}, {"software_date", date}, {"cuda_graphs", graphs}}).stack;
  };
  EXPECT_EQ(stack("24.12", ""), "dated-old");
  EXPECT_EQ(stack("2024-03", ""), "dated-old");
  EXPECT_EQ(stack("25.01", ""), "dated");
  EXPECT_EQ(stack("2025-02", ""), "dated");
  EXPECT_EQ(stack("26.04.01", "no"), "dated");
  EXPECT_EQ(stack("26.06.01", ""), "dated-new");
  EXPECT_EQ(stack("26.08", "yes"), "dated-new");
  EXPECT_EQ(stack("26.08", "no"), "dated");
  EXPECT_EQ(stack("", ""), "dated") << "no date: the name as it stands";
}

TEST(RunsStack, SaysHowExpertsAreCutAndWhatOverlaps) {
  const Cells experts = {{"stack", "dated"}, {"experts", "4"}, {"top_k", "1"}, {"ep", "2"}};
  Cells old = experts;
  old["software_date"] = "24.12";
  EXPECT_EQ(run_of(old).degrees.expert_tp, 2) << "as tp";
  EXPECT_EQ(run_of(experts).degrees.expert_tp, 1);
  EXPECT_FALSE(run_of(experts).degrees.tensor_overlap);
  Cells fresh = experts;
  fresh["software_date"] = "26.06";
  EXPECT_TRUE(run_of(fresh).degrees.tensor_overlap);
  fresh["tp_overlap"] = "no";
  EXPECT_FALSE(run_of(fresh).degrees.tensor_overlap);
}

// --- measured step
// -----------------------------------------------------------------------------------

TEST(RunsMetric, IterationTimeIsTheStep) { EXPECT_EQ(run_of({}).step, 1.5); }

TEST(RunsMetric, TokensPerSecondPerDevice) {
  // 32 samples of 2048 tokens; 16 devices at 100 tokens a second each.
  const auto run = run_of({{"metric", "tokens_per_s_per_gpu"}, {"value", "100"}});
  EXPECT_DOUBLE_EQ(run.step, 32.0 * 2048 / 1600);
}

TEST(RunsMetric, TeraflopsPerDevice) {
  const Cells row = {{"metric", "tflops_per_gpu"}, {"value", "100"}};
  EXPECT_DOUBLE_EQ(run_of(row).step, model_flops() / (100e12 * 16));
  Cells recomputed = row;
  recomputed["recompute"] = "full";
  EXPECT_DOUBLE_EQ(run_of(recomputed).step, model_flops() * 4 / 3 / (100e12 * 16))
      << "throughput counts the second forward pass";
  recomputed["recompute"] = "selective";
  EXPECT_DOUBLE_EQ(run_of(recomputed).step, run_of(row).step);
}

TEST(RunsMetric, TheSourcesOwnStepTimeWinsOverItsTeraflops) {
  EXPECT_EQ(
      run_of({{"metric", "tflops_per_gpu"}, {"value", "100"}, {"iteration_s_reported", "7.25"}})
          .step,
      7.25);
}

TEST(RunsMetric, UtilizationOfThePeak) {
  // A100: 312 TFLOP/s in bf16.
  const double at_peak = model_flops() / (312e12 * 16);
  EXPECT_DOUBLE_EQ(run_of({{"metric", "mfu"}, {"value", "40"}}).step, at_peak / 0.4);
  EXPECT_DOUBLE_EQ(run_of({{"metric", "hfu"}, {"value", "40"}}).step, at_peak / 0.4);
  EXPECT_DOUBLE_EQ(run_of({{"metric", "mfu"}, {"value", "40"}, {"recompute", "full"}}).step,
                   at_peak / 0.4)
      << "model FLOPs know no recompute";
  EXPECT_DOUBLE_EQ(run_of({{"metric", "hfu"}, {"value", "40"}, {"recompute", "full"}}).step,
                   at_peak / 0.4 * 4 / 3);
}

TEST(RunsMetric, FailedHasNoStep) {
  const auto run = run_of({{"metric", "failed"}, {"value", ""}});
  EXPECT_TRUE(run.failed);
  EXPECT_EQ(run.step, 0);
  EXPECT_FALSE(run_of({}).failed);
}

TEST(RunsMetric, MemoryIsInGib) {
  EXPECT_EQ(run_of({{"mem_gib_reported", "40.5"}}).memory, 40.5 * kGiB);
  EXPECT_EQ(run_of({}).memory, 0);
}

// --- defaults and names
// ------------------------------------------------------------------------------

TEST(RunsDefaults, BlankFieldsTakeTheStacksOwn) {
  const auto plain = run_of({});
  EXPECT_EQ(plain.stack, "generic") << "no stack stated";
  EXPECT_EQ(plain.model->transformer->vocab, 1000);
  EXPECT_EQ(plain.model->transformer->ffn, 4096);
  EXPECT_TRUE(plain.model->transformer->tied_embeddings);
  EXPECT_TRUE(plain.model->transformer->bias);
  EXPECT_EQ(plain.degrees.interleave, 1);
  EXPECT_EQ(plain.degrees.schedule, plan::Schedule::k1f1b);
  EXPECT_EQ(plain.degrees.zero, 0);
  EXPECT_EQ(plain.degrees.recompute, Recompute::kNone);
  EXPECT_TRUE(plain.degrees.sequence_parallel);
  EXPECT_EQ(plain.attention, Attention::kFlash);

  const auto tuned = run_of({{"stack", "tuned"}});
  EXPECT_EQ(tuned.stack, "tuned");
  EXPECT_EQ(tuned.model->transformer->vocab, 2000);
  EXPECT_FALSE(tuned.model->transformer->tied_embeddings);
  EXPECT_FALSE(tuned.model->transformer->bias);
  EXPECT_EQ(tuned.degrees.interleave, 2);
  EXPECT_EQ(tuned.degrees.schedule, plan::Schedule::kInterleaved);
  EXPECT_EQ(tuned.degrees.zero, 1);
  EXPECT_EQ(tuned.degrees.recompute, Recompute::kFull);
  EXPECT_FALSE(tuned.degrees.sequence_parallel);
  EXPECT_EQ(tuned.attention, Attention::kUnfused);
}

TEST(RunsDefaults, StatedFieldsWin) {
  const auto run = run_of({{"stack", "tuned"},
                           {"vocab", "3000"},
                           {"tied_embeddings", "yes"},
                           {"vpp", "1"},
                           {"zero", "2"},
                           {"recompute", "selective"},
                           {"sequence_parallel", "yes"},
                           {"attention", "flash"},
                           {"tp_overlap", "yes"}});
  EXPECT_EQ(run.model->transformer->vocab, 3000);
  EXPECT_TRUE(run.model->transformer->tied_embeddings);
  EXPECT_EQ(run.degrees.interleave, 1);
  EXPECT_EQ(run.degrees.zero, 2);
  EXPECT_EQ(run.degrees.recompute, Recompute::kSelective);
  EXPECT_TRUE(run.degrees.sequence_parallel);
  EXPECT_TRUE(run.degrees.tensor_overlap);
  EXPECT_EQ(run.attention, Attention::kFlash);
}

TEST(RunsDefaults, OnlyAPipelineInterleavesAndOnlyTensorRanksSplitTheSequence) {
  const auto run = run_of(
      {{"stack", "tuned"}, {"pp", "1"}, {"tp", "1"}, {"dp", "16"}, {"sequence_parallel", "yes"}});
  EXPECT_EQ(run.degrees.interleave, 1);
  EXPECT_FALSE(run.degrees.sequence_parallel);
}

TEST(RunsDefaults, AGatedModelIsALlama) {
  const auto run = run_of({{"mlp", "gated"}, {"ffn", "2816"}, {"kv_heads", "4"}});
  const model::TransformerShape& shape = *run.model->transformer;
  EXPECT_TRUE(shape.gated_mlp);
  EXPECT_FALSE(shape.bias);
  EXPECT_FALSE(shape.tied_embeddings);
  EXPECT_EQ(shape.norm, model::NormKind::kRmsNorm);
  EXPECT_EQ(shape.position, model::PositionKind::kRotary);
  EXPECT_EQ(shape.kv_heads, 4);
  EXPECT_EQ(shape.ffn, 2816);
}

TEST(RunsDefaults, UnknownStacksCountAsTheFallback) {
  EXPECT_EQ(run_of({{"stack", "nobody's"}}).stack, "generic");
  const spec::Csv csv = spec::parse_csv(csv_of({with({{"stack", "nobody's"}})}), "test.csv");
  EXPECT_EQ(parse_runs(csv, "test", test_library(), "tuned").runs.at(0).stack, "tuned");
}

TEST(RunsDefaults, AColumnMaySendRowsToAVariant) {
  EXPECT_EQ(run_of({{"stack", "tuned"}, {"compile", "yes"}}).stack, "tuned-compile");
  EXPECT_EQ(run_of({{"stack", "tuned"}, {"compile", "no"}}).stack, "tuned");
  EXPECT_EQ(run_of({{"stack", "generic"}, {"compile", "yes"}}).stack, "generic");
}

TEST(RunsDefaults, HsdpShardsInsideANode) {
  const auto run = run_of({{"zero", "HSDP"}, {"tp", "1"}, {"pp", "1"}, {"dp", "16"}});
  EXPECT_EQ(run.degrees.zero, 3);
  EXPECT_EQ(run.degrees.zero_group, 8) << "an A100 node has eight";
  const auto few = run_of({{"zero", "HSDP"}, {"tp", "1"}, {"pp", "1"}, {"dp", "4"}, {"gpus", "4"}});
  EXPECT_EQ(few.degrees.zero_group, 4);
  EXPECT_EQ(run_of({{"zero", "3"}}).degrees.zero_group, 0) << "all of them";
}

TEST(RunsDefaults, HsdpFollowsTheDataDegreeThatTheDevicesLeave) {
  const auto run = run_of({{"zero", "HSDP"}, {"tp", "1"}, {"pp", "1"}, {"dp", "2"}});
  EXPECT_EQ(run.degrees.dp, 16);
  EXPECT_EQ(run.degrees.zero_group, 8);
}

TEST(RunsDefaults, TheSetsSiteGivesTheNetwork) {
  const auto ours = run_of({{"set", "ours"}});
  EXPECT_EQ(ours.site, "lab");
  EXPECT_EQ(ours.cluster.groups.front().node.network.value, 33e9);
  const auto other = run_of({{"set", "theirs"}});
  EXPECT_EQ(other.site, "");
  EXPECT_NE(other.cluster.groups.front().node.network.value, 33e9);
  EXPECT_EQ(other.cluster.num_devices(), 16);
}

TEST(RunsDefaults, AColumnMayNameTheNode) {
  const auto run = run_of({{"node", "p4d.24xlarge"}});
  const cluster::Node* p4d = cluster::builtin_catalogue().find_node("p4d.24xlarge");
  ASSERT_NE(p4d, nullptr);
  const cluster::Node& node = run.cluster.groups.front().node;
  EXPECT_EQ(node.name, p4d->name);
  EXPECT_EQ(node.network, p4d->network);
  EXPECT_NE(node.network, run_of({}).cluster.groups.front().node.network);
  EXPECT_EQ(skipped_for({{"node", "abacus"}}), "unknown node abacus");
}

TEST(RunsDefaults, ADeviceThatNoKnownMachineIsBuiltOfNeedsANode) {
  EXPECT_THAT(skipped_for({{"gpu", "A40"}}), HasSubstr("no reference node of A40"));
}

// Four blocks of 1024: 12 h^2 each if plain, 16 h^2 if gated (the feed-forward is 4 h both ways).
TEST(RunsDefaults, ABlankMlpIsTheKindThatTheParametersSay) {
  const double h = 1024;
  const auto gated = [&](double params) {
    return run_of({{"params_b", fmt::format("{}", params / 1e9)}}).model->transformer->gated_mlp;
  };
  EXPECT_FALSE(gated(4 * 12 * h * h + 1000 * h));
  EXPECT_TRUE(gated(4 * 16 * h * h + 2 * 1000 * h));
  EXPECT_FALSE(run_of({}).model->transformer->gated_mlp);
  EXPECT_FALSE(run_of({{"mlp", "plain"}, {"params_b", "1"}}).model->transformer->gated_mlp)
      << "what is stated wins";
}

TEST(RunsDefaults, WithoutASetTheFilesNameIsTheSet) {
  EXPECT_EQ(run_of({}).set, "test");
  EXPECT_EQ(run_of({{"set", "ours"}}).set, "ours");
}

TEST(RunsDefaults, RowsRememberWhereTheyStood) {
  const RunTable table =
      parse({with({{"layers", ""}}), with({}), with({{"suspect", "slow-twin"}})});
  ASSERT_EQ(table.runs.size(), 2u);
  EXPECT_EQ(table.rows, 3);
  EXPECT_EQ(table.runs[0].file, "test.csv");
  EXPECT_EQ(table.runs[0].line, 3);
  EXPECT_EQ(table.runs[1].line, 4);
  EXPECT_EQ(table.runs[1].suspect, "slow-twin");
  EXPECT_EQ(table.runs[0].suspect, "");
  EXPECT_EQ(table.runs[0].model, table.runs[1].model) << "one model for equal shapes";
}

TEST(RunsDefaults, AliasesOfDevicesAndPrecisionsAreUnderstood) {
  const auto run = run_of({{"gpu", "a100_80gb"}, {"precision", "amp_bf16"}});
  EXPECT_EQ(run.degrees.precision, Precision::kBf16);
  EXPECT_EQ(run.cluster.groups.front().node.device.short_name,
            run_of({}).cluster.groups.front().node.device.short_name);
  EXPECT_EQ(run_of({{"gpu", "H100"}, {"precision", "FP8-CS"}}).degrees.precision, Precision::kFp8);
}

// --- groups
// --------------------------------------------------------------------------------------------

TEST(RunsGroups, ComparableRunsShareARankingGroup) {
  const std::string base = run_of({}).ranking_group;
  EXPECT_EQ(run_of({{"tp", "4"}, {"dp", "2"}}).ranking_group, base);
  EXPECT_EQ(run_of({{"micro_batch", "1"}, {"recompute", "full"}}).ranking_group, base);
  const Cells others[] = {{{"set", "ours"}},
                          {{"model", "n"}},
                          {{"layers", "8"}},
                          {{"hidden", "2048"}},
                          {{"seq", "1024"}},
                          {{"gpu", "H100"}},
                          {{"gpus", "32"}, {"dp", "8"}},
                          {{"global_batch", "64"}},
                          {{"precision", "fp16"}}};
  for (const Cells& other : others)
    EXPECT_NE(run_of(other).ranking_group, base) << other.begin()->first;
}

TEST(RunsGroups, AModelOfASetIsHeldOutAsOne) {
  const std::string base = run_of({}).suite;
  EXPECT_EQ(run_of({{"tp", "4"}, {"dp", "2"}, {"seq", "1024"}}).suite, base);
  EXPECT_NE(run_of({{"model", "n"}}).suite, base);
  EXPECT_NE(run_of({{"set", "ours"}}).suite, base);
}

// --- rows that are no use
// -------------------------------------------------------------------------------

TEST(RunsSkipped, WhatIsNotStatedIsNamed) {
  for (const char* column : {"layers", "hidden", "heads", "seq", "gpu", "gpus", "tp", "pp", "dp",
                             "micro_batch", "global_batch", "precision"})
    EXPECT_EQ(skipped_for({{column, ""}}), fmt::format("{} not stated", column));
}

TEST(RunsSkipped, WhatCannotBePredicted) {
  EXPECT_EQ(skipped_for({{"task", "lora"}}), "not pre-training");
  EXPECT_EQ(skipped_for({{"task", "pretrain"}}), "used");
  EXPECT_EQ(skipped_for({{"gpu", "Abacus"}}), "unknown device Abacus");
  EXPECT_EQ(skipped_for({{"precision", "fp3"}}), "unknown precision fp3");
  EXPECT_THAT(skipped_for({{"precision", "fp8"}}), HasSubstr("has no fp8")) << "an A100 has none";
  EXPECT_EQ(skipped_for({{"heads", "7"}}), "not a model that can be");
  EXPECT_EQ(skipped_for({{"metric", "time_to_train_min"}}),
            "metric time_to_train_min gives no step time");
  EXPECT_EQ(skipped_for({{"value", ""}}), "metric iteration_s gives no step time");
  EXPECT_EQ(skipped_for({{"value", "-3"}}), "metric iteration_s gives no step time");
}

TEST(RunsSkipped, DegreesThatDoNotMultiplyToTheDevices) {
  const std::string why = "tp x pp x dp x cp is not the number of devices";
  EXPECT_EQ(skipped_for({{"tp", "3"}}), why);
  EXPECT_EQ(skipped_for({{"tp", "64"}}), why);
  EXPECT_EQ(skipped_for({{"tp", "1000000000"}, {"cp", "1000000000"}}), why) << "no overflow";
  EXPECT_EQ(run_of({{"dp", "2"}}).degrees.dp, 4) << "what the others leave";
  EXPECT_EQ(skipped_for({{"micro_batch", "9"}}), "micro_batch x dp exceeds global_batch");
  EXPECT_EQ(skipped_for({{"micro_batch", "1000000000"}}), "micro_batch x dp exceeds global_batch");
}

TEST(RunsSkipped, CellsThatAreNotTheNumbersTheyShouldBe) {
  EXPECT_THAT(skipped_for({{"tp", "two"}}), HasSubstr("tp is not a number"));
  EXPECT_THAT(skipped_for({{"pp", "1.5"}}), HasSubstr("pp is not a whole number"));
  EXPECT_THAT(skipped_for({{"dp", "-4"}}), HasSubstr("dp is not a whole number"));
  EXPECT_THAT(skipped_for({{"cp", "0"}}), HasSubstr("cp is not a whole number"));
  EXPECT_THAT(skipped_for({{"zero", "4"}}), HasSubstr("zero is not a whole number of 0 to 3"));
  EXPECT_THAT(skipped_for({{"value", "fast"}}), HasSubstr("value is not a number"));
  EXPECT_THAT(skipped_for({{"mem_gib_reported", "lots"}}), HasSubstr("mem_gib_reported is not"));
  EXPECT_THAT(skipped_for({{"vocab", "1e999"}}), HasSubstr("vocab is not a number"));
  EXPECT_THAT(skipped_for({{"value", "nan"}}), HasSubstr("value is not a number"));
  EXPECT_NE(skipped_for({{"layers", "999999999"}}), "used") << "a slip of the pen";
}

TEST(RunsSkipped, WordsThatNobodyKnows) {
  EXPECT_EQ(skipped_for({{"recompute", "most"}}),
            "recompute = most is none of none, selective, full");
  EXPECT_EQ(skipped_for({{"mlp", "wide"}}), "mlp = wide is none of plain, gated");
}

TEST(RunsSkipped, ABadCellIsFoundInEveryRowThatHasIt) {
  for (const Cells& bad : {Cells{{"mlp", "wide"}}, Cells{{"kv_heads", "some"}}}) {
    const RunTable table = parse({with(bad), with(bad), with({})});
    EXPECT_EQ(table.runs.size(), 1u) << bad.begin()->first;
    ASSERT_EQ(table.skipped.size(), 1u);
    EXPECT_EQ(table.skipped.begin()->second, 2);
  }
}

TEST(RunsSkipped, ReasonsAreCounted) {
  const RunTable table =
      parse({with({}), with({{"layers", ""}}), with({{"layers", ""}}), with({{"task", "sft"}})});
  EXPECT_EQ(table.rows, 4);
  EXPECT_EQ(table.runs.size(), 1u);
  EXPECT_THAT(table.skipped,
              ElementsAre(Pair("layers not stated", 2), Pair("not pre-training", 1)));
}

TEST(RunsSkipped, TablesAddUp) {
  RunTable all = parse({with({}), with({{"layers", ""}})});
  append(all, parse({with({}), with({}), with({{"layers", ""}}), with({{"task", "sft"}})}));
  EXPECT_EQ(all.rows, 6);
  EXPECT_EQ(all.runs.size(), 3u);
  EXPECT_THAT(all.skipped, ElementsAre(Pair("layers not stated", 2), Pair("not pre-training", 1)));
}

// --- files that are no such table
// ---------------------------------------------------------------------

std::string message_of(const std::string& text) {
  try {
    parse_runs(spec::parse_csv(text, "bad.csv"), "test", test_library());
  } catch (const Errors& errors) {
    return errors.what();
  }
  return "no error";
}

TEST(RunsErrors, AllMissingColumnsAreNamed) {
  const std::string message = message_of("model,layers,hidden,seq\nm,1,2,3\n");
  for (const char* column : {"heads", "gpu", "gpus", "tp", "pp", "dp", "micro_batch",
                             "global_batch", "precision", "metric", "value"})
    EXPECT_THAT(message, HasSubstr(column));
}

TEST(RunsErrors, ARaggedRowIsAnErrorWithItsLine) {
  std::string text = csv_of({with({}), with({})});
  text.insert(text.size() - 1, ",more");
  EXPECT_THAT(message_of(text), HasSubstr("bad.csv:3"));
}

TEST(RunsErrors, NoFileOrADirectoryOrNothingInIt) {
  const cost::StackLibrary library = test_library();
  EXPECT_THROW(read_runs("no/such/runs.csv", library), Errors);
  EXPECT_THROW(read_runs(TemporaryFolder().path(), library), Errors);
  EXPECT_NE(message_of(""), "no error");
}

// --- the published runs
// -------------------------------------------------------------------------------

std::string published(const char* file) { return source_dir() + "/data/published/" + file; }

// Lines of the dense pre-training rows that state all a prediction needs.
std::set<int> stated_lines(const spec::Csv& csv) {
  std::set<int> lines;
  for (const spec::CsvRow& row : csv.rows) {
    const auto cell = [&](const char* column) { return csv.cell(row, csv.find(column)); };
    bool all = true;
    for (const char* column : {"layers", "hidden", "heads", "seq", "gpu", "gpus", "tp", "pp", "dp",
                               "micro_batch", "global_batch", "precision"})
      all = all && !cell(column).empty();
    if (all && cell("experts").empty() && cell("task") == "pretrain") lines.insert(row.line);
  }
  return lines;
}

void expect_all_used(const char* file, const RunTable& table) {
  const std::set<int> stated = stated_lines(spec::read_csv(published(file)));
  std::set<int> dense;
  for (const auto& run : table.runs)
    if (run.model->transformer->experts == 0) dense.insert(run.line);
  EXPECT_EQ(dense, stated) << "lines of " << file;
}

TEST(PublishedRuns, AllDensePretrainingRowsThatStateEnoughAreUsed) {
  const RunTable table = read_runs(published("runs.csv"), cost::builtin_stacks());
  EXPECT_EQ(table.rows, 2385);
  expect_all_used("runs.csv", table);
  std::size_t skipped = 0;
  for (const auto& [why, count] : table.skipped) skipped += static_cast<std::size_t>(count);
  EXPECT_EQ(table.runs.size() + skipped, 2385u);
}

TEST(PublishedRuns, KeepTheirSetsSitesAndSuspects) {
  const RunTable table = read_runs(published("runs.csv"), cost::builtin_stacks());
  std::map<std::string, int> sets;
  int suspects = 0;
  for (const auto& run : table.runs) {
    ++sets[run.set];
    suspects += run.suspect.empty() ? 0 : 1;
    EXPECT_GT(run.step, 0) << run.line;
    EXPECT_FALSE(run.failed);
    EXPECT_LE(run.degrees.num_ranks(), run.cluster.num_devices()) << run.line;
    if (run.set == "vtrain") {
      EXPECT_EQ(run.site, "vtrain");
    }
    if (run.set == "bigscience") {
      EXPECT_EQ(run.site, "jean-zay");
    }
  }
  EXPECT_EQ(sets["vtrain"], 815);
  EXPECT_EQ(sets["ultrascale_playbook"], 889);
  EXPECT_EQ(sets["llmfoundry"], 152);
  EXPECT_EQ(sets["bigscience"], 44);
  EXPECT_GT(suspects, 100);
}

TEST(PublishedRuns, AllFailedRunsAreRead) {
  const RunTable table = read_runs(published("failed.csv"), cost::builtin_stacks());
  EXPECT_EQ(table.rows, 773);
  expect_all_used("failed.csv", table);
  for (const auto& run : table.runs) EXPECT_TRUE(run.failed) << run.line;
}

}  // namespace
}  // namespace nereus::calibrate::runs_test
