#include "worker/measure/measure_kernels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "worker/device/torch_compat.hpp"
#include "worker/measure/timed_call.hpp"
#include "worker/state/optimizer.hpp"

namespace nereus::worker {

namespace {

using profile::Kernel;

struct Case {
  Kernel about;
  std::function<std::function<void()>()> prepare;  // makes its tensors; the call uses them
};

struct Width {
  const char* name;
  at::ScalarType type;
};

double product(const std::vector<std::int64_t>& sizes) {
  double all = 1;
  for (const std::int64_t size : sizes) all *= static_cast<double>(size);
  return all;
}

at::Tensor noise(const at::Device& device, const Width& width,
                 const std::vector<std::int64_t>& shape) {
  return at::randn(shape, at::TensorOptions(device).dtype(at::kFloat)).to(width.type);
}

class Cases {
 public:
  explicit Cases(const at::Device& device) : device_(device) {}
  std::vector<Case> list;

  void gemm(const Width& width, std::int64_t m, std::int64_t n, std::int64_t k) {
    const double elements = product({m, k}) + product({k, n}) + product({m, n});
    add("gemm", width, {m, n, k}, 2 * product({m, n, k}), elements,
        [device = device_, width, m, n, k] {
          const at::Tensor a = noise(device, width, {m, k}), b = noise(device, width, {n, k});
          at::Tensor c = noise(device, width, {m, n});
          return [a, b, c]() mutable { at::mm_out(c, a, b.t()); };
        });
  }

  void attention(const Width& width, std::int64_t samples, std::int64_t heads, std::int64_t tokens,
                 std::int64_t size) {
    const double scores = product({samples, heads, tokens, tokens});
    add("attention", width, {samples, heads, tokens, size}, 4 * scores * static_cast<double>(size),
        4 * product({samples, heads, tokens, size}), [=, device = device_] {
          const std::vector<std::int64_t> shape{samples, heads, tokens, size};
          const at::Tensor q = noise(device, width, shape), k = noise(device, width, shape),
                           v = noise(device, width, shape);
          return [q, k, v] {
            const at::NoGradGuard no_graph;
            worker::attention(q, k, v, true);
          };
        });
  }

  void norm(const Width& width, std::int64_t rows, std::int64_t columns) {
    add("norm", width, {rows, columns}, 8 * product({rows, columns}), 2 * product({rows, columns}),
        [device = device_, width, rows, columns] {
          const at::Tensor x = noise(device, width, {rows, columns}),
                           weight = noise(device, width, {columns});
          return [x, weight, columns] {
            const at::NoGradGuard no_graph;
            at::layer_norm(x, {columns}, weight, weight);
          };
        });
  }

  // A sum of two, as of a residual: two reads and a write.
  void element_wise(const Width& width, std::int64_t elements) {
    add("element_wise", width, {elements}, static_cast<double>(elements),
        3 * static_cast<double>(elements), [device = device_, width, elements] {
          const at::Tensor a = noise(device, width, {elements}),
                           b = noise(device, width, {elements});
          at::Tensor c = noise(device, width, {elements});
          return [a, b, c]() mutable { at::add_out(c, a, b); };
        });
  }

  void convolution(const Width& width, std::int64_t samples, std::int64_t from, std::int64_t to,
                   std::int64_t image, std::int64_t kernel) {
    const double outputs = product({samples, to, image, image});
    add("convolution", width, {samples, from, to, image, kernel},
        2 * outputs * product({from, kernel, kernel}),
        product({samples, from, image, image}) + outputs + product({from, to, kernel, kernel}),
        [=, device = device_] {
          const at::Tensor x = noise(device, width, {samples, from, image, image});
          const at::Tensor weight = noise(device, width, {to, from, kernel, kernel});
          return [x, weight, kernel] {
            const at::NoGradGuard no_graph;
            at::conv2d(x, weight, {}, 1, kernel / 2);
          };
        });
  }

  // AdamW in fp32: reads weight, gradient and two moments, writes all but the gradient.
  void optimizer(std::int64_t elements) {
    const Width width{"fp32", at::kFloat};
    add("optimizer", width, {elements}, 12 * static_cast<double>(elements),
        7 * static_cast<double>(elements), [device = device_, width, elements] {
          const at::Tensor w = noise(device, width, {elements}),
                           g = noise(device, width, {elements});
          const at::Tensor m = at::zeros_like(w), v = at::zeros_like(w);
          const UpdateConstants constants{1e-6, 0.9, 0.95, 1e-8, 0, 0, 1, 0.1, 0.05};
          return [=] { update_flat(w, g, m, v, constants); };
        });
  }

 private:
  template <class Prepare>
  void add(const char* kind, const Width& width, std::vector<std::int64_t> shape, double flops,
           double elements, Prepare prepare) {
    const auto bytes = static_cast<double>(c10::elementSize(width.type));
    list.push_back({{kind, width.name, std::move(shape), flops, elements * bytes, {}},
                    [prepare]() -> std::function<void()> { return prepare(); }});
  }

