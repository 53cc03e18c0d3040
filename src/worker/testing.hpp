// Small models and jobs for tests, and whole jobs run with ranks as threads.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/random.hpp"
#include "plan/expand.hpp"
#include "plan/rules.hpp"
#include "plan/test_models.hpp"
#include "worker/executor.hpp"
#include "worker/masking.hpp"
#include "worker/saving.hpp"

namespace nereus::worker::testing {

inline model::TransformerShape small_shape(const std::string& family) {
  model::TransformerShape shape;
  shape.name = "small-" + family;
  shape.family = family;
  shape.layers = 4;
  shape.hidden = 32;
  shape.heads = 4;
  shape.ffn = 64;
  shape.vocab = 61;  // does not divide
  shape.seq = 16;
  shape.tied_embeddings = true;
  return shape;
}

inline model::Model small_gpt() { return model::build_transformer(small_shape("gpt")); }

inline model::Model small_llama() {
  model::TransformerShape shape = small_shape("llama");
  shape.kv_heads = 2;
  shape.ffn = 48;
  shape.vocab = 64;
  shape.tied_embeddings = false;
  shape.gated_mlp = true;
  shape.bias = false;
  shape.norm = model::NormKind::kRmsNorm;
  shape.position = model::PositionKind::kRotary;
  return model::build_transformer(shape);
}

// Residual blocks and shortcuts, 21 thousand parameters. The last norms see images of 2 x 2, so
// that a group of one sample has a variance.
// The last norms are over (image / 32)^2 values of a sample.
inline model::Model small_resnet_of(int image) {
  return model::build_cnn({.name = "small-resnet",
                           .family = "resnet",
                           .depth = 10,
                           .channels = 4,
                           .image = image,
                           .classes = 10});
}
inline model::Model small_resnet() { return small_resnet_of(64); }

inline model::Model small_bert() {
  model::TransformerShape shape = small_shape("bert");
  shape.causal = false;
  return model::build_transformer(shape);
}

inline job::Job make_job(const model::Model& model, const plan::Degrees& degrees) {
  job::Job job;
  job.plan.model = model;
  job.plan.degrees = degrees;
  job.plan.cluster = plan::testing::make_cluster(degrees.num_ranks());
  job.plan.placement = plan::expand(degrees, model);
  // Steep, so that differences would show. In bf16 they do show at that rate: what rounding leaves
  // of a gradient is up to 0.4 %, and steps of 1e-2 let it grow to 2.5 % of the loss in 20 steps.
  // So they do in fp32 with norms over one sample: to 2 % at 1e-2, from 1e-7 in the first step.
  const bool exact = degrees.precision == cluster::Precision::kFp64;
  const bool narrow = degrees.precision == cluster::Precision::kBf16;
  job.training.rate = narrow || (model.cnn && !exact) ? 1e-3 : 1e-2;
  job.training.weight_decay = 0.1;
  if (model.cnn) job.training.norm_group = 1;  // the same under every plan
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

// Pictures whose class shows, from (step, sample) alone.
inline Batch read_images(const model::CnnShape& shape, std::int64_t step, std::int64_t first,
                         std::int64_t count) {
  Batch batch{at::empty({count, 3, shape.image, shape.image}, at::kFloat),
              at::empty({count}, at::kLong)};
  for (std::int64_t i = 0; i < count; ++i) {
    Random random = Random(23).stream(static_cast<std::uint64_t>(step * 1000 + first + i));
    const auto label =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(shape.classes)));
    batch.targets[i] = label;
    auto* pixel = batch.inputs[i].data_ptr<float>();
    for (int c = 0; c < 3 * shape.image * shape.image; ++c)
      pixel[c] = static_cast<float>((c / 97 + label * 7) % 11) / 11 +
                 static_cast<float>(random.below(1000)) / 1000 - 1;
  }
  return batch;
}

struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::map<std::string, at::Tensor> gradients;   // of the first step, whole, by name
  std::map<std::string, at::Tensor> statistics;  // after the last step: [2, c] by norm
  std::map<std::string, std::int64_t> num_batches;
};

