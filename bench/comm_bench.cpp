// How fast do two ranks of one host exchange and sum? Two processes, each pinned to a core of its
// own: messages one way, and the all-reduce of fp32 by the ring over each backend, beside Gloo's
// own collective. GB/s are bytes of the tensor over the time of one operation (for an all-reduce of
// two ranks also what each sends).
//
//   comm_bench [MiB ...]
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "worker/comm/comm.hpp"

#ifdef NEREUS_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif

namespace nereus::worker {
namespace {

using Clock = std::chrono::steady_clock;

void pin_to_core(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  (void)::sched_setaffinity(0, sizeof cores, &cores);
}

// The median of several, after some that warm up.
double median_seconds(const std::function<void()>& operation, std::int64_t bytes) {
  const int repeats = bytes > (8 << 20) ? 15 : 101;
  std::vector<double> times;
  for (int i = 0; i < repeats + 3; ++i) {
    const auto begin = Clock::now();
    operation();
    if (i >= 3) times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

void report(int rank, const std::string& what, std::int64_t bytes, double seconds) {
  if (rank != 0) return;
  fmt::print("{:<28} {:>10.3f} MiB {:>12.1f} us {:>8.2f} GB/s\n", what,
             static_cast<double>(bytes) / (1 << 20), seconds * 1e6,
             static_cast<double>(bytes) / seconds * 1e-9);
  std::fflush(stdout);
}

void measure_comm(const CommOptions& options, std::int64_t bytes) {
  const auto comm = open_comm(options);
  const int other = 1 - comm->rank();
  at::Tensor flat = at::ones({bytes / 4}, at::kFloat), token = at::zeros({1}, at::kFloat);
  report(comm->rank(), fmt::format("{} message", comm->name()), bytes,
         median_seconds(
             [&] {  // and a word back, so that the time is of the whole way
               if (comm->rank() == 0) {
                 const Handle back = comm->receive(token, other, 1);
                 comm->send(flat, other, 0)->wait();
                 back->wait();
               } else {
                 comm->receive(flat, other, 0)->wait();
                 comm->send(token, other, 1)->wait();
               }
             },
             bytes));
  const auto group = comm->group({0, 1});
  report(comm->rank(), fmt::format("{} all-reduce", comm->name()), bytes,
         median_seconds([&] { group->all_reduce(flat)->wait(); }, bytes));
}

#ifdef NEREUS_GLOO
void measure_gloo_itself(const CommOptions& options, std::int64_t bytes) {
  c10d::TCPStoreOptions settings;
  settings.port = static_cast<std::uint16_t>(options.port);
  settings.isServer = options.rank == 0;
  settings.waitWorkers = false;
  auto store = c10::make_intrusive<c10d::TCPStore>(options.address, settings);
  auto choices = c10d::ProcessGroupGloo::Options::create();
  choices->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  choices->threads = 1;
  c10d::ProcessGroupGloo group(store, options.rank, options.num_ranks, choices);
  std::vector<at::Tensor> tensors = {at::ones({bytes / 4}, at::kFloat)};
  report(options.rank, "gloo's own all-reduce", bytes,
         median_seconds([&] { group.allreduce(tensors)->wait(); }, bytes));
  group.barrier()->wait();
  if (options.rank == 0) ::usleep(200'000);  // it hosts the store
}
#endif

// Two processes, before this one has any threads.
void on_two_ranks(const std::function<void(const CommOptions&)>& job, CommOptions options) {
  static int port = 20000 + static_cast<int>(::getpid()) % 20000;
  options.port = ++port;
  options.num_ranks = 2;
  options.job = fmt::format("bench-{}", port);
  const pid_t child = ::fork();
  options.rank = child == 0 ? 1 : 0;
  const pid_t first = child == 0 ? 0 : ::fork();
  if (first > 0) {
    ::waitpid(child, nullptr, 0);
    ::waitpid(first, nullptr, 0);
    return;
  }
  pin_to_core(options.rank);
  at::set_num_threads(1);
  job(options);
  std::fflush(stdout);
  ::_exit(0);
}

}  // namespace
}  // namespace nereus::worker

int main(int argc, char** argv) {
  using namespace nereus::worker;
  std::vector<std::int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]) << 20);
  if (sizes.empty()) sizes = {64 << 20, 1 << 20, 4 << 10};
  for (const std::int64_t bytes : sizes) {
    for (const char* backend : {"gloo", "shared"}) {
      CommOptions options;
      options.backend = backend;
      on_two_ranks([&](const CommOptions& mine) { measure_comm(mine, bytes); }, options);
    }
#ifdef NEREUS_GLOO
    on_two_ranks([&](const CommOptions& mine) { measure_gloo_itself(mine, bytes); }, {});
#endif
  }
}
