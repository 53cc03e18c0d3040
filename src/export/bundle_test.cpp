// Exports read back the same, for every engine; what an engine cannot express is an error.
#include "export/bundle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "cluster/load_cluster.hpp"
#include "export/deepspeed.hpp"
#include "export/fsdp.hpp"
#include "export/megatron_flags.hpp"
#include "export/shell.hpp"
#include "export/torchtitan.hpp"
#include "model/read/load_model.hpp"
#include "plan/expand.hpp"
#include "plan/rules.hpp"
#include "plan/test_plans.hpp"
#include "spec/value.hpp"

namespace nereus::exporting::bundle_test {
namespace {

using cluster::Precision;
using plan::Degrees;
using plan::testing::pick;

plan::Plan make_plan(const model::Model& model, const cluster::Cluster& machines, const Degrees& d,
                     const std::string& stack = "nemo") {
  plan::Plan plan{};
  plan.model = model;
  plan.cluster = machines;
  plan.stack = stack;
  plan.degrees = d;
  plan.placement = plan::expand(d, model);
  return plan;
}

// Shapes of every kind that some engine takes, small enough to expand at once.
model::Model any_model() {
  const std::string name = pick<std::string>(
      {"llama3-8b", "llama3-70b", "llama3-405b", "mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b",
       "gpt2", "gpt3-175b", "gpt-oss-120b", "mpt-7b", "opt-175b", "bert-base", "nemotron4-15b"});
  return model::load_model(name, {{"seq", std::to_string(pick({1024, 512}))}});
}

Degrees any_plan_degrees() {
  Degrees d = plan::testing::any_degrees();
  d.precision = pick({Precision::kBf16, Precision::kBf16, Precision::kFp16, Precision::kFp32,
                      Precision::kFp8, Precision::kTf32});
  d.recompute = static_cast<plan::Recompute>(*rc::gen::inRange(0, 3));
  d.recompute_blocks = pick({0, 0, 1, 2});
  d.zero = *rc::gen::inRange(0, 4);
  d.zero_group = pick({0, 0, 1, 2, 4});
  d.context = static_cast<plan::ContextKind>(*rc::gen::inRange(0, 3));
  d.sequence_parallel = pick({true, false});
  d.tensor_overlap = pick({true, false});
  d.data_overlap = pick({true, true, false});
  d.offload.optimizer = pick({0.0, 0.0, 0.5, 1.0});
  d.offload.weights = pick({0.0, 0.0, 0.0, 1.0});
  d.offload.activations = pick({0.0, 0.0, 0.0, 0.25});
  if (!d.offload.none())
    d.offload.tier = pick({plan::Tier::kHost, plan::Tier::kHost, plan::Tier::kNvme});
  // Nearer to what engines take: most plans would otherwise be refused for several reasons.
  const int kind = *rc::gen::inRange(0, 4);
  if (kind == 0) return d;
  d.schedule = d.interleave > 1 ? plan::Schedule::kInterleaved : plan::Schedule::k1f1b;
  d.offload = {};
  d.precision = pick({Precision::kBf16, Precision::kFp16});
  d.context = plan::ContextKind::kZigzag;
  if (kind > 1) {  // as the engines without pipelines take them
    d.pp = d.interleave = d.ep = d.expert_tp = 1;
    d.schedule = plan::Schedule::k1f1b;
    d.data_overlap = true;
    d.tensor_overlap = false;
    d.zero = pick({0, 2, 3, 3});
    d.recompute = pick({plan::Recompute::kNone, plan::Recompute::kFull});
    d.recompute_blocks = 0;
    if (kind == 2) d.tp = d.cp = 1;
    d.sequence_parallel = d.tp > 1 && pick({true, false});
    if (pick({true, false})) d.offload = {double(d.zero == 3), double(d.zero == 3), 0};
    d.zero_group = pick({0, 0, d.cp});
  }
  d.global_batch = d.dp * d.micro_batch * d.pp * 2;
  return d;
}

void expect_round_trip(const plan::Plan& plan, Engine engine, const StackFacts& stack) {
  try {
    const Bundle files = write(engine, plan, stack);
    const Hints hints = read_hints(files);
    RC_ASSERT(hints.engine == engine);
    RC_ASSERT(hints.cluster == plan.cluster.name);
    RC_ASSERT(hints.stack == plan.stack);
    const Reading back = read(files, hints, {plan.cluster.num_devices(), stack, std::nullopt});
    RC_ASSERT(normal(back.degrees, plan.model) == normal(*plan.degrees, plan.model));
    RC_ASSERT(back.model == plan.model);
    RC_ASSERT(back.not_understood.empty());
    RC_TAG(std::string(to_string(engine)));
  } catch (const Errors& errors) {
    for (const Error& error : errors.list()) {
      RC_LOG() << error.code << ": " << error.message << "\n";
      RC_ASSERT(error.code == "export.cannot-express");
      // The comparison at the end found something that the engine's own checks had let through.
      if (error.message.find("it would be") != std::string::npos) {
        RC_LOG() << error.message << "\n";
        RC_FAIL("a difference that no check names");
      }
    }
    RC_TAG(std::string(to_string(engine)) + " refused");
  }
}

RC_GTEST_PROP(Export, IsReadBackTheSameOrRefused, ()) {
  const model::Model model = any_model();
  const Degrees d = any_plan_degrees();
  const int devices = d.num_ranks();
  RC_PRE(devices <= 4096);
  cluster::Cluster machines = plan::testing::make_cluster(devices, 1);
  machines.groups[0].node.device.peak.fill(FlopsPerSecond{1e14});
  const plan::DegreeLimits limits = plan::degree_limits(model, machines);
  RC_PRE(plan::violated_rules(d, limits) == 0U);
  const bool titan = pick({true, false});
  const StackFacts stack{titan ? "torchtitan" : "nemo", !titan, titan};
  const plan::Plan plan = make_plan(model, machines, d, stack.name);
  for (const Engine engine :
       {Engine::kMegatron, Engine::kDeepspeed, Engine::kTorchtitan, Engine::kFsdp})
    expect_round_trip(plan, engine, stack);
}

// Plans that together use every line that the writers have.
std::vector<plan::Plan> many_plans() {
  std::vector<plan::Plan> plans;
  const cluster::Cluster machines = cluster::load_cluster("4xdgx-b200");
  Degrees d;
  d.dp = 32;
  d.global_batch = 128;
  const model::Model dense = model::load_model("llama3-8b");
  const model::Model experts = model::load_model("deepseek-v3");
  const auto add = [&](const model::Model& model, auto change) {
    Degrees n = d;
    change(n);
    plans.push_back(make_plan(model, machines, n));
  };
  add(dense, [](Degrees& n) {
    n.tp = 2;
    n.pp = 4;
    n.dp = 4;
    n.zero = 1;
    n.sequence_parallel = true;
    n.tensor_overlap = true;
    n.recompute = plan::Recompute::kFull;
    n.recompute_blocks = 3;
    n.offload.optimizer = 0.5;
  });
  add(dense, [](Degrees& n) {
    n.pp = 5;
    n.dp = 6;
    n.cp = 1;
    n.global_batch = 60;
    n.recompute = plan::Recompute::kSelective;
  });
  add(dense, [](Degrees& n) {
    n.cp = 2;
    n.dp = 16;
    n.zero = 3;
    n.zero_group = 8;
  });
  add(dense, [](Degrees& n) {
    n.zero = 2;
    n.precision = Precision::kMxfp8;
  });
  add(dense, [](Degrees& n) {
    n.zero = 3;
    n.zero_group = 8;
    n.offload = {1, 1, 0};
    n.recompute = plan::Recompute::kFull;
  });
  add(dense, [](Degrees& n) {
    n.zero = 3;
    n.offload = {1, 0.5, 0};
  });
  add(dense, [](Degrees& n) {
    n.offload.activations = 0.25;
    n.precision = Precision::kFp16;
  });
  add(dense, [](Degrees& n) {
    n.precision = Precision::kNvfp4;
    n.zero = 1;
    n.zero_group = 8;
  });
  add(dense, [](Degrees& n) {
    n.precision = Precision::kFp8;
    n.zero = 2;
  });
  add(dense, [](Degrees& n) {
    n.tp = 2;
    n.dp = 16;
    n.zero = 1;
    n.tensor_overlap = true;
  });
  add(dense, [](Degrees& n) {
    n.tp = 2;
    n.dp = 16;
    n.zero = 3;
  });
  add(dense, [](Degrees& n) {
    n.pp = 2;
    n.dp = 16;
    n.interleave = 2;
    n.zero = 2;
    n.schedule = plan::Schedule::kInterleaved;
  });
  add(dense, [](Degrees& n) {  // Megatron-LM
    using plan::NumberType;
    n.zero = 1;
    n.precision = Precision::kFp8;
    n.state_types = {NumberType::kBf16, NumberType::kBf16, NumberType::kFp8, NumberType::kFp8,
                     NumberType::kFp16};
  });
  add(dense, [](Degrees& n) {  // DeepSpeed
    n.zero = 2;
    n.state_types.gradients = plan::NumberType::kBf16;
    n.state_types.reduced = plan::NumberType::kFp32;
  });
  add(dense, [](Degrees& n) {  // torchtitan
    using plan::NumberType;
    n.zero = 3;
    n.state_types = {.gradients = NumberType::kBf16,
                     .reduced = NumberType::kBf16,
                     .moments = NumberType::kBf16,
                     .master = NumberType::kNone};
  });
  add(experts, [](Degrees& n) {
    n.ep = 8;
    n.zero = 3;
  });
  add(experts, [](Degrees& n) {
    n.ep = 8;
    n.tp = 2;
    n.dp = 16;
    n.sequence_parallel = true;
  });
  add(experts, [](Degrees& n) {
    n.zero = 3;
    n.precision = Precision::kFp32;
  });
  for (plan::Plan& plan : plans) {  // 5 x 6 ranks: their own machines
    if (plan.degrees->num_ranks() == 32) continue;
    plan.cluster = plan::testing::make_cluster(plan.degrees->num_ranks(), 1);
  }
  return plans;
}

std::vector<Bundle> many_exports(Engine engine) {
  std::vector<Bundle> list;
  for (const plan::Plan& plan : many_plans()) {
    try {
      list.push_back(write(engine, plan, {"nemo", true, false}));
    } catch (const Errors&) {
      continue;  // this engine has no words for that one
    }
  }
  return list;
}

void expect_known(const spec::Value& table, const KeySet& keys) {
  const std::vector<std::string> known = keys.all();
  for (const auto& [key, value] : std::get<spec::Table>(table.data))
    EXPECT_THAT(known, ::testing::Contains(key));
}

TEST(ExportNames, MegatronFlagsAreThoseItAccepts) {
  std::set<std::string> used;
  for (const Bundle& files : many_exports(Engine::kMegatron)) {
    const Script script = read_script(find_file(files, "launch.sh")->text, "launch.sh");
    bool behind = false;
    for (const Word& word : script.commands.back().words) {
      behind = behind || word.text.ends_with(".py");
      if (behind && word.text.starts_with("--")) used.insert(word.text);
    }
  }
  EXPECT_GT(used.size(), 60U);
  for (const std::string& flag : used) EXPECT_NE(find_megatron_flag(flag), nullptr) << flag;
}

TEST(ExportNames, DeepspeedKeysAreThoseItAccepts) {
  const std::vector<Bundle> list = many_exports(Engine::kDeepspeed);
  EXPECT_GE(list.size(), 4U);
  for (const Bundle& files : list) {
    const TextFile& file = *find_file(files, "ds_config.json");
    const spec::Value json = spec::parse_json(file.text, file.name);
    expect_known(json, deepspeed_keys());
    expect_known(*json.find("zero_optimization"), deepspeed_zero_keys());
  }
}

TEST(ExportNames, TorchtitanKeysAreThoseItAccepts) {
  const std::vector<Bundle> list = many_exports(Engine::kTorchtitan);
  EXPECT_GE(list.size(), 4U);
  for (const Bundle& files : list) {
    const TextFile& file = *find_file(files, "train.toml");
    const spec::Value toml = spec::parse_toml(file.text, file.name);
    for (const auto& [name, table] : std::get<spec::Table>(toml.data)) {
      bool found = false;
      for (const TitanSection& section : torchtitan_sections()) {
        if (section.name != name) continue;
        found = true;
        expect_known(table, section.keys);
      }
      EXPECT_TRUE(found) << name;
    }
  }
}

TEST(ExportNames, AccelerateKeysAreThoseItAccepts) {
  const std::vector<Bundle> list = many_exports(Engine::kFsdp);
  EXPECT_GE(list.size(), 4U);
  for (const Bundle& files : list) {
    const TextFile& file = *find_file(files, "accelerate.yaml");
    const spec::Value yaml = spec::parse_yaml(file.text, file.name);
    expect_known(yaml, accelerate_keys());
    if (const spec::Value* fsdp = yaml.find("fsdp_config"))
      expect_known(*fsdp, accelerate_fsdp_keys());
    if (const spec::Value* axes = yaml.find("parallelism_config"))
      expect_known(*axes, accelerate_parallelism_keys());
  }
}

TEST(Export, OwnStagesGoToMegatronAndTorchtitan) {
  const model::Model model = model::load_model("llama3-8b");
  Degrees d;
  d.pp = 4;
  d.dp = 2;
  d.zero = 2;
  d.global_batch = 32;
  plan::Plan plan = make_plan(model, cluster::load_cluster("1xdgx-h100"), d);
  plan.degrees.reset();
  plan.placement = plan::expand(d, model, {0, 6, 16, 26, 34});
  for (const Engine engine : {Engine::kMegatron, Engine::kTorchtitan}) {
    const Bundle files = write(engine, plan, {"nemo", true, false});
    const Reading back = read(files, read_hints(files), {8, {"nemo", true, false}, std::nullopt});
    EXPECT_THAT(back.blocks, ::testing::ElementsAre(5, 10, 10, 7));
  }
  plan.placement.runs[0].replicas[0].micro_batch = 2;
  try {
    write(Engine::kMegatron, plan, {"nemo", true, false});
    ADD_FAILURE();
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list()[0].code, "export.irregular");
  }
}

TEST(Import, DeepspeedAloneNeedsAModel) {
  const Bundle files = {
      {"ds.json", R"({"train_batch_size": 64, "zero_optimization": {"stage": 2}})"}};
  const Hints hints = read_hints(files);
  EXPECT_EQ(hints.engine, Engine::kDeepspeed);
  EXPECT_THROW(read(files, hints, {8, {}, std::nullopt}), Errors);
  const Reading r = read(files, hints, {8, {}, model::load_model("gpt2")});
  EXPECT_EQ(r.degrees.zero, 2);
  EXPECT_EQ(r.degrees.dp, 8);
  EXPECT_EQ(r.degrees.global_batch, 64);
  EXPECT_EQ(r.degrees.micro_batch, 8);
  EXPECT_EQ(r.degrees.precision, Precision::kFp32);
}

TEST(Import, SlipsInKeysAreErrors) {
  const model::Model gpt = model::load_model("gpt2");
  const auto read_one = [&](const char* name, const char* text) {
    const Bundle files = {{name, text}};
    return read(files, read_hints(files), {8, {}, gpt});
  };
  EXPECT_THROW(read_one("a.json", R"({"train_batch_sise": 64})"), Errors);
  EXPECT_THROW(read_one("a.json", R"({"zero_optimization": {"stge": 2}})"), Errors);
  EXPECT_THROW(read_one("a.toml", "[paralelism]\ntensor_parallel_degree = 2\n"), Errors);
  EXPECT_THROW(read_one("a.toml", "[parallelism]\ntensor_paralel_degree = 2\n"), Errors);
  EXPECT_THROW(read_one("a.yaml", "distributed_type: FSDP\nmixed_precison: bf16\n"), Errors);
  EXPECT_EQ(read_one("a.json", R"({"our_key": 1})").not_understood.size(), 1U);
  EXPECT_EQ(read_one("a.toml", "[ours]\nx = 1\n").not_understood.size(), 1U);
}

}  // namespace
}  // namespace nereus::exporting::bundle_test
