// Small models and jobs for tests, and whole jobs run with ranks as threads.
#pragma once

#include <exception>
#include <thread>

#include "base/random.hpp"
#include "plan/expand.hpp"
#include "plan/rules.hpp"
#include "worker/executor.hpp"
#include "worker/masking.hpp"

namespace nereus::worker::testing {

inline model::Model small_gpt() {
  model::TransformerShape shape;
  shape.name = "small-gpt";
  shape.family = "gpt";
  shape.layers = 4;
  shape.hidden = 32;
  shape.heads = 4;
  shape.ffn = 64;
  shape.vocab = 61;  // does not divide
  shape.seq = 16;
  shape.tied_embeddings = true;
  return model::build_transformer(shape);
}

inline model::Model small_llama() {
  model::TransformerShape shape;
  shape.name = "small-llama";
  shape.family = "llama";
  shape.layers = 4;
  shape.hidden = 32;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.ffn = 48;
  shape.vocab = 64;
  shape.seq = 16;
  shape.gated_mlp = true;
  shape.bias = false;
  shape.norm = model::NormKind::kRmsNorm;
  shape.position = model::PositionKind::kRotary;
  return model::build_transformer(shape);
}

inline model::Model small_bert() {
  model::TransformerShape shape;
  shape.name = "small-bert";
  shape.family = "bert";
  shape.layers = 4;
  shape.hidden = 32;
  shape.heads = 4;
  shape.ffn = 64;
  shape.vocab = 61;
  shape.seq = 16;
  shape.tied_embeddings = true;
  shape.causal = false;
  return model::build_transformer(shape);
}

inline job::Job make_job(const model::Model& model, const plan::Degrees& degrees) {
  job::Job job;
  job.plan.model = model;
  job.plan.degrees = degrees;
  job.plan.placement = plan::expand(degrees, model);
  // Steep, so that differences would show; in bf16 they do show at that rate: what rounding leaves
  // of a gradient is up to 0.4 %, and steps of 1e-2 let it grow to 2.5 % of the loss in 20 steps.
  job.training.rate = degrees.precision == cluster::Precision::kBf16 ? 1e-3 : 1e-2;
  job.training.weight_decay = 0.1;
  return job;
}

// Tokens with a pattern to learn, from (step, sample) alone.
inline Batch read_tokens(const model::TransformerShape& shape, std::int64_t step,
                         std::int64_t first, std::int64_t count) {
  at::Tensor tokens = at::empty({count, shape.seq + 1}, at::kLong);
  for (std::int64_t i = 0; i < count; ++i) {
    Random random = Random(17).stream(static_cast<std::uint64_t>(step * 1000 + first + i));
    auto* row = tokens[i].data_ptr<std::int64_t>();
    std::uint64_t token = random.below(static_cast<std::uint64_t>(shape.vocab));
    for (int s = 0; s <= shape.seq; ++s) {
      row[s] = static_cast<std::int64_t>(token);
      token = (token * 5 + 3 + random.below(3)) % static_cast<std::uint64_t>(shape.vocab);
    }
  }
  return {tokens.narrow(1, 0, shape.seq).contiguous(), tokens.narrow(1, 1, shape.seq).contiguous()};
}

struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::map<std::string, at::Tensor> gradients;  // of the first step, whole, by name
};

inline ReadBatch reader_of(const model::Model& model) {
  return [shape = *model.transformer](std::int64_t step, std::int64_t first, std::int64_t count) {
    Batch batch = read_tokens(shape, step, first, count);
    return shape.family == "bert" ? hide_words(batch.inputs, shape, 0, step, first) : batch;
  };
}

// All ranks of the job as threads of this process.
inline Outcome run_job(const job::Job& job, int num_steps, const ReadBatch& read,
                       const std::string& backend = "gloo") {
  int num_ranks = 0;
  for (const plan::LayerRun& run : job.plan.placement.runs)
    for (const plan::Replicas& r : run.replicas)
      for (int team = 0; team < r.count; ++team)
        num_ranks =
            std::max(num_ranks, r.first + team * r.team_stride + (r.tp - 1) * r.tensor_stride + 1);
  auto comms = open_local_comms(backend, num_ranks, std::chrono::seconds(60));
  Outcome outcome;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(num_ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < num_ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        at::set_num_threads(1);
        Executor executor(job, *comms[static_cast<std::size_t>(rank)], read);
        for (int step = 0; step < num_steps; ++step) {
          const StepResult result = executor.run(step);
          if (rank != 0) continue;
          outcome.losses.push_back(result.loss);
          outcome.norms.push_back(result.gradient_norm);
        }
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return outcome;
}

}  // namespace nereus::worker::testing
