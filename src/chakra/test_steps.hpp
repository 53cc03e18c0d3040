// Random plans and a small fixed model, as steps and as decoded traces, for the tests of this
// folder.
//
//   const ChakraStep step = step_of(small_case());           // inside a property
//   for (const DecodedTrace& trace : all_traces(step)) ...
#pragma once

#include <string>
#include <vector>

#include "chakra/chakra_testing.hpp"
#include "chakra/write_chakra.hpp"
#include "cluster/load_cluster.hpp"
#include "predict/predict_testing.hpp"

namespace nereus::chakra::testing {

// A random plan that is small enough to check every node of every rank.
template <class Wanted>
cost::testing::Case small_case(bool may_have_experts, Wanted wanted) {
  while (true) {
    cost::testing::Case c = cost::testing::any_case(may_have_experts);
    const plan::Degrees& d = c.degrees;
    if (d.num_ranks() > 32 || d.global_batch / d.dp / d.micro_batch > 64 || !wanted(d)) continue;
    RC_LOG() << cost::testing::describe(c);
    return c;
  }
}
inline cost::testing::Case small_case() {
  return small_case(true, [](const plan::Degrees&) { return true; });
}

inline ChakraStep step_of(const cost::testing::Case& c) {
  return make_step(c.model, c.cluster, c.basis, c.degrees);
}

inline std::vector<DecodedTrace> all_traces(const ChakraStep& step) {
  std::vector<DecodedTrace> traces;
  for (int rank = 0; rank < step.num_ranks(); ++rank) traces.push_back(decode(step.trace(rank)));
  return traces;
}

inline model::Model small_model() {
  model::TransformerShape shape;
  shape.name = "small";
  shape.layers = 4;
  shape.hidden = 256;
  shape.heads = shape.kv_heads = 8;
  shape.ffn = 1024;
  shape.vocab = 1000;
  shape.seq = 128;
  return model::build_transformer(shape);
}

inline bool starts_with(const DecodedNode& node, const char* text) {
  return node.name.rfind(text, 0) == 0;
}

}  // namespace nereus::chakra::testing
