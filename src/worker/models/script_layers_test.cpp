// Modules of a user's own, made here without Python: a stem that two branches read, and a head that
// reads both. Before them a layer that learns nothing, of whose output the head reads but the size.
#include <gtest/gtest.h>
#include <torch/script.h>

#include <filesystem>

#include "base/temporary_folder.hpp"
#include "model/read/load_model.hpp"
#include "worker/models/models.hpp"
#include "worker/worker_testing.hpp"

namespace nereus::worker {
namespace {

namespace fs = std::filesystem;
using torch::jit::Module;

constexpr const char* kModel = R"({"nereus_export": 1, "name": "diamond", "id": "1",
 "input": {"shape": [6], "integer": false}, "target": {"shape": [3], "integer": false},
 "layers": [
  {"name": "entry", "output": [6]},
  {"name": "stem", "inputs": ["entry"], "parameters": [{"name": "weight", "shape": [8, 6]}], "output": [8]},
  {"name": "left", "inputs": ["stem"], "parameters": [{"name": "inner.weight", "shape": [8, 8]},
   {"name": "bias", "shape": [8]}], "output": [8]},
  {"name": "right", "inputs": ["stem"], "output": [8]},
  {"name": "head", "inputs": ["right", "left", "entry"], "parameters": [{"name": "weight", "shape": [3, 8]}],
   "output": [3]}]})";

class ScriptLayers : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("model.json", kModel);
    at::manual_seed(5);
    Module entry("Entry"), stem("Stem"), left("Left"), inner("Inner"), right("Right"), head("Head"),
        loss("Loss");
    entry.define("def forward(self, x):\n  return x * 2\n");
    stem.register_parameter("weight", first_ = at::randn({8, 6}), false);
    stem.define("def forward(self, x):\n  return torch.tanh(x @ self.weight.t())\n");
    inner.register_parameter("weight", at::randn({8, 8}) * 0.3, false);
    left.register_module("inner", inner);
    left.register_parameter("bias", at::randn({8}), false);
    left.define("def forward(self, x):\n  return x @ self.inner.weight + self.bias\n");
    right.register_buffer("scale", at::rand({8}));
    right.define("def forward(self, x):\n  return torch.relu(x) * self.scale\n");
    head.register_parameter("weight", at::randn({3, 8}), false);
    head.define(
        "def forward(self, a, b, c):\n  return (a * b + b) @ self.weight.t() * c.size(1) / 6\n");
    loss.define("def forward(self, y, t):\n  return ((y - t) ** 2).mean(1)\n");
    entry.save(folder_ / "entry.pt");
    stem.save(folder_ / "stem.pt");
    left.save(folder_ / "left.pt");
    right.save(folder_ / "right.pt");
    head.save(folder_ / "head.pt");
    loss.save(folder_ / "loss.pt");
  }

  static Batch read(std::int64_t step, std::int64_t first, std::int64_t count) {
    at::Tensor all = at::empty({count, 9}, at::kDouble);
    for (std::int64_t i = 0; i < count; ++i) {
      Random random = Random(3).stream(static_cast<std::uint64_t>(step * 100 + first + i));
      for (std::int64_t j = 0; j < 9; ++j) all[i][j] = random.uniform() - 0.5;
    }
    return {all.narrow(1, 0, 6).contiguous(), all.narrow(1, 6, 3).contiguous()};
  }

  testing::Outcome train(const plan::Degrees& given, int num_steps) const {
    plan::Degrees d = given;
    d.global_batch = 8;
    d.precision = cluster::Precision::kFp64;
    job::Job job = testing::make_job(model::load_model(folder_.path()), d);
    job.training.optimizer = job::OptimizerKind::kSgd;
    job.training.weight_decay = 0;
    job.training.rate = 0.1;
    return testing::run_job(job, num_steps, read, "shared");
  }

  TemporaryFolder folder_;
  at::Tensor first_;
};

