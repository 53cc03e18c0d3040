// What a checkpoint costs: 256 MiB of fp32 in 16 matrices of two layers, on two ranks (tp 2).
//
//   checksum      XXH64 over memory
//   snapshot      copying the state away, which is all that training waits for
//   save          from the snapshot to a complete folder, flushed to the disk
//   read_same     every element, divided as it was written; checksums included
//   read_anew     the same on tp 4, cut along the other dim: rows become columns
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/temporary_folder.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/writer.hpp"
#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "plan/expand.hpp"

namespace nereus::checkpoint {
namespace {

constexpr int kTensors = 16;
const Shape kShape = {2048, 2048};
constexpr std::int64_t kElements = 2048LL * 2048;
constexpr std::int64_t kBytes = kTensors * kElements * 4;

std::string name_of(int tensor) { return "h." + std::to_string(tensor) + ".weight"; }

const std::vector<std::byte>& state() {
  static const std::vector<std::byte> kState = [] {
    std::vector<std::byte> bytes(static_cast<std::size_t>(kElements) * 4);
    std::uint32_t x = 1;
    for (std::byte& b : bytes) b = static_cast<std::byte>((x = x * 1664525 + 1013904223) >> 24);
    return bytes;
  }();
  return kState;
}

// A slice along dim 0 is half of the bytes.
std::vector<Part> parts(bool copies) {
  std::vector<Part> list;
  for (int tensor = 0; tensor < kTensors; ++tensor)
    for (int slice = 0; slice < 2; ++slice) {
      const std::size_t half = state().size() / 2;
      Part part{name_of(tensor),
                TensorKind::kWeight,
                DType::kF32,
                kShape,
                {slice, 2, 0},
                0,
                kElements / 2,
                tensor / 8,
                std::span(state()).subspan(half * static_cast<std::size_t>(slice), half)};
      list.push_back(copies ? own_copy(part) : part);
    }
  return list;
}

plan::Plan small_plan() {
  plan::Plan plan;
  plan.model = model::load_model("gpt2", {});
  plan.cluster = cluster::load_cluster("1xdgx-h100");
  plan.degrees = plan::Degrees{};
  plan.degrees->global_batch = 8;
  plan.placement = plan::expand(*plan.degrees, plan.model);
  return plan;
}

constexpr const char* kOnDisk = ".";  // beside the build: a temporary folder may be memory

void checksum(benchmark::State& bench) {
  for (auto _ : bench) benchmark::DoNotOptimize(xxh64(state()));
  bench.SetBytesProcessed(bench.iterations() * kElements * 4);
}

void snapshot(benchmark::State& bench) {
  for (auto _ : bench) benchmark::DoNotOptimize(parts(true));
  bench.SetBytesProcessed(bench.iterations() * kBytes);
}

void save(benchmark::State& bench) {
  const TemporaryFolder folder(kOnDisk);
  const plan::Plan plan = small_plan();
  Writer writer({.folder = folder.path(), .keep = 1});
  std::int64_t step = 0;
  for (auto _ : bench) {
    writer.save({.step = ++step}, plan, parts(false));
    writer.wait();
  }
  bench.SetBytesProcessed(bench.iterations() * kBytes);
}

void read(benchmark::State& bench, int of, int dim) {
  const TemporaryFolder folder(kOnDisk);
  Writer writer({.folder = folder.path()});
  writer.save({.step = 1}, small_plan(), parts(false));
  writer.wait();
  std::vector<std::byte> out(state().size() / static_cast<std::size_t>(of));
  for (auto _ : bench) {
    const Checkpoint saved(*find_latest(folder.path()));  // anew: nothing is verified yet
    for (int tensor = 0; tensor < kTensors; ++tensor)
      for (int slice = 0; slice < of; ++slice)
        saved.read_range(name_of(tensor), TensorKind::kWeight, {slice, of, dim}, 0, kElements / of,
                         out);
  }
  bench.SetBytesProcessed(bench.iterations() * kBytes);
}

BENCHMARK(checksum)->UseRealTime();
BENCHMARK(snapshot)->UseRealTime();
BENCHMARK(save)->UseRealTime();
BENCHMARK_CAPTURE(read, same, 2, 0)->UseRealTime();
BENCHMARK_CAPTURE(read, anew, 4, 1)->UseRealTime();

}  // namespace
}  // namespace nereus::checkpoint

BENCHMARK_MAIN();
