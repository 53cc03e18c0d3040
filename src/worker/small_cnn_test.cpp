// Small convolutional networks on one and two stages, against libtorch's own operators and
// autograd.
#include <gtest/gtest.h>

#include "worker/cnn_testing.hpp"

namespace nereus::worker::small_cnn_test {
namespace {

using testing::degrees;
using testing::expect_same;
using testing::largest;
using testing::Outcome;

// The small networks as anybody would write them with libtorch, weights by torchvision's names.
struct PlainSmall {
  std::map<std::string, at::Tensor> weights;

  explicit PlainSmall(const model::Model& model) {
    for (const auto& layer : build_layers(model))
      for (const Parameter& p : layer->parameters())
        weights[p.name] = initial_value(p, 0).to(at::kDouble).set_requires_grad(true);
  }
  at::Tensor conv(const at::Tensor& x, const std::string& name, int stride, int pad,
                  int groups = 1) {
    const auto bias = weights.find(name + ".bias");
    return at::conv2d(x, weights.at(name + ".weight"),
                      bias == weights.end() ? at::Tensor() : bias->second, stride, pad, 1, groups);
  }
  at::Tensor norm(const at::Tensor& x, const std::string& name) {
    return at::batch_norm(x, weights.at(name + ".weight"), weights.at(name + ".bias"), {}, {}, true,
                          0.1, 1e-5, false);
  }
  at::Tensor dense(const at::Tensor& x, const std::string& name) {
    return at::linear(x.flatten(1), weights.at(name + ".weight"), weights.at(name + ".bias"));
  }