// The same descent by hand, with modules that hold their own weights.
TEST_F(ScriptLayers, TrainAsTheModulesThemselves) {
  std::map<std::string, Module> modules;
  std::vector<at::Tensor> weights;
  for (const char* name : {"entry", "stem", "left", "right", "head", "loss"}) {
    Module module = torch::jit::load(folder_ / (std::string(name) + ".pt"));
    module.to(at::kDouble);
    for (const at::Tensor& weight : module.parameters())
      weights.push_back(weight.set_requires_grad(true));
    modules.emplace(name, module);
  }
  const testing::Outcome got = train({}, 10);
  for (int step = 0; step < 10; ++step) {
    const Batch batch = read(step, 0, 8);
    const c10::IValue entry = modules.at("entry").forward({batch.inputs});
    const c10::IValue stem = modules.at("stem").forward({entry});
    const c10::IValue left = modules.at("left").forward({stem});
    const c10::IValue right = modules.at("right").forward({stem});
    const c10::IValue head = modules.at("head").forward({right, left, entry});
    const at::Tensor loss = modules.at("loss").forward({head, batch.targets}).toTensor().mean();
    EXPECT_NEAR(got.losses[step], loss.item<double>(), 1e-12);
    const auto gradients = torch::autograd::grad({loss}, weights);
    const at::NoGradGuard no_graph;
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i].sub_(gradients[i], 0.1);
  }
  EXPECT_LT(got.losses.back(), got.losses.front());
}

TEST_F(ScriptLayers, LossesAreTheSameUnderAnyPlan) {
  const testing::Outcome expected = train({}, 8);
  const auto expect_same = [&](const char* what, auto change) {
    plan::Degrees d;
    change(d);
    const testing::Outcome got = train(d, 8);
    for (std::size_t i = 0; i < got.losses.size(); ++i)
      EXPECT_NEAR(got.losses[i] / expected.losses[i], 1, 1e-9) << what << " step " << i;
  };
  expect_same("dp 2, ZeRO 3", [](plan::Degrees& d) {
    d.dp = 2;
    d.zero = 3;
  });
  // The stem's output passes through a stage, the entry's through three.
  expect_same("pp 5", [](plan::Degrees& d) { d.pp = 5; });
  expect_same("pp 2 x dp 2, recomputed", [](plan::Degrees& d) {
    d.pp = d.dp = 2;
    d.micro_batch = 2;
    d.recompute = plan::Recompute::kFull;
  });
  expect_same("pp 2, ZB-H1", [](plan::Degrees& d) {
    d.pp = 2;
    d.schedule = plan::Schedule::kZbH1;
  });
}

TEST_F(ScriptLayers, OtherFilesThanPlannedAreRefused) {
  const model::Model model = model::load_model(folder_.path());
  const Layers layers = build_layers(model);
  EXPECT_TRUE(at::equal(layers[1]->starting_value(0, 0), first_));
  EXPECT_EQ(layers[2]->parameters()[0].name, "left.inner.weight");
  EXPECT_EQ(layers[4]->inputs, (std::vector<int>{3, 2, 0}));
  fs::copy_file(folder_ / "head.pt", folder_ / "left.pt", fs::copy_options::overwrite_existing);
  folder_.write("right.pt", "no module");
  EXPECT_THROW(build_layers(model)[2]->starting_value(0, 0), Errors);
  PassContext pass;
  EXPECT_THROW(build_layers(model)[3]->forward({at::ones({1, 8})}, {}, pass), Errors);
  plan::Plan whole;
  whole.model = model;
  plan::Degrees d;
  d.global_batch = 4;
  whole.placement = plan::expand(d, model);
  EXPECT_TRUE(cannot_run(whole).empty());
  whole.placement.runs[0].replicas[0].tp = 2;
  EXPECT_EQ(cannot_run(whole).front().code, "train.script-tensor");
}

}  // namespace
}  // namespace nereus::worker