// What this rank keeps of the gradients, into the whole. Ranks that keep the same write the same;
// what this rank does not keep is not a number until another writes it.
inline void add_gradients(Executor& executor, Outcome& outcome) {
  for (const auto& state : executor.states())
    for (std::size_t i = 0; i < state->parameters().size(); ++i) {
      const Parameter& parameter = state->parameters()[i];
      const std::int64_t offset = state->offset(i);
      if (offset < 0) continue;
      const std::int64_t size = slice_elements(parameter, 0, 1);
      at::Tensor& whole = outcome.gradients[parameter.name];
      const at::Tensor own = state->own_gradient().cpu();
      if (!whole.defined()) whole = at::full({size}, NAN, own.options());
      // Where in the whole the elements of this slice are.
      const at::Tensor places = take_slice(at::arange(size).view(parameter.shape), parameter.cut,
                                           state->slice(), state->num_slices())
                                    .reshape({-1});
      const std::int64_t begin = std::max(state->owned().begin, offset);
      const std::int64_t end = std::min(state->owned().end, offset + places.numel());
      if (begin < end)
        whole.index_copy_(0, places.narrow(0, begin - offset, end - begin),
                          own.narrow(0, begin - state->owned().begin, end - begin));
    }
}

inline void add_statistics(Executor& executor, Outcome& outcome) {
  for (const auto& state : executor.states()) {
    if (!state->statistics() || !state->keeps_statistics()) continue;
    outcome.statistics[state->statistics()->of.name] = state->statistics()->running.clone();
    outcome.num_batches[state->statistics()->of.name] = state->statistics()->num_batches;
  }
}

inline ReadBatch reader_of(const model::Model& model) {
  if (model.cnn)
    return [shape = *model.cnn](std::int64_t step, std::int64_t first, std::int64_t count) {
      return read_images(shape, step, first, count);
    };
  return [shape = *model.transformer](std::int64_t step, std::int64_t first, std::int64_t count) {
    Batch batch = read_tokens(shape, step, first, count);
    return shape.family == "bert" ? hide_words(batch.inputs, shape, 0, step, first) : batch;
  };
}

// The next number of a pipe; false at its end.
inline bool read_all(int descriptor, double* value) {
  return ::read(descriptor, value, sizeof *value) == static_cast<ssize_t>(sizeof *value);
}

// Gradients from one process to another, by a file: lines of names, each followed by its numbers.
inline void write_gradients(const std::string& path, const Outcome& outcome) {
  std::ofstream file(path, std::ios::binary);
  for (const auto& [name, gradient] : outcome.gradients) {
    const at::Tensor wide = gradient.to(at::kDouble).contiguous();
    file << name << ' ' << wide.numel() << '\n';
    file.write(reinterpret_cast<const char*>(wide.data_ptr<double>()), wide.numel() * 8);
  }
}

inline void add_gradients_of(const std::string& path, Outcome& outcome) {
  std::ifstream file(path, std::ios::binary);
  std::string name;
  for (std::int64_t size = 0; file >> name >> size;) {
    file.get();
    at::Tensor part = at::empty({size}, at::kDouble);
    file.read(reinterpret_cast<char*>(part.data_ptr<double>()), size * 8);
    at::Tensor& whole = outcome.gradients[name];
    whole = whole.defined() ? at::where(part.isnan(), whole, part) : part;
  }
  file.close();
  std::remove(path.c_str());  // the wheel exports a std::filesystem of its own
}

inline int ranks_of(const job::Job& job) {
  int num_ranks = 0;
  for (const plan::LayerRun& run : job.plan.placement.runs)
    for (const plan::Replicas& r : run.replicas)
      for (int team = 0; team < r.count; ++team)
        num_ranks =
            std::max(num_ranks, r.first + team * r.team_stride + (r.tp - 1) * r.tensor_stride + 1);
  for (const plan::LayerRun& run : job.plan.placement.runs)
    for (const plan::StateShare& share : run.state)
      for (const plan::RankRange& ranks : share.ranks)
        num_ranks = std::max(num_ranks, ranks.first + (ranks.count - 1) * ranks.stride +
                                            (share.num_slices - 1) * share.slice_stride + 1);
  return num_ranks;
}

