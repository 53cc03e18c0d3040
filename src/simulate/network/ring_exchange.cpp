#include "simulate/network/algorithms.hpp"

namespace nereus::simulate {

namespace {

int add_shift(Program& program, const Phase& phase, int amount, double bytes,
              std::vector<int> after) {
  Exchange exchange;
  exchange.dimension = phase.dimension;
  exchange.amount = amount;
  exchange.bytes = bytes;
  exchange.after = std::move(after);
  program.push_back(std::move(exchange));
  return static_cast<int>(program.size()) - 1;
}

int num_steps(const Phase& phase, Collective collective) {
  return (collective == Collective::kAllReduce ? 2 : 1) * (phase.size - 1);
}

}  // namespace

std::vector<int> add_ring(Program& program, const Phase& phase, Collective collective, double bytes,
                          std::vector<int> after) {
  for (int step = 0; step < num_steps(phase, collective); ++step) {
    const int amount = collective == Collective::kAllToAll ? step + 1 : 1;
    after = {add_shift(program, phase, amount, bytes / phase.size, std::move(after))};
  }
  return after;
}

std::vector<int> add_two_way_ring(Program& program, const Phase& phase, Collective collective,
                                  double bytes, std::vector<int> after) {
  const int n = phase.size;
  if (collective == Collective::kAllToAll) {
    for (int step = 1; 2 * step <= n; ++step) {
      std::vector<int> both{add_shift(program, phase, step, bytes / n, after)};
      if (2 * step < n) both.push_back(add_shift(program, phase, n - step, bytes / n, after));
      after = std::move(both);
    }
    return after;
  }
  std::vector<int> ahead = after, back = std::move(after);
  for (int step = 0; step < num_steps(phase, collective); ++step) {
    ahead = {add_shift(program, phase, 1, bytes / 2 / n, std::move(ahead))};
    back = {add_shift(program, phase, n - 1, bytes / 2 / n, std::move(back))};
  }
  return {ahead.front(), back.front()};
}

}  // namespace nereus::simulate
