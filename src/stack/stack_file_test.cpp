#include "stack/stack_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "cluster/catalogue.hpp"
#include "stack/stack_testing.hpp"

namespace nereus::cost::stack_file_test {
namespace {

using ::testing::Contains;
using testing::device;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kFamily;
using testing::library_of;
using ::testing::UnorderedElementsAre;

std::vector<Error> errors_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Errors& errors) {
    return errors.list();
  }
  ADD_FAILURE() << "no error";
  return {};
}

std::vector<std::string> codes_of(const std::vector<Error>& errors) {
  std::vector<std::string> codes;
  for (const Error& error : errors) codes.push_back(error.code);
  return codes;
}

// --- what the program brings ---------------------------------------------------------------------

TEST(BuiltinStacks, HoldTheStacksOfThePublishedRuns) {
  EXPECT_THAT(builtin_stacks().stack_names(),
              ::testing::IsSupersetOf({"generic", "megatron", "megatron-deepspeed", "nemo",
                                       "nanotron", "composer-fsdp", "torchtitan", "other"}));
}

TEST(BuiltinStacks, EveryOneResolvesDescribesItselfAndStaysInRange) {
  const StackLibrary& library = builtin_stacks();
  for (const std::string& name : library.stack_names()) {
    EXPECT_FALSE(library.stacks.at(name).description.empty()) << name;
    for (const char* gpu : {"A100-SXM-80GB", "H100-SXM-80GB", "H200-SXM-141GB", "no such device"}) {
      const Parameters p = library.resolve(name).parameters_for(device(gpu));
      for (const ParameterInfo& info : parameter_table()) {
        EXPECT_GE(p.*info.member, info.low) << name << " " << gpu << " " << info.name;
        EXPECT_LE(p.*info.member, info.high) << name << " " << gpu << " " << info.name;
      }
    }
  }
}

TEST(BuiltinStacks, EveryParentVariantAndSiteExists) {
  const StackLibrary& library = builtin_stacks();
  for (const auto& [name, entry] : library.stacks) {
    EXPECT_TRUE(entry.inherits.empty() || library.has(entry.inherits)) << name;
    for (const auto& [column, variant] : entry.variants)
      EXPECT_TRUE(library.has(variant)) << name << " " << column;
  }
  for (const auto& [name, parent] : library.device_parents)
    EXPECT_EQ(library.devices.count(parent), 1u) << name << " inherits " << parent;
  for (const auto& [name, site] : library.sites) EXPECT_FALSE(site.source.empty()) << name;
  EXPECT_EQ(library.site_of_set("vtrain"), "vtrain");
  EXPECT_EQ(library.site_of_set("bigscience"), "jean-zay");
  EXPECT_EQ(library.site_of_set("somebody's"), "");
}

// About 60 numbers for decoders, and 25 for CNNs, BERT, DLRM and TPUs.
TEST(BuiltinStacks, LeaveFewNumbersToFit) {
  const std::vector<FreeNumber>& free = builtin_stacks().free;
  // Those that inherit their prior are shrunk toward it: they weigh less than a number each.
  const auto own = std::count_if(free.begin(), free.end(),
                                 [](const FreeNumber& number) { return !number.from_parent; });
  EXPECT_LE(own, 90);
  EXPECT_LE(free.size(), 135u);
  EXPECT_GE(free.size(), 20u);
  for (const FreeNumber& number : free) {
    const ParameterInfo* info = find_parameter(number.parameter);
    ASSERT_NE(info, nullptr) << number.parameter;
    EXPECT_GT(number.spread, 0);
  }
}

// --- how numbers are looked up -------------------------------------------------------------------

TEST(Overlay, ChildrenInheritOptionsDefaultsAndNumbers) {
  const StackLibrary library = library_of(kFamily);
  const Stack child = library.resolve("child");
  EXPECT_EQ(child.options.attention, plan::Attention::kUnfused);
  EXPECT_EQ(child.options.weight_bytes, 4);
  EXPECT_EQ(child.options.stages, StageRule::kBalanced);
  EXPECT_EQ(library.resolve("root").options.stages, StageRule::kEven);
  EXPECT_EQ(child.defaults.vocab, 1000);
  EXPECT_EQ(child.defaults.zero, 3);
  EXPECT_EQ(library.resolve("root").defaults.zero, 1);
  const Parameters p = child.parameters_for(device("X"));
  EXPECT_DOUBLE_EQ(p.host_layer, 3e-3);
  EXPECT_DOUBLE_EQ(p.memory_fixed, 2e9);
  EXPECT_DOUBLE_EQ(library.resolve("root").parameters_for(device("X")).host_layer, 1.5e-3);
}

