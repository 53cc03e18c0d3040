#include "simulate/network/algorithms.hpp"

namespace nereus::simulate {

std::vector<int> add_ring(Program& program, const Phase& phase, Collective collective, double bytes,
                          std::vector<int> after) {
  const int n = phase.size;
  const int steps = (collective == Collective::kAllReduce ? 2 : 1) * (n - 1);
  for (int step = 0; step < steps; ++step) {
    Exchange exchange;
    exchange.dimension = phase.dimension;
    exchange.amount = collective == Collective::kAllToAll ? step + 1 : 1;
    exchange.bytes = bytes / n;
    exchange.after = std::move(after);
    after = {static_cast<int>(program.size())};
    program.push_back(std::move(exchange));
  }
  return after;
}

}  // namespace nereus::simulate