// Ranks as processes that share one GPU. Threads would not do: libtorch runs the backward passes of
// one process on one thread a GPU, and a rank that waits there for another would wait for ever.
inline Outcome run_on_gpu(job::Job job, int num_steps, const ReadBatch& read) {
  static int number = 0;
  job.machine.device = "cuda";
  const int num_ranks = ranks_of(job);
  const std::string name = "equality-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  const auto file_of = [&](int rank) { return fmt::format("/dev/shm/{}.{}", name, rank); };
  int ends[2];
  NEREUS_CHECK(pipe(ends) == 0, "a pipe");
  std::vector<pid_t> children;
  for (int rank = 0; rank < num_ranks; ++rank) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    try {
      CommOptions options;
      options.backend = "shared";
      options.rank = rank;
      options.num_ranks = num_ranks;
      options.job = name;
      use_own_stream(at::Device(at::kCUDA));
      const auto comm = open_comm(options);
      at::globalContext().setDeterministicCuDNN(true);  // else one rank differs from itself
      Executor executor(job, *comm, read);
      Saver saver(job, rank, num_ranks);
      std::vector<double> losses;
      Outcome own;
      const std::int64_t first = resume(job, executor);
      executor.before_update = [&] { add_gradients(executor, own); };
      for (std::int64_t step = first; step < num_steps; ++step) {
        losses.push_back(executor.run(step).loss);
        executor.before_update = nullptr;
      }
      write_gradients(file_of(rank), own);
      if (saver.saves()) saver.save(num_steps, executor);
      saver.finish();
      const auto bytes = static_cast<ssize_t>(losses.size() * sizeof(double));
      if (rank == 0) NEREUS_CHECK(write(ends[1], losses.data(), losses.size() * 8) == bytes, "");
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  Outcome outcome;
  double loss = 0;
  while (read_all(ends[0], &loss)) outcome.losses.push_back(loss);
  close(ends[0]);
  std::string failed;
  for (std::size_t rank = 0; rank < children.size(); ++rank) {
    int status = 0;
    waitpid(children[rank], &status, 0);
    if (WIFSIGNALED(status))
      failed += fmt::format("rank {}: signal {}; ", rank, WTERMSIG(status));
    else if (status != 0)
      failed += fmt::format("rank {}: exit {}; ", rank, WEXITSTATUS(status));
  }
  for (int rank = 0; rank < num_ranks; ++rank) add_gradients_of(file_of(rank), outcome);
  if (!failed.empty() || outcome.losses.empty())
    throw std::runtime_error(fmt::format("{} losses. {}", outcome.losses.size(), failed));
  return outcome;
}

inline bool on_gpu() {
  const char* device = std::getenv("NEREUS_TEST_DEVICE");
  return device && device == std::string("cuda");
}

// All ranks of the job: as threads of this process, or on the GPU where NEREUS_TEST_DEVICE is cuda.
// Resumes and saves (after the last step) where the job says so; losses are then those of the steps
// that were left. `prepare` is called by each rank, on its thread, before its first step.
using Prepare = std::function<void(int rank, Executor& executor)>;
inline Outcome run_job(const job::Job& job, int num_steps, const ReadBatch& read,
                       const std::string& backend = "gloo", const Prepare& prepare = nullptr) {
  if (on_gpu()) return run_on_gpu(job, num_steps, read);
  const int num_ranks = ranks_of(job);
  auto comms = open_local_comms(backend, num_ranks, std::chrono::seconds(60));
  Outcome outcome;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(num_ranks));
  std::vector<std::thread> threads;
  std::mutex mutex;
  for (int rank = 0; rank < num_ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        at::set_num_threads(1);
        Executor executor(job, *comms[static_cast<std::size_t>(rank)], read);
        if (prepare) prepare(rank, executor);
        const std::int64_t first = resume(job, executor);
        Saver saver(job, rank, num_ranks);  // clears what is left of others: before the first step
        executor.before_update = [&] {
          const std::lock_guard lock(mutex);
          add_gradients(executor, outcome);
        };
        for (std::int64_t step = first; step < num_steps; ++step) {
          const StepResult result = executor.run(step);
          executor.before_update = nullptr;
          if (rank != 0) continue;
          outcome.losses.push_back(result.loss);
          outcome.norms.push_back(result.gradient_norm);
        }
        if (saver.saves()) saver.save(num_steps, executor);
        saver.finish();
        const std::lock_guard lock(mutex);
        add_statistics(executor, outcome);
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  // The cause first: others lost their connection to it.
  std::exception_ptr lost;
  for (const std::exception_ptr& failure : failures) try {
      if (failure) std::rethrow_exception(failure);
    } catch (const CommError&) {
      if (!lost) lost = failure;
    }
  if (lost) std::rethrow_exception(lost);
  return outcome;
}

}  // namespace nereus::worker::testing
