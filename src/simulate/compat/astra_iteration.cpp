#include "simulate/compat/astra_iteration.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "simulate/list_schedule.hpp"

namespace nereus::simulate {

namespace {

constexpr int kCompute = 0;
constexpr int kNetwork = 1;
constexpr double kMost = 9e18;  // ns that 64 bits count

struct Work {
  double flops = 0;
  double bytes = 0;
};

struct Gemm {
  double m = 0, k = 0, n = 0;
  Work work() const { return {2 * m * k * n, 2 * (m * k + k * n + m * n)}; }
  Gemm input_gradient() const { return {m, n, k}; }
  Gemm weight_gradient() const { return {k, m, n}; }
};

// Adds nodes one after the other, remembering the end of the chain.
class Chain {
 public:
  Chain(double peak, double memory) : peak_(peak), memory_(memory) {}

  void compute(Work work) {
    const double rate = std::min(peak_, memory_ * (work.flops / work.bytes));
    const double ns = 1e9 * work.flops / rate;
    total_ += ns;
    link(kCompute, total_ < kMost ? static_cast<std::int64_t>(std::floor(ns)) : 0);
  }
  void collective(std::int64_t ns) {
    total_ += static_cast<double>(ns);
    link(kNetwork, total_ < kMost ? ns : 0);
  }
  // A collective that starts here and for which nothing waits.
  void branch(std::int64_t ns) {
    total_ += static_cast<double>(ns);
    graph_.add({kNetwork, total_ < kMost ? ns : 0, {last_}});
  }
  bool too_long() const { return total_ >= kMost; }
  const Graph& graph() const { return graph_; }

 private:
  void link(int lane, std::int64_t ns) {
    last_ = graph_.add({lane, ns, last_ < 0 ? std::vector<int>{} : std::vector<int>{last_}});
  }

  double peak_, memory_;
  double total_ = 0;  // of all nodes, so no less than the end
  Graph graph_;
  int last_ = -1;
};

}  // namespace

AstraIteration astra_iteration(const AstraSystem& system, const AstraDecoder& decoder,
                               const AstraDimension& tensor, const AstraDimension& data) {
  const std::int64_t p = decoder.tp, h = decoder.hidden, tokens = decoder.seq * decoder.batch;
  NEREUS_CHECK(decoder.layers >= 1 && p >= 1 && h % p == 0 && decoder.heads % p == 0,
               "a decoder has layers that divide by tp");
  NEREUS_CHECK(tokens >= 1 && decoder.peak > 0, "tokens, and a device to compute them");

  AstraIteration answer;
  const auto all_reduce = [&](const AstraDimension& on, int ranks, std::int64_t bytes) {
    if (ranks == 1 || !answer.why_not.empty()) return std::int64_t{0};
    AstraOutcome outcome = astra_time(system, on, Collective::kAllReduce, bytes);
    answer.why_not = std::move(outcome.why_not);
    return outcome.ns;
  };
  const std::int64_t tensor_ns = all_reduce(tensor, decoder.tp, 2 * tokens * h);
  const std::int64_t data_ns = all_reduce(data, decoder.dp, 24 * h * h / p);
  if (!answer.why_not.empty()) return answer;

  const auto t = static_cast<double>(tokens), wide = static_cast<double>(h),
             part = static_cast<double>(h / p), seq = static_cast<double>(decoder.seq);
  const Gemm qkv{t, wide, 3 * part}, proj{t, part, wide}, fc1{t, wide, 4 * part},
      fc2{t, 4 * part, wide};
  const double scores = static_cast<double>(decoder.batch * (decoder.heads / p)) * seq * seq;
  const Work attention{4 * t * seq * part, 2 * (3 * t * part + 2 * scores)};

  Chain chain(decoder.peak, system.memory * 1e9);
  const auto reduce_tensor = [&] {
    if (decoder.tp > 1) chain.collective(tensor_ns);
  };
  const auto backward = [&](const Gemm& gemm, bool reduces) {
    chain.compute(gemm.input_gradient().work());
    if (reduces) reduce_tensor();
    chain.compute(gemm.weight_gradient().work());
  };
  for (int layer = 0; layer < decoder.layers; ++layer) {
    chain.compute(qkv.work());
    chain.compute(attention);
    chain.compute(proj.work());
    reduce_tensor();
    chain.compute(fc1.work());
    chain.compute(fc2.work());
    reduce_tensor();
  }
  for (int layer = 0; layer < decoder.layers; ++layer) {
    backward(fc2, false);
    backward(fc1, true);
    backward(proj, false);
    chain.compute({2 * attention.flops, 2 * attention.bytes});
    backward(qkv, true);
    if (decoder.dp > 1) chain.branch(data_ns);
  }
  if (chain.too_long()) {
    answer.why_not = "takes longer than 64 bits of ns can count";
    return answer;
  }
  const ListSchedule schedule = run(chain.graph());
  answer.ns = schedule.end;
  answer.compute_ns = schedule.busy[kCompute];
  answer.nodes = static_cast<std::int64_t>(chain.graph().nodes().size());
  return answer;
}

}  // namespace nereus::simulate
