// Convolutional networks on ranks: against libtorch's own operators and autograd, and BatchNorm
// over data ranks against one rank.
#include <gtest/gtest.h>

#include "base/temporary_folder.hpp"
#include "worker/cnn_testing.hpp"
#include "worker/ops/convolution.hpp"

namespace nereus::worker::cnn_training_test {
namespace {

using plan::Degrees;
using testing::degrees;
using testing::expect_same;
using testing::largest;
using testing::Outcome;

// ResNet-18 as anybody would write it with libtorch, weights by torchvision's names.
struct PlainResnet {
  std::map<std::string, at::Tensor> weights;     // leaves
  std::map<std::string, at::Tensor> statistics;  // [2, c]

  explicit PlainResnet(const model::Model& model) {
    for (const auto& layer : build_layers(model)) {
      for (const Parameter& p : layer->parameters())
        weights[p.name] = initial_value(p, 0).to(at::kDouble).set_requires_grad(true);
      if (const auto norm = layer->norm()) {
        at::Tensor& s = statistics[norm->name] = at::zeros({2, norm->channels}, at::kDouble);
        s[1].fill_(1);
      }
    }
  }

  at::Tensor conv(const at::Tensor& x, const std::string& name, int stride, int pad) {
    return at::conv2d(x, weights.at(name + ".weight"), {}, stride, pad);
  }
  at::Tensor norm(const at::Tensor& x, const std::string& name) {
    at::Tensor mean = statistics.at(name)[0], variance = statistics.at(name)[1];
    return at::batch_norm(x, weights.at(name + ".weight"), weights.at(name + ".bias"), mean,
                          variance, true, 0.1, 1e-5, false);
  }
  at::Tensor block(const at::Tensor& x, const std::string& at, int stride) {
    at::Tensor y = at::relu(norm(conv(x, at + "conv1", stride, 1), at + "bn1"));
    y = norm(conv(y, at + "conv2", 1, 1), at + "bn2");
    const bool same = weights.count(at + "downsample.0.weight") == 0;
    return at::relu(
        y + (same ? x : norm(conv(x, at + "downsample.0", stride, 0), at + "downsample.1")));
  }
  at::Tensor loss(const Batch& batch) {
    at::Tensor x = at::relu(norm(conv(batch.inputs.to(at::kDouble), "conv1", 2, 3), "bn1"));
    x = at::max_pool2d(x, 3, 2, 1);
    for (int stage = 1; stage <= 4; ++stage)
      for (int i = 0; i < 2; ++i)
        x = block(x, "layer" + std::to_string(stage) + "." + std::to_string(i) + ".",
                  stage > 1 && i == 0 ? 2 : 1);
    x = at::linear(x.mean({2, 3}), weights.at("fc.weight"), weights.at("fc.bias"));
    return at::cross_entropy_loss(x, batch.targets, {}, at::Reduction::Sum);
  }
};

TEST(Cnn, OneStepOfResnet18IsAutograds) {
  const model::Model model = model::build_cnn(
      {.name = "r18", .family = "resnet", .depth = 18, .channels = 16, .image = 64, .classes = 10});
  job::Job job = testing::make_job(model, degrees(1, 1, 4, 2));
  job.training.norm_group = 2;
  const Outcome got = testing::run_job(job, 1, testing::reader_of(model));

  PlainResnet plain(model);
  double loss = 0;
  for (const int first : {0, 2}) {
    const at::Tensor part = plain.loss(testing::read_images(*model.cnn, 0, first, 2)) / 4;
    part.backward();
    loss += part.item<double>();
  }
  EXPECT_NEAR(got.losses.at(0), loss, 1e-12);
  ASSERT_EQ(got.gradients.size(), plain.weights.size());
  for (const auto& [name, weight] : plain.weights)
    EXPECT_LE(largest(got.gradients.at(name) - weight.grad().view({-1})),
              1e-10 * largest(weight.grad()))
        << name;
  ASSERT_EQ(got.statistics.size(), plain.statistics.size());
  for (const auto& [name, statistics] : plain.statistics) {
    EXPECT_TRUE(at::allclose(got.statistics.at(name), statistics, 1e-12, 1e-12)) << name;
    EXPECT_EQ(got.num_batches.at(name), 2);
  }
}

// A placement where rank 0 computes `first` samples of every micro-batch and rank 1 `second`.
void divide_unevenly(plan::Placement& placement, int first, int second, int num_micro_batches) {
  for (plan::LayerRun& run : placement.runs) {
    plan::Replicas a = run.replicas.front();
    a.count = 1;
    a.micro_batch = first;
    a.num_micro_batches = num_micro_batches;
    a.first_sample = a.team_sample_stride = a.micro_batch_stride = 0;
    plan::Replicas b = a;
    b.first = 1;
    b.first_sample = first * num_micro_batches;
    b.micro_batch = second;
    run.replicas = {a, b};
  }
}

// Synchronous BatchNorm over two ranks is one rank whose micro-batches hold the samples of both.
void expect_sync_is_one_rank(const job::Job& together) {
  const model::Model& model = together.plan.model;
  std::vector<std::int64_t> order;  // samples as the groups have them
  std::vector<RankPlan> ranks;
  for (const int rank : data_ranks(together.plan.placement.runs[0], 0))
    ranks.push_back(rank_plan(together.plan.placement, rank));
  ASSERT_EQ(ranks.size(), 2U);
  const std::size_t num_groups = ranks[0].stages[0].micro_batches.size();
  for (std::size_t m = 0; m < num_groups; ++m)
    for (const RankPlan& rank : ranks)
      for (std::int64_t i = 0; i < rank.stages[0].micro_batches.at(m).num_samples; ++i)
        order.push_back(rank.stages[0].micro_batches[m].first_sample + i);
  ASSERT_EQ(order.size(), 8U);
  const ReadBatch in_order = [&](std::int64_t step, std::int64_t first, std::int64_t count) {
    std::vector<at::Tensor> inputs, targets;
    for (std::int64_t i = first; i < first + count; ++i) {
      const Batch one = testing::read_images(*model.cnn, step, order[i], 1);
      inputs.push_back(one.inputs);
      targets.push_back(one.targets);
    }
    return Batch{at::cat(inputs), at::cat(targets)};
  };
  job::Job alone =
      testing::make_job(model, degrees(1, 1, 8, static_cast<int>(order.size() / num_groups)));
  alone.training.norm_group = 0;
  const Outcome expected = testing::run_job(alone, 5, in_order);
  const Outcome got = testing::run_job(together, 5, testing::reader_of(model), "shared");
  expect_same(got, expected, 1e-9);
  for (const auto& [name, gradient] : expected.gradients)
    EXPECT_LE(largest(got.gradients.at(name) - gradient), 1e-9 * largest(gradient)) << name;
}

TEST(Cnn, SyncNormOverRanksIsOneRankWithAllTheirSamples) {
  job::Job job = testing::make_job(testing::small_resnet(), degrees(1, 2, 8, 2));
  job.training.norm_group = 0;
  job.training.norm = job::NormScope::kSync;
  expect_sync_is_one_rank(job);
  Degrees again = *job.plan.degrees;
  again.recompute = plan::Recompute::kFull;
  Degrees split = degrees(2, 2, 8, 1);
  split.schedule = plan::Schedule::kZbH1;
  for (const Degrees& d : {again, split}) {
    job.plan.degrees = d;
    job.plan.placement = plan::expand(d, job.plan.model);
    expect_sync_is_one_rank(job);
  }
}

TEST(Cnn, SyncNormWeighsRanksByTheirSamples) {
  job::Job job = testing::make_job(testing::small_resnet(), degrees(1, 2, 8, 2));
  job.training.norm_group = 0;
  job.training.norm = job::NormScope::kSync;
  job.plan.degrees.reset();
  divide_unevenly(job.plan.placement, 3, 1, 2);
  expect_sync_is_one_rank(job);
}

// Without a group size each micro-batch is a group, in the order of its samples.
TEST(Cnn, MicroBatchesAreGroupsInTheOrderOfTheirSamples) {
  const model::Model model = testing::small_resnet();
  job::Job job = testing::make_job(model, degrees(1, 2, 8, 2));
  job.training.norm_group = 0;
  const Outcome got = testing::run_job(job, 3, testing::reader_of(model), "shared");
  job::Job alone = testing::make_job(model, degrees(1, 1, 8, 4));
  alone.training.norm_group = 2;
  expect_same(got, testing::run_job(alone, 3, testing::reader_of(model)), 1e-9);
}

TEST(Cnn, CheckpointsGoOnUnderAnotherPlanWithTheirStatistics) {
  const model::Model model = testing::small_resnet();
  const TemporaryFolder folder;
  Degrees four = degrees(2, 2, 8, 1);
  four.zero = 1;
  job::Job saves = testing::make_job(model, four);
  saves.training.steps = 6;
  saves.checkpoint.folder = folder.path();
  const Outcome first = testing::run_job(saves, 3, testing::reader_of(model), "shared");

  job::Job whole = testing::make_job(model, degrees(1, 1, 8, 2));
  whole.training.steps = 6;
  const Outcome expected = testing::run_job(whole, 6, testing::reader_of(model));
  Degrees zero3 = degrees(1, 2, 8, 2);
  zero3.zero = 3;
  for (const Degrees& d : {degrees(1, 1, 8, 1), zero3, degrees(4, 1, 8, 1)}) {
    job::Job resumes = testing::make_job(model, d);
    resumes.training.steps = 6;
    resumes.checkpoint.resume = folder.path();
    Outcome got = testing::run_job(resumes, 6, testing::reader_of(model), "shared");
    ASSERT_EQ(got.losses.size(), 3U);
    got.losses.insert(got.losses.begin(), first.losses.begin(), first.losses.end());
    expect_same(got, expected, 1e-9);
  }
}

// Branches that cross from stage to stage, average pools, concatenations. The last images have one
// position, so groups hold two samples.
TEST(Cnn, InceptionOnTwoStagesIsOneRank) {
  const model::Model model =
      model::build_cnn({.name = "inception", .family = "inception", .image = 75, .classes = 10});
  job::Job alone = testing::make_job(model, degrees(1, 1, 2, 2));
  alone.training.norm_group = 2;
  const Outcome expected = testing::run_job(alone, 1, testing::reader_of(model));
  job::Job job = testing::make_job(model, degrees(2, 1, 2, 2));
  job.training.norm_group = 2;
  const Outcome got = testing::run_job(job, 1, testing::reader_of(model), "shared");
  expect_same(got, expected, 1e-12);
  for (const auto& [name, gradient] : expected.gradients)
    EXPECT_LE(largest(got.gradients.at(name) - gradient), 1e-10 * largest(gradient)) << name;
}

TEST(Cnn, TheAuxiliaryHeadCountsFourTenths) {
  const auto layers = build_layers(model::build_cnn(
      {.name = "inception", .family = "inception", .classes = 10, .aux_head = true}));
  PassContext pass;
  pass.loss_scale = 0.5;
  pass.batch.targets = at::tensor({3, 7}, at::kLong);
  const at::Tensor main = at::randn({2, 10}, at::kDouble), aux = at::randn({2, 10}, at::kDouble);
  const double loss = layers.back()->forward({main, aux}, {}, pass).item<double>();
  const at::Tensor expected = at::cross_entropy_loss(main, pass.batch.targets) +
                              0.4 * at::cross_entropy_loss(aux, pass.batch.targets);
  EXPECT_NEAR(loss, expected.item<double>(), 1e-12);
}

// With a bias (VGG), at once and with its weight half later.
TEST(Cnn, ConvolutionsGradientsAreAutograds) {
  for (const bool later : {false, true}) {
    const at::Tensor x = at::randn({2, 3, 9, 7}, at::kDouble).set_requires_grad(true);
    const at::Tensor w = at::randn({4, 3, 3, 5}, at::kDouble).set_requires_grad(true);
    const at::Tensor b = at::randn({4}, at::kDouble).set_requires_grad(true);
    const at::Tensor gy = at::randn({2, 4, 5, 3}, at::kDouble);
    at::conv2d(x, w, b, {2, 2}, {1, 1}).backward(gy);
    const at::Tensor own = x.detach().clone().set_requires_grad(true);
    Weights weights{{w.detach().clone().set_requires_grad(true), b.detach()},
                    {at::ones_like(w), at::ones_like(b)}};
    PassContext pass;
    pass.defer_weights = later;
    convolution(own, weights, 0, 1, {.stride = 2, .pad_height = 1, .pad_width = 1}, pass)
        .backward(gy);
    EXPECT_TRUE(at::allclose(own.grad(), x.grad(), 1e-12, 1e-12));
    EXPECT_EQ(pass.deferred.size(), later ? 1U : 0U);
    for (const auto& half : pass.deferred) half();
    EXPECT_TRUE(at::allclose(weights.gradients[0], w.grad() + 1, 1e-12, 1e-12));
    EXPECT_TRUE(at::allclose(weights.gradients[1], b.grad() + 1, 1e-12, 1e-12));
  }
}

// A dense layer of VGG: nothing else has a ReLU behind one.
TEST(Cnn, DenseLayersGradientsAreAutograds) {
  const model::Model model = model::build_cnn({.name = "vgg", .family = "vgg", .depth = 11});
  const auto layers = build_layers(model);
  const Layer& dense = *layers.at(layers.size() - 2);
  const std::vector<Parameter> parameters = dense.parameters();
  ASSERT_EQ(parameters[0].name, "classifier.3.weight");
  const at::Tensor x = at::randn({3, 4096}).set_requires_grad(true);
  const at::Tensor w = initial_value(parameters[0], 1).set_requires_grad(true);
  const at::Tensor b = at::randn({4096}).set_requires_grad(true);
  const at::Tensor gy = at::randn({3, 4096});
  const at::Tensor y = at::relu(at::linear(x, w, b));
  y.backward(gy);
  const at::Tensor own = x.detach().clone().set_requires_grad(true);
  Weights weights{{w.detach().clone().set_requires_grad(true), b.detach()},
                  {at::zeros_like(w), at::zeros_like(b)}};
  PassContext pass;
  const at::Tensor got = dense.forward({own}, weights, pass);
  got.backward(gy);
  EXPECT_TRUE(at::allclose(got, y, 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(own.grad(), x.grad(), 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(weights.gradients[0], w.grad(), 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(weights.gradients[1], b.grad(), 1e-4, 1e-5));
}

TEST(Cnn, Bf16LearnsWithStatisticsInSinglePrecision) {
  const model::Model model = testing::small_resnet();
  Degrees d = degrees(1, 2, 8, 2);
  d.precision = cluster::Precision::kBf16;
  job::Job job = testing::make_job(model, d);
  const Outcome got = testing::run_job(job, 20, testing::reader_of(model), "shared");
  EXPECT_LT(got.losses.back(), got.losses.front());
  for (const auto& [name, statistics] : got.statistics)
    EXPECT_EQ(statistics.scalar_type(), at::kFloat) << name;
}

TEST(Cnn, TensorParallelConvolutionsAreRefused) {
  Degrees d = degrees(1, 1, 8, 1);
  d.tp = 2;
  const std::vector<Error> errors = cannot_run(testing::make_job(testing::small_resnet(), d).plan);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, "train.tensor");
}

}  // namespace
}  // namespace nereus::worker::cnn_training_test
