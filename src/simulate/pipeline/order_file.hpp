// The order of a pipeline's passes as text, with one line per pipeline rank.
//
//   # two ranks, three micro-batches
//   rank 0: F0 F1 B0 F2 B1 B2
//   rank 1: F0 B0 F1 B1 F2 B2
//
// F is forward, B is backward, I and W are its halves (gradient of the input, gradient of the
// weights), R is recompute; the number after it is the micro-batch, counted from 0. `F3@5` is on
// virtual stage 5; without `@` the stage is the rank's number. `F3+ B1` runs two passes as one:
// they start when both can, and both end together. `#` starts a comment. There is one rank per
// line, numbered from 0. The stage count and the micro-batch count follow from the largest numbers
// that appear; the stage count must be a multiple of the rank count.
//
//   const OrderFile file = read_order("mine.order");     // Errors with line and column
//   play(file.order, file.size, times);
//   write_order(file.order);                             // gives the same when it is read back
#pragma once

#include <string>
#include <string_view>

#include "simulate/pipeline/passes.hpp"

namespace nereus::simulate {

struct OrderFile {
  PipelineSize size;
  Order order;
  bool operator==(const OrderFile&) const = default;
};

// Throws "simulate.order-syntax" for text in another form, up to ten errors at once; then the
// errors of compile (schedule/program.hpp) if the order cannot run.
OrderFile parse_order(std::string_view text, const std::string& file);
OrderFile read_order(const std::string& path);

std::string write_order(const Order& order);

}  // namespace nereus::simulate
