#include "worker/run/launches.hpp"

#include <ATen/record_function.h>

#include <atomic>
#include <chrono>

namespace nereus::worker {

namespace {

std::atomic<std::int64_t> operations = 0;

std::unique_ptr<at::ObserverContext> count_one(const at::RecordFunction&) {
  operations.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

constexpr int kChain = 40, kRepeats = 25;

// A layer's worth of small operations, forward and backward.
void run_chain(const at::Tensor& rows, const at::Tensor& weight, const at::Tensor& bias) {
  at::Tensor value = rows;
  for (int i = 0; i < kChain; ++i) value = at::add(at::mm(value, weight), bias);
  value.sum().backward();
}

}  // namespace

std::int64_t count_operations(const std::function<void()>& work) {
  operations = 0;
  const at::CallbackHandle handle =
      at::addGlobalCallback(at::RecordFunctionCallback(count_one).scopes(
          {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  try {
    work();
  } catch (...) {
    at::removeCallback(handle);
    throw;
  }
  at::removeCallback(handle);
  return operations;
}

double seconds_of_empty_operation(at::Device device) {
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(device);
  const at::Tensor rows = at::zeros({0, 8}, options);
  const at::Tensor weight = at::zeros({8, 8}, options).requires_grad_();
  const at::Tensor bias = at::zeros({8}, options).requires_grad_();
  const auto once = [&] { run_chain(rows, weight, bias); };
  static const std::int64_t count = count_operations(once);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRepeats; ++i) once();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / static_cast<double>(kRepeats * count);
}

}  // namespace nereus::worker
