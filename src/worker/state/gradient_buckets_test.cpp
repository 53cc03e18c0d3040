// Buckets give every layer the same sum as without buckets.
#include "worker/state/gradient_buckets.hpp"

#include <gtest/gtest.h>

#include "worker/worker_testing.hpp"

namespace nereus::worker {
namespace {

job::Job dp_job(const model::Model& model, int dp) {
  plan::Degrees d;
  d.dp = dp;
  d.global_batch = dp;
  d.precision = cluster::Precision::kFp64;
  return testing::make_job(model, d);
}

// Small integers: sums are exact in every order.
at::Tensor numbers_of(const LayerState& state, int rank) {
  return at::arange(state.gradients().numel(), at::kDouble)
      .add_(state.layer().index)
      .mul_(rank + 1);
}

// How many collectives: layers from the last to the first, into buckets of at least that size.
std::int64_t expected_buckets(Executor& executor, std::int64_t bucket_bytes) {
  std::int64_t num = 0, bytes = 0;
  for (auto state = executor.states().rbegin(); state != executor.states().rend(); ++state) {
    const std::int64_t own = (*state)->length() * 8;
    if (own == 0 || own >= bucket_bytes) continue;
    bytes += own;
    if (bytes < bucket_bytes) continue;
    ++num;
    bytes = 0;
  }
  return num + (bytes > 0 ? 1 : 0);
}

TEST(GradientBuckets, SumWhatLayersAloneWould) {
  for (const model::Model& model : {testing::small_resnet(), testing::small_llama()})
    for (const int dp : {2, 3})
      for (const std::int64_t bytes :
           {std::int64_t{1}, std::int64_t{3'000}, std::int64_t{20'000}, job::kBucketBytes}) {
        const auto check = [&](int rank, Executor& executor) {
          GradientBuckets buckets(bytes);
          for (auto& state : executor.states()) buckets.add(*state);
          for (int step = 0; step < 2; ++step) {
            for (auto& state : executor.states())
              state->gradients().copy_(numbers_of(*state, rank + step));
            for (auto state = executor.states().rbegin(); state != executor.states().rend();
                 ++state)
              if (!buckets.take(**state)) (*state)->reduce_start();
            buckets.finish();
            for (auto& state : executor.states()) {
              state->reduce_finish();
              at::Tensor sum = at::zeros_like(state->gradients());
              for (int other = 0; other < dp; ++other) sum.add_(numbers_of(*state, other + step));
              EXPECT_TRUE(at::equal(state->gradients(), sum))
                  << model.name << " layer " << state->layer().index << " buckets of " << bytes;
            }
          }
          EXPECT_EQ(buckets.num_started(), 2 * expected_buckets(executor, bytes));
        };
        testing::run_job(dp_job(model, dp), 0, testing::reader_of(model), "shared", check);
      }
}

TEST(GradientBuckets, AStepOfAResnetNeedsOne) {
  const model::Model model = testing::small_resnet();
  testing::run_job(dp_job(model, 2), 0, testing::reader_of(model), "shared",
                   [&](int, Executor& executor) {
                     executor.run(0);
                     EXPECT_EQ(executor.buckets().num_started(), 1);
                   });
}

TEST(GradientBuckets, LeaveDividedStateAlone) {
  const model::Model model = testing::small_resnet();
  job::Job job = dp_job(model, 2);
  plan::Degrees d = *job.plan.degrees;
  d.zero = 1;
  job = testing::make_job(model, d);
  testing::run_job(job, 0, testing::reader_of(model), "shared", [&](int, Executor& executor) {
    executor.run(0);
    EXPECT_EQ(executor.buckets().num_started(), 0);
  });
}

}  // namespace
}  // namespace nereus::worker