  at::Tensor alexnet(at::Tensor x) {
    x = at::max_pool2d(at::relu(conv(x, "features.0", 4, 2)), 3, 2);
    x = at::max_pool2d(at::relu(conv(x, "features.3", 1, 2)), 3, 2);
    for (const char* place : {"6", "8", "10"})
      x = at::relu(conv(x, std::string("features.") + place, 1, 1));
    x = at::adaptive_avg_pool2d(at::max_pool2d(x, 3, 2), {6, 6});
    x = at::relu(dense(x, "classifier.1"));
    return dense(at::relu(dense(x, "classifier.4")), "classifier.6");
  }
  at::Tensor squeezenet(at::Tensor x) {
    x = at::max_pool2d(at::relu(conv(x, "features.0", 2, 0)), 3, 2, 0, 1, true);
    for (const int place : {3, 4, 5, 7, 8, 9, 10, 12}) {
      const std::string at = "features." + std::to_string(place) + ".";
      x = at::relu(conv(x, at + "squeeze", 1, 0));
      x = at::cat(
          {at::relu(conv(x, at + "expand1x1", 1, 0)), at::relu(conv(x, at + "expand3x3", 1, 1))},
          1);
      if (place == 5 || place == 10) x = at::max_pool2d(x, 3, 2, 0, 1, true);
    }
    return at::relu(conv(x, "classifier.1", 1, 0)).mean({2, 3});
  }
  at::Tensor mobilenet(at::Tensor x) {
    const auto relu6 = [](const at::Tensor& y) { return at::clamp(y, 0, 6); };
    const auto pair = [&](const at::Tensor& y, const std::string& at, int stride, int pad,
                          int groups) {
      return relu6(norm(conv(y, at + "0", stride, pad, groups), at + "1"));
    };
    const int strides[] = {1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1};
    x = pair(x, "features.0.", 2, 1, 1);
    for (int i = 1; i <= 17; ++i) {
      const std::string at = "features." + std::to_string(i) + ".conv.";
      int part = 0;
      at::Tensor y = x;
      if (i > 1) y = pair(y, at + std::to_string(part++) + ".", 1, 0, 1);
      y = pair(y, at + std::to_string(part++) + ".", strides[i - 1], 1,
               static_cast<int>(y.size(1)));
      y = norm(conv(y, at + std::to_string(part), 1, 0), at + std::to_string(part + 1));
      x = y.sizes() == x.sizes() ? x + y : y;
    }
    return dense(pair(x, "features.18.", 1, 0, 1).mean({2, 3}), "classifier.1");
  }
  at::Tensor shufflenet(at::Tensor x) {
    x = at::relu(norm(conv(x, "conv1.0", 2, 1), "conv1.1"));
    x = at::max_pool2d(x, 3, 2, 1);
    const int units[] = {4, 8, 4};
    for (int stage = 2; stage <= 4; ++stage)
      for (int i = 0; i < units[stage - 2]; ++i) {
        const std::string at = "stage" + std::to_string(stage) + "." + std::to_string(i) + ".";
        const int stride = i == 0 ? 2 : 1;
        at::Tensor left = x, right = x;
        if (stride == 1) {
          left = x.chunk(2, 1)[0];
          right = x.chunk(2, 1)[1];
        } else {
          const int channels = static_cast<int>(x.size(1));
          left = norm(conv(x, at + "branch1.0", 2, 1, channels), at + "branch1.1");
          left = at::relu(norm(conv(left, at + "branch1.2", 1, 0), at + "branch1.3"));
        }
        right = at::relu(norm(conv(right, at + "branch2.0", 1, 0), at + "branch2.1"));
        const int half = static_cast<int>(right.size(1));
        right = norm(conv(right, at + "branch2.3", stride, 1, half), at + "branch2.4");
        right = at::relu(norm(conv(right, at + "branch2.5", 1, 0), at + "branch2.6"));
        x = at::cat({left, right}, 1);
        const auto n = x.size(0), c = x.size(1), h = x.size(2), w = x.size(3);
        x = x.view({n, 2, c / 2, h, w}).transpose(1, 2).reshape({n, c, h, w});
      }
    return dense(at::relu(norm(conv(x, "conv5.0", 1, 0), "conv5.1")).mean({2, 3}), "fc");
  }
  at::Tensor logits(const std::string& family, const at::Tensor& x) {
    return family == "alexnet"      ? alexnet(x)
           : family == "squeezenet" ? squeezenet(x)
           : family == "mobilenet"  ? mobilenet(x)
                                    : shufflenet(x);
  }
};

// On one rank against autograd, and on two stages with branches between them against one rank.
TEST(Cnn, SmallNetworksAreAutogradsOnOneAndTwoStages) {
  for (const char* family : {"alexnet", "squeezenet", "mobilenet", "shufflenet"}) {
    SCOPED_TRACE(family);
    const model::Model model = model::build_cnn(
        {.name = family, .family = family, .channels = 8, .image = 64, .classes = 10});
    job::Job alone = testing::make_job(model, degrees(1, 1, 4, 4));
    alone.training.norm_group = 4;
    const Outcome expected = testing::run_job(alone, 1, testing::reader_of(model));
    PlainSmall plain(model);
    const Batch batch = testing::read_images(*model.cnn, 0, 0, 4);
    const at::Tensor loss =
        at::cross_entropy_loss(plain.logits(family, batch.inputs.to(at::kDouble)), batch.targets);
    loss.backward();
    EXPECT_NEAR(expected.losses.at(0), loss.item<double>(), 1e-12);
    ASSERT_EQ(expected.gradients.size(), plain.weights.size());
    for (const auto& [name, weight] : plain.weights)
      EXPECT_LE(largest(expected.gradients.at(name) - weight.grad().view({-1})),
                1e-9 * std::max(1e-6, largest(weight.grad())))
          << name;
    job::Job job = testing::make_job(model, degrees(2, 1, 4, 4));
    job.training.norm_group = 4;
    expect_same(testing::run_job(job, 1, testing::reader_of(model), "shared"), expected, 1e-12);
  }
}

}  // namespace
}  // namespace nereus::worker::small_cnn_test
