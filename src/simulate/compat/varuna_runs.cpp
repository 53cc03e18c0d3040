#include "simulate/compat/varuna_runs.hpp"

#include <cmath>

#include "base/error.hpp"
#include "simulate/pipeline/varuna.hpp"
#include "simulate/table_cells.hpp"

namespace nereus::simulate {

namespace {

constexpr double kMicroseconds = 1e6;

Picoseconds rounded(double seconds) {
  return static_cast<Picoseconds>(std::llround(seconds * 1e12));
}

// Forward in turn, back in reverse.
Order last_first(const PipelineSize& size) {
  Order order = gpipe_order(size);
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    for (int m = 0; m < size.micro_batches; ++m)
      order[rank][size.micro_batches + m].micro_batch = size.micro_batches - 1 - m;
  return with_recompute(order, size, true);
}

PassTimes times_of(const VarunaRun& run, const VarunaView& view) {
  PassTimes times;
  times.at_once = view.at_once;
  const auto message = [&](int from, int to) {
    const bool near = from / run.gpus_per_vm == to / run.gpus_per_vm;
    return rounded(near || run.long_send == 0 ? run.send : run.long_send);
  };
  for (int s = 0; s < run.size.depth; ++s)
    times.stages.push_back({rounded(run.forward), rounded(run.backward), 0, message(s, s + 1),
                            s > 0 ? message(s, s - 1) : 0, rounded(run.forward)});
  return times;
}

VarunaTime mean_of(int draws, auto&& play_one) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double end = play_one(i);
    sum += end;
    squares += end * end;
  }
  VarunaTime time{sum / draws, 0};
  if (draws > 1)
    time.deviation = std::sqrt(std::max(0.0, (squares - sum * time.mean) / (draws - 1)));
  return time;
}

}  // namespace

std::vector<VarunaRun> read_varuna_runs(const spec::Csv& csv) {
  csv.require_all({"mode", "stages", "microbatches", "gpus_per_vm", "fwd_us", "bwd_us", "send_us",
                   "long_send_us", "minibatch_us"});
  ErrorList errors;
  std::vector<VarunaRun> runs;
  for (const spec::CsvRow& row : csv.rows) {
    Cells cells(csv, row, errors);
    VarunaRun run;
    run.line = row.line;
    const std::string& mode = cells.text("mode");
    if (mode != "varuna" && mode != "gpipe")
      errors.add("simulate.varuna-mode", "there is no mode \"" + mode + "\"",
                 csv.where(row, csv.find("mode")), "varuna or gpipe");
    run.gpipe = mode == "gpipe";
    run.size = {static_cast<int>(cells.whole("stages", 1, 1024)), 1,
                static_cast<int>(cells.whole("microbatches", 1, 65'536))};
    run.gpus_per_vm = static_cast<int>(cells.whole("gpus_per_vm", 1, 1024));
    constexpr double kMostMicroseconds = 1e9;  // a quarter of an hour
    run.forward = cells.number("fwd_us", 0, kMostMicroseconds) / kMicroseconds;
    run.backward = cells.number("bwd_us", 0, kMostMicroseconds) / kMicroseconds;
    run.send = cells.number("send_us", 0, kMostMicroseconds) / kMicroseconds;
    run.long_send = cells.number("long_send_us", 0, kMostMicroseconds) / kMicroseconds;
    run.simulated = cells.number("minibatch_us", 1, 1e15) / kMicroseconds;
    runs.push_back(run);
  }
  errors.throw_if_any();
  return runs;
}

VarunaTime play_varuna_run(const VarunaRun& run, const VarunaView& view, int draws) {
  const PassTimes times = times_of(run, view);
  const Jitter jitter{.compute = {Distribution::Kind::kNormal, 0, 2e-3},
                      .link = {Distribution::Kind::kDelay, 0, 10e-3},
                      .slow = {},
                      .seed = 1};
  const auto play_with = [&](auto&& play) {
    return mean_of(view.jitter ? draws : 1, [&](int i) {
      const Draws own(jitter, static_cast<std::uint64_t>(i), 0);
      return static_cast<double>(play(view.jitter ? &own : nullptr)) * 1e-12;
    });
  };
  if (run.gpipe) {
    PipelinePlayer player(last_first(run.size), run.size);
    return play_with([&](const Draws* own) { return player.play(times, own).end; });
  }
  VarunaPlayer player(
      run.size, view.recompute_waits ? RecomputeStart::kWithGradient : RecomputeStart::kEarly);
  return play_with([&](const Draws* own) { return player.play(times, own).played.end; });
}

}  // namespace nereus::simulate
