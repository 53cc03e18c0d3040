#include "simulate/network/algorithms.hpp"

namespace nereus::simulate {

std::vector<int> add_direct(Program& program, const Phase& phase, Collective collective,
                            double bytes, std::vector<int> after) {
  const int rounds = collective == Collective::kAllReduce ? 2 : 1;
  for (int round = 0; round < rounds; ++round) {
    std::vector<int> sent;
    for (int further = 1; further < phase.size; ++further) {
      Exchange exchange;
      exchange.dimension = phase.dimension;
      exchange.amount = further;
      exchange.bytes = bytes / phase.size;
      exchange.after = after;
      sent.push_back(static_cast<int>(program.size()));
      program.push_back(std::move(exchange));
    }
    Exchange join;
    join.dimension = phase.dimension;
    join.pattern = Exchange::Pattern::kJoin;
    join.after = std::move(sent);
    after = {static_cast<int>(program.size())};
    program.push_back(std::move(join));
  }
  return after;
}

}  // namespace nereus::simulate
