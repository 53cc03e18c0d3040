#include "calibrate/new_stack.hpp"

#include <gtest/gtest.h>

#include "calibrate/calibrate_testing.hpp"
#include "calibrate/evaluate_runs.hpp"

namespace nereus::calibrate::new_stack_test {
namespace {

using testing::make_library;
using testing::Row;

const char* const kStacks = R"(
[device.A100.parameters]
gemm_efficiency = 0.8
[stack.generic]
[stack.megatron]
inherits = "generic"
[stack.megatron.parameters]
elementwise_passes = 1.4
[stack.slow]
inherits = "generic"
[stack.slow.parameters]
elementwise_passes = 3
host_layer = "5 ms"
[stack.stalling]
inherits = "generic"
[stack.stalling.parameters]
network_jitter = 0.3
transfer_stall = "0.3 s"
transfer_stall_devices = 2
memory_pressure = 2
misaligned_head = 6
[stack.recommender]
inherits = "generic"
[stack.ideal]
inherits = "generic"
[stack.nereus]
inherits = "generic"
)";

// Rows with times and memory as `truth` of the other library predicts them.
ReadRuns runs_like(const std::vector<Row>& rows, const cost::StackLibrary& truth,
                   const std::string& stack, double factor = 1) {
  return [=](const cost::StackLibrary& library, const std::string& as) {
    std::vector<calibrate::Run> runs = testing::make_runs(rows, library, "generic").runs;
    for (Run& run : runs) {
      Run real = run;
      real.stack = stack;
      const cost::Prediction p = predict(real, truth);
      run.step = factor * p.step;
      run.memory = p.memory.total;
      run.stack = as;
    }
    return runs;
  };
}

std::vector<Row> rows() {
  std::vector<Row> out;
  for (const int layers : {8, 16, 24})
    for (const int micro : {1, 2, 4})
      out.push_back({.layers = layers, .hidden = 1024 * micro, .micro_batch = micro});
  return out;
}

TEST(Parents, AreFoundInTheWordsOfAName) {
  const cost::StackLibrary& known = cost::builtin_stacks();
  EXPECT_EQ(named_parent(known, "simumax-megatron"), "megatron");
  EXPECT_EQ(named_parent(known, "Our_Megatron-DeepSpeed fork"), "megatron-deepspeed");
  EXPECT_EQ(named_parent(known, "nemo-24 patched"), "nemo-24");
  EXPECT_EQ(named_parent(known, "my-torchtitan"), "torchtitan");
  EXPECT_EQ(named_parent(known, "megatronic"), "");
  EXPECT_EQ(named_parent(known, "other"), "");
}

TEST(Parents, SuitTheFamilyAndTheDevice) {
  const cost::StackLibrary library = make_library(kStacks);
  const std::vector<calibrate::Run> runs = testing::make_runs({{}}, library, "generic").runs;
  const model::Model& model = *runs[0].model;
  const cluster::Device& device = runs[0].cluster.groups.front().node.device;
  EXPECT_TRUE(suits(library, "generic", model, device));
  EXPECT_TRUE(suits(library, "megatron", model, device));
  EXPECT_FALSE(suits(library, "recommender", model, device));
  EXPECT_FALSE(suits(library, "ideal", model, device));
  EXPECT_FALSE(suits(library, "nereus", model, device));
}

TEST(Parents, AreChosenByNameElseByTimeAndMemory) {
  const cost::StackLibrary library = make_library(kStacks);
  const ReadRuns slow = runs_like(rows(), library, "slow");
  const ParentChoice by_error = choose_parent(library, "unheard-of", slow);
  EXPECT_EQ(by_error.parent, "slow");
  EXPECT_FALSE(by_error.by_name);
  EXPECT_NEAR(by_error.error, 0, 1e-9);
  const ParentChoice by_name = choose_parent(library, "x-megatron", slow);
  EXPECT_EQ(by_name.parent, "megatron");
  EXPECT_TRUE(by_name.by_name);
}

TEST(Parents, DoNotHandDownPenalties) {
  cost::StackLibrary library = make_library(kStacks);
  add_stack(library, "mine", "stalling");
  const cost::Stack mine = library.resolve("mine");
  const std::vector<calibrate::Run> runs = testing::make_runs({{}}, library, "generic").runs;
  const cost::Parameters p = mine.parameters_for(runs[0].cluster.groups.front().node.device);
  EXPECT_EQ(p.network_jitter, 0);
  EXPECT_EQ(p.transfer_stall, 0);
  EXPECT_EQ(p.memory_pressure, 0);
  EXPECT_EQ(p.transfer_stall_devices, cost::Parameters{}.transfer_stall_devices);
  EXPECT_EQ(p.misaligned_head, cost::Parameters{}.misaligned_head);
}

TEST(NewStack, KeepsWhatPredictsRowsLeftOutBetter) {
  const cost::StackLibrary library = make_library(kStacks);
  // A device that reaches less than the library says, with otherwise known software.
  cost::StackLibrary truth = library;
  truth.set({cost::Scope::Kind::kDevice, "A100"}, "gemm_efficiency", 0.55);
  const ReadRuns read = runs_like(rows(), truth, "megatron");
  const NewStack made = calibrate_new_stack(library, "x-megatron", read);
  EXPECT_EQ(made.parent, "megatron");
  ASSERT_TRUE(made.time.kept);
  EXPECT_EQ(made.time.rows, 9);
  EXPECT_LT(made.time.calibrated, made.time.parent / 2);
  RunTable table;
  table.runs = read(made.library, "x-megatron");
  EXPECT_LT(mean_time_error(testing::pointers(table), made.library), 0.03);
  // The device's number is the device's; the library's own stays as it was for other stacks' files.
  EXPECT_LT(made.library.devices.at("A100").at("gemm_efficiency"), 0.7);
  EXPECT_EQ(library.devices.at("A100").at("gemm_efficiency"), 0.8);
}

TEST(NewStack, KeepsTheParentWhereNothingIsWrongWithIt) {
  const cost::StackLibrary library = make_library(kStacks);
  const NewStack made =
      calibrate_new_stack(library, "x-megatron", runs_like(rows(), library, "megatron"));
  EXPECT_FALSE(made.kept());
  EXPECT_TRUE(made.numbers.empty());
  EXPECT_TRUE(made.library.stacks.at("x-megatron").settings.empty());
  EXPECT_NEAR(made.time.parent, 0, 1e-9);
}

TEST(NewStack, KeepsTheParentWhereNothingCanBeLeftOut) {
  const cost::StackLibrary library = make_library(kStacks);
  const NewStack made =
      calibrate_new_stack(library, "x-megatron", runs_like({{}}, library, "megatron", 3));
  EXPECT_FALSE(made.kept());
  EXPECT_EQ(made.time.folds, 0);
}

TEST(NewStack, ADevicesNumberThatNoRowTellsAboutIsNotForgotten) {
  cost::StackLibrary library = make_library(kStacks);
  const cost::Scope a100{cost::Scope::Kind::kDevice, "A100"};
  library.set(a100, "gemm_efficiency_8bit", 0.7);
  library.free = {{a100, "gemm_efficiency_8bit", 0.6, 0.1}};
  const RunTable table = testing::make_runs({{}}, library, "generic");
  FitOptions options;
  options.min_rows = 1;
  options.keep_uninformed = true;
  const FitResult kept = fit(library, testing::pointers(table), Target::kStepTime, options);
  EXPECT_FALSE(kept.numbers.front().fitted);
  EXPECT_DOUBLE_EQ(kept.library.devices.at("A100").at("gemm_efficiency_8bit"), 0.6);
  options.keep_uninformed = false;
  const FitResult forgotten = fit(library, testing::pointers(table), Target::kStepTime, options);
  EXPECT_DOUBLE_EQ(forgotten.library.devices.at("A100").at("gemm_efficiency_8bit"), 0.6);
}

TEST(NewStack, NumbersOfSeveralDevicesMoveTogether) {
  const cost::StackLibrary library = make_library(std::string(kStacks) + R"(
[device.H100.parameters]
gemm_efficiency = 0.7
)");
  cost::StackLibrary truth = library;
  truth.set({cost::Scope::Kind::kDevice, "A100"}, "gemm_efficiency", 0.8 * 0.7);
  truth.set({cost::Scope::Kind::kDevice, "H100"}, "gemm_efficiency", 0.7 * 0.7);
  std::vector<Row> both = rows();
  for (std::size_t i = 0; i < both.size(); i += 2) both[i].gpu = "H100-80GB";
  const NewStack made =
      calibrate_new_stack(library, "x-megatron", runs_like(both, truth, "megatron"));
  ASSERT_TRUE(made.time.kept);
  const double a100 = made.library.devices.at("A100").at("gemm_efficiency");
  const double h100 = made.library.devices.at("H100").at("gemm_efficiency");
  EXPECT_NEAR(a100 / 0.8, h100 / 0.7, 1e-9);
  EXPECT_LT(a100, 0.75);
}

}  // namespace
}  // namespace nereus::calibrate::new_stack_test