  at::Device device_;
};

// Blocks of GPT-2 and of a ResNet, and squares between which others lie.
std::vector<Case> cpu_cases(bool all) {
  const at::Device cpu(at::kCPU);
  Cases cases(cpu);
  const Width fp32{"fp32", at::kFloat};
  for (const std::int64_t size : {128, 256, 512, 1024})
    if (all || size < 1024) cases.gemm(fp32, size, size, size);
  cases.gemm(fp32, 512, 2304, 768);
  cases.gemm(fp32, 512, 3072, 768);
  cases.gemm(fp32, 512, 768, 3072);
  if (all) cases.gemm(fp32, 512, 50257, 768);
  cases.attention(fp32, 1, 12, 128, 64);
  cases.attention(fp32, 1, 12, 512, 64);
  if (all) cases.attention(fp32, 1, 12, 1024, 64);
  cases.norm(fp32, 512, 768);
  cases.element_wise(fp32, 1 << 16);
  cases.element_wise(fp32, 1 << 22);
  cases.convolution(fp32, 1, 64, 64, 56, 3);
  cases.convolution(fp32, 1, 256, 64, 56, 1);
  if (all) cases.convolution(fp32, 1, 512, 512, 7, 3);
  cases.optimizer(1 << 16);
  cases.optimizer(1 << 22);
  return std::move(cases.list);
}

std::vector<Case> gpu_cases(const at::Device& device, bool all) {
  Cases cases(device);
  const Width bf16{"bf16", at::kBFloat16}, fp32{"fp32", at::kFloat};
  for (const Width& width : {bf16, fp32}) {
    for (const std::int64_t size : {512, 1024, 2048, 4096, 8192})
      if (size < 8192 || (all && width.type == at::kBFloat16)) cases.gemm(width, size, size, size);
    cases.gemm(width, 8192, 3072, 768);
    cases.gemm(width, 8192, 768, 3072);
    cases.gemm(width, 8192, 50257, 768);
    cases.norm(width, 8192, 768);
    cases.norm(width, 8192, 4096);
    cases.element_wise(width, 1 << 20);
    cases.element_wise(width, 1 << 26);
    cases.convolution(width, 32, 64, 64, 56, 3);
    cases.convolution(width, 32, 256, 64, 56, 1);
    cases.convolution(width, 32, 512, 512, 7, 3);
  }
  cases.attention(bf16, 8, 12, 1024, 64);
  cases.attention(bf16, 4, 32, 2048, 128);
  if (all) cases.attention(bf16, 1, 32, 8192, 128);
  cases.optimizer(1 << 22);
  cases.optimizer(1 << 26);
  return std::move(cases.list);
}

}  // namespace

Depth depth_of(bool quick) { return quick ? Depth{3, 0.01, false} : Depth{}; }

std::vector<Kernel> measure_kernels(const at::Device& device, const Depth& depth, const Say& say) {
  allow_tf32(false);
  const std::vector<Case> cases =
      device.is_cuda() ? gpu_cases(device, depth.all_shapes) : cpu_cases(depth.all_shapes);
  std::vector<TimedCall> calls;
  for (const Case& own : cases) {
    say(fmt::format("{} {}", own.about.kind, fmt::join(own.about.shape, " x ")));
    calls.emplace_back(device, own.prepare(), depth.repeat_seconds);
  }
  std::vector<std::vector<double>> seconds(cases.size());
  for (int round = 0; round < depth.rounds; ++round) {
    say(fmt::format("{} kernels, round {} of {}", cases.size(), round + 1, depth.rounds));
    for (std::size_t i = 0; i < calls.size(); ++i) seconds[i].push_back(calls[i].repeat());
  }
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    kernels.push_back(cases[i].about);
    kernels.back().seconds = profile::quantiles_of(seconds[i]);
  }
  return kernels;
}

std::vector<profile::Copy> measure_copies(const at::Device& device, const Depth& depth,
                                          const Say& say) {
  // Larger than any cache.
  const std::int64_t bytes = device.is_cuda() ? 256 << 20 : 128 << 20;
  const auto host = at::TensorOptions(at::kCPU).dtype(at::kByte);
  struct Pair {
    const char* kind;
    at::Tensor from, to;
  };
  std::vector<Pair> pairs;
  const at::Tensor here = at::ones({bytes}, host);
  if (device.is_cuda()) {
    const at::Tensor there = at::ones({bytes}, host.device(device));
    const at::Tensor pinned = at::ones({bytes}, host).pin_memory();
    pairs = {{"copy", there, at::ones_like(there)},
             {"host_to_device_pageable", here, there},
             {"host_to_device_pinned", pinned, there},
             {"device_to_host_pageable", there, here},
             {"device_to_host_pinned", there, pinned}};
  } else {
    pairs = {{"copy", here, at::ones_like(here)}};
  }
  std::vector<profile::Copy> copies;
  for (const Pair& pair : pairs) {
    say(fmt::format("memory: {}", pair.kind));
    std::vector<double> seconds;
    for (int i = 0; i <= depth.rounds; ++i) {
      finish_device(device);
      const auto start = std::chrono::steady_clock::now();
      at::Tensor to = pair.to;
      to.copy_(pair.from, true);
      finish_device(device);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      if (i > 0) seconds.push_back(took.count());  // the first finds its pages
    }
    copies.push_back({pair.kind, static_cast<double>(bytes),
                      profile::rates_of(static_cast<double>(bytes), seconds)});
  }
  return copies;
}

profile::Jitter measure_jitter(const at::Device& device, bool quick) {
  const std::int64_t size = device.is_cuda() ? 2048 : 192;
  const at::Tensor a = at::randn({size, size}, at::TensorOptions(device));
  at::Tensor c = at::empty_like(a);
  std::vector<double> seconds;
  const int repeats = quick ? 500 : 2000;
  for (int i = 0; i < repeats + 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    at::mm_out(c, a, a);
    finish_device(device);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (i >= 20) seconds.push_back(took.count());
  }
  profile::Jitter jitter;
  jitter.seconds = profile::quantiles_of(seconds);
  jitter.p99 = profile::quantile(seconds, 0.99) / jitter.seconds.median - 1;
  jitter.worst = profile::quantile(seconds, 1) / jitter.seconds.median - 1;
  return jitter;
}

}  // namespace nereus::worker