TEST(Overlay, TheParticularWinsOverTheGeneral) {
  const StackLibrary library = library_of(kFamily);
  const auto gemm = [&](const char* name) {
    return library.resolve("root").parameters_for(device(name)).gemm_efficiency;
  };
  EXPECT_EQ(gemm("A100-SXM-80GB"), 0.82) << "the device itself";
  EXPECT_EQ(gemm("A100-PCIe-40GB"), 0.81) << "its family";
  EXPECT_EQ(gemm("A800-SXM-80GB"), 0.81) << "its family's parent";
  EXPECT_EQ(gemm("V100-SXM-16GB"), Parameters{}.gemm_efficiency);
  const cluster::Device a100 = device("A100-SXM-80GB");
  EXPECT_DOUBLE_EQ(library.resolve("root").parameters_for(a100).link_latency, 6e-6)
      << "the stack wins over the device";
  EXPECT_DOUBLE_EQ(library.resolve("root", "here").parameters_for(a100).link_latency, 7e-6)
      << "the site over both";
}

TEST(Overlay, RangesAndFreeNumbersAreKept) {
  const StackLibrary library = library_of(kFamily);
  const FittedRange range = library.ranges.at("stack:child.host_layer");
  EXPECT_EQ(range, (FittedRange{2e-3, 4e-3, 12}));
  ASSERT_EQ(library.free.size(), 1u);
  EXPECT_EQ(library.free[0], (FreeNumber{{Scope::Kind::kStack, "root"}, "host_layer", 2e-3, 0.5}));
}

TEST(Overlay, ALaterFileChangesOnlyWhatItNames) {
  StackLibrary library = library_of(kFamily);
  const std::vector<std::string> names = overlay_stacks(library, R"(
[stack.root]
optimizer_bytes = 8
[stack.root.parameters]
host_layer = "1 ms"
[stack.root.fit]
host_layer = { prior = "9 ms" }
[stack.mine]
inherits = "child"
[site.here]
network = "25 GB/s"
)",
                                                        "mine.toml");
  EXPECT_THAT(names, UnorderedElementsAre("mine", "root"));
  const Stack root = library.resolve("root");
  EXPECT_EQ(root.options.optimizer_bytes, 8);
  EXPECT_EQ(root.options.weight_bytes, 4) << "from the file before";
  EXPECT_EQ(root.defaults.vocab, 1000);
  EXPECT_DOUBLE_EQ(root.parameters_for(device("X")).host_layer, 1e-3);
  EXPECT_DOUBLE_EQ(root.parameters_for(device("X")).memory_fixed, 2e9);
  EXPECT_DOUBLE_EQ(library.resolve("mine").parameters_for(device("X")).host_layer, 3e-3);
  ASSERT_EQ(library.free.size(), 1u) << "the prior was replaced, not added";
  EXPECT_DOUBLE_EQ(library.free[0].prior, 9e-3);
  EXPECT_DOUBLE_EQ(library.sites.at("here").network_bytes_per_s, 25e9);
  EXPECT_THAT(library.sites.at("here").sets, ElementsAre("a", "b"));
}

TEST(Overlay, NumbersApplyWhereTheirScopeReaches) {
  const StackLibrary library = library_of(kFamily);
  const auto applies = [&](Scope::Kind kind, const char* name) {
    return library.applies({kind, name}, "A800-SXM-80GB", "child", "here");
  };
  EXPECT_TRUE(applies(Scope::Kind::kDevice, "A100"));
  EXPECT_TRUE(applies(Scope::Kind::kDevice, "A800"));
  EXPECT_FALSE(applies(Scope::Kind::kDevice, "A100-SXM-80GB"));
  EXPECT_TRUE(applies(Scope::Kind::kStack, "root"));
  EXPECT_TRUE(applies(Scope::Kind::kStack, "child"));
  EXPECT_FALSE(applies(Scope::Kind::kStack, "other"));
  EXPECT_TRUE(applies(Scope::Kind::kSite, "here"));
  EXPECT_FALSE(applies(Scope::Kind::kSite, "there"));
}

// --- what is wrong with a file -------------------------------------------------------------------

TEST(StackErrors, UnknownStackOffersTheNearest) {
  const auto errors = errors_of([] { load_stack("nanotorn"); });
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "stack.unknown");
  EXPECT_THAT(errors[0].message, HasSubstr("megatron-deepspeed"));
  EXPECT_THAT(errors[0].hint, HasSubstr("\"nanotron\""));
}

