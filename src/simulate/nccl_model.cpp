#include "simulate/nccl_model.hpp"

#include <cmath>

#include "base/error.hpp"

namespace nereus::simulate {

int ring_steps(const NcclCall& call) {
  return (call.collective == Collective::kAllReduce ? 2 : 1) * (call.num_ranks - 1);
}

double wire_bytes(const NcclCall& call) { return ring_steps(call) * call.bytes / call.num_ranks; }

double collective_seconds(const NcclNumbers& numbers, const NcclCall& call) {
  NEREUS_CHECK(call.num_ranks >= 1 && call.bytes >= 0 && call.wire > 0, "a collective has a wire");
  NEREUS_CHECK(numbers.efficiency > 0 && numbers.efficiency <= 1, "no more than the wire");
  if (call.num_ranks == 1) return 0;
  const double rate = numbers.efficiency * call.wire;
  const double pipeline =
      std::sqrt(wire_bytes(call) / rate) + std::sqrt(ring_steps(call) * numbers.step);
  return numbers.floor + pipeline * pipeline + numbers.tail * call.bytes / (call.num_ranks * rate);
}

}  // namespace nereus::simulate
