// The order of a pipeline's passes as text: a line for every pipeline rank.
//
//   # two ranks, three micro-batches
//   rank 0: F0 F1 B0 F2 B1 B2
//   rank 1: F0 B0 F1 B1 F2 B2
//
// F forward, B backward, I and W its halves (gradient of the input, of the weights), R recompute;
// then the micro-batch, counted from 0. `F3@5` is on virtual stage 5; without `@` the stage is the
// rank's number. `F3+ B1` run as one: they start when both can, and both are done at the end. `#`
// starts a comment. There are as many ranks as lines, numbered from 0, and as many stages and
// micro-batches as are named; the stages must be a multiple of the ranks.
//
//   const OrderFile file = read_order("mine.order");     // Errors with line and column
//   play(file.order, file.size, times);
//   write_order(file.order);                             // reads back the same
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

// "simulate.order-syntax" for what is no such text, all of it up to ten; then what compile
// (program.hpp) says of an order that cannot be played.
OrderFile parse_order(std::string_view text, const std::string& file);
OrderFile read_order(const std::string& path);

std::string write_order(const Order& order);

}  // namespace nereus::simulate
