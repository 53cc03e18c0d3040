// How long a study of 10^5, 10^6 and 10^7 (cluster, strategy) points takes, from its file to its
// answers, kept in a SQLite file; every point is predicted, none is cut by a bound.
//
// Transformer-1T on 1,024 devices, every MP x DP (11 strategies), over clusters that differ in
// compute, memory, and bandwidth. Limits (issue of the command): 10^7 points in 30 s on two cores,
// below 1 GiB; time grows linearly. The last two are checked here: peak memory, and seconds per
// point at 10^7 against 10^5 within a factor of two.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "app/explore/explore.hpp"
#include "base/temporary_folder.hpp"

namespace {

using namespace nereus;

void fail(const char* what) {
  std::fprintf(stderr, "explore_bench: %s\n", what);
  std::exit(1);
}

// 11 strategies on each of 10 x 10 x 10 x `memories` x `peaks` clusters or fewer.
std::string study(int networks, int insides, int bandwidths, int memories, int peaks) {
  const auto range = [](const char* axis, int from, int by, int count, const char* unit) {
    return std::string(axis) + " = \"" + std::to_string(from) + " " + unit + ".." +
           std::to_string(from + by * (count - 1)) + " " + unit + "+" + std::to_string(by) + " " +
           unit + "\"\n";
  };
  return "name = \"bench\"\nstack = \"ideal\"\n[workload]\nmodel = \"megatron-1t\"\nglobal_batch = "
         "1024\nshape = { heads = 1024, kv_heads = 1024, head_dim = 25 }\n[cluster]\nbase = "
         "\"128xdgx-a100-80\"\n[axes]\n" +
         range("network_bandwidth", 10, 10, networks, "GB/s") +
         range("inside_bandwidth", 100, 50, insides, "GB/s") +
         range("memory_bandwidth", 1000, 500, bandwidths, "GB/s") +
         range("memory", 80, 40, memories, "GB") + range("peak", 300, 100, peaks, "TFLOP/s") +
         "[strategy]\nspace = \"mp-dp\"\nzero = 2\nzero_group = 0\nrecompute = "
         "\"full\"\nmicro_batch "
         "= 1\nsequence_parallel = false\ntensor_overlap = false\ndata_overlap = true\noffload = "
         "\"none\"\n";
}

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

std::map<int, double> seconds_of_point;  // by power of ten

void explore_points(benchmark::State& state) {
  const int power = static_cast<int>(state.range(0));
  const std::string text = power == 5   ? study(10, 10, 10, 3, 3)
                           : power == 6 ? study(10, 10, 10, 10, 9)
                                        : study(20, 20, 20, 10, 12);
  const TemporaryFolder folder;
  const std::string file = folder.write("study.toml", text);
  double points = 0;
  for (auto _ : state) {
    std::filesystem::remove(folder / "study.sqlite");
    const auto ranks = spread::alone();
    app::ExploreRequest request;
    request.study = file;
    const app::ExploreAnswer answer = app::explore(request, *ranks);
    points = static_cast<double>(answer.answers.evaluated);
    if (answer.best.empty() || answer.answers.strategies != answer.answers.evaluated)
      fail("not every point was predicted");
    seconds_of_point[power] = answer.seconds / points;
  }
  state.counters["points"] = points;
  state.counters["points_per_s"] = 1 / seconds_of_point[power];
  state.counters["peak_MiB"] = peak_bytes() / (1 << 20);
  if (power == 7) {
    if (points < 1e7) fail("fewer than ten million points");
    if (peak_bytes() > 1024.0 * (1 << 20)) fail("more than 1 GiB of memory");
    if (seconds_of_point.contains(5) && seconds_of_point[7] > 2 * seconds_of_point[5])
      fail("time does not grow linearly from 10^5 to 10^7 points");
  }
}
BENCHMARK(explore_points)
    ->Arg(5)
    ->Arg(6)
    ->Arg(7)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