TEST(StackErrors, AllOfAFileAtOnceWithTheirPlaces) {
  const char* text = R"([device.X.parameters]
host_layer = 1.5
host_step = "3 GB"
[stack.mine]
inherits = "nobody"
atention = "flash"
weight_bytes = 99
[stack.mine.defaults]
recompute = "some"
[stack.mine.parameters]
gem_efficiency = 0.5
gemm_tail = 7
memory_fixed = "2 TB"
kernel_gap = { value = "1 us", hgih = "2 us" }
[stack.mine.fit]
gemm_depht = { prior = 100 }
data_overlap = { prior = "half" }
[site.s]
network = 12
[nonsense]
)";
  StackLibrary library;
  const auto errors = errors_of([&] { overlay_stacks(library, text, "bad.toml"); });
  // Line -> code, one for each thing that is wrong.
  std::map<int, std::string> found;
  for (const Error& error : errors) {
    EXPECT_EQ(error.where.file, "bad.toml") << error.message;
    found[error.where.line] = error.code;
  }
  EXPECT_EQ(errors.size(), 14u);
  EXPECT_EQ(found[2], "spec.missing-unit");
  EXPECT_TRUE(found.count(3)) << "bytes for a time";
  EXPECT_EQ(found[5], "stack.unknown");
  EXPECT_EQ(found[6], "spec.unknown-key");
  EXPECT_TRUE(found.count(7)) << "99 bytes a weight";
  EXPECT_TRUE(found.count(9)) << "no such recompute";
  EXPECT_EQ(found[11], "stack.unknown-parameter");
  EXPECT_EQ(found[12], "stack.range");
  EXPECT_EQ(found[13], "stack.range");
  EXPECT_EQ(found[14], "spec.unknown-key");
  EXPECT_EQ(found[16], "stack.unknown-parameter");
  EXPECT_TRUE(found.count(17)) << "a prior that is no number";
  EXPECT_EQ(found[19], "spec.missing-unit");
  EXPECT_EQ(found[20], "spec.unknown-key");
  EXPECT_THAT(codes_of(errors), Contains("stack.unknown-parameter").Times(2));
  for (const Error& error : errors) {
    if (error.where.line == 6) {
      EXPECT_THAT(error.hint, HasSubstr("attention"));
    }
    if (error.where.line == 11) {
      EXPECT_THAT(error.hint, HasSubstr("gemm_efficiency"));
    }
    if (error.where.line == 12) {
      EXPECT_THAT(error.message, HasSubstr("7"));
    }
    if (error.where.line == 16) {
      EXPECT_THAT(error.hint, HasSubstr("gemm_depth"));
    }
  }
}

TEST(StackErrors, AStackCannotBeItsOwnParent) {
  StackLibrary library;
  EXPECT_THROW(overlay_stacks(library, "[stack.a]\ninherits = \"a\"\n", "x.toml"), Errors);
}

// --- files ---------------------------------------------------------------------------------------

class StackFile : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    return folder_.write(name, text);
  }
  TemporaryFolder folder_;
};

constexpr const char* kOne =
    "[stack.mine]\ninherits = \"nanotron\"\n[stack.mine.parameters]\nhost_layer = \"1 ms\"\n";
constexpr const char* kTwo =
    "[stack.a]\ninherits = \"megatron\"\n[stack.b]\ninherits = \"nanotron\"\n";

TEST_F(StackFile, WithOneStackNeedsNoName) {
  const Stack stack = load_stack(write("one.toml", kOne));
  EXPECT_EQ(stack.name, "mine");
  EXPECT_EQ(stack.options.stages, StageRule::kBalanced) << "nanotron's";
  EXPECT_DOUBLE_EQ(stack.parameters_for(device("X")).host_layer, 1e-3);
  EXPECT_DOUBLE_EQ(
      stack.parameters_for(device("X")).transfer_stall_devices,
      builtin_stacks().resolve("nanotron").parameters_for(device("X")).transfer_stall_devices);
}

TEST_F(StackFile, WithSeveralTakesAName) {
  const std::string path = write("two.toml", kTwo);
  EXPECT_EQ(load_stack(path + ":b").name, "b");
  EXPECT_EQ(load_stack(path + ":b").options.stages, StageRule::kBalanced);
  EXPECT_EQ(load_stack(path + ":a").options.stages, StageRule::kEven);
  const auto which = errors_of([&] { load_stack(path); });
  ASSERT_EQ(which.size(), 1u);
  EXPECT_EQ(which[0].code, "stack.which");
  EXPECT_THAT(which[0].message, HasSubstr("a, b"));
  EXPECT_THAT(which[0].hint, HasSubstr(path + ":a"));
  EXPECT_EQ(codes_of(errors_of([&] { load_stack(path + ":c"); })),
            std::vector<std::string>{"stack.unknown"});
}

TEST_F(StackFile, MayNameABuiltinOneOverWhichItLies) {
  const std::string path = write("one.toml", kOne);
  EXPECT_EQ(load_stack(path + ":megatron").name, "megatron");
}

TEST_F(StackFile, WithoutAStackIsNoStack) {
  const auto errors =
      errors_of([&] { load_stack(write("none.toml", "[device.A100.parameters]\n")); });
  EXPECT_EQ(codes_of(errors), std::vector<std::string>{"stack.which"});
}

TEST_F(StackFile, ThatIsNotThereOrADirectoryIsAnError) {
  EXPECT_FALSE(errors_of([] { load_stack("no/such/file.toml"); }).empty());
  EXPECT_FALSE(errors_of([&] { load_stack(folder_.path()); }).empty());
}

}  // namespace
}  // namespace nereus::cost::stack_file_test
