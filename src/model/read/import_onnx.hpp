// A model from an ONNX file: any graph of the operators in model/onnx/, with its branches.
//
// The first dim of every input is the batch: free (one sample is assumed) or a number (all counts
// are divided by it). Other free dims must be given by name; names that contain "seq" also use
// `seq`. Shapes are inferred from the inputs, ignoring shapes in the file.
//
// A layer is one heavy operator (convolution, product, embedding, pool), or a place where branches
// join, with the memory-bound operators that only read its result. Floating-point weights with more
// than one element are parameters, except running statistics of norms; a weight that two layers use
// is tied. Activations that an operator's gradient reads are kept for backward, and counted in the
// layer that produces them.
//
//   Model m = import_onnx(bytes, "net.onnx", {.seq = 128});
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/model.hpp"

namespace nereus::model {

struct OnnxOptions {
  std::int64_t seq = 0;                                      // 0: not given
  std::vector<std::pair<std::string, std::int64_t>> dims{};  // free dims by name
};

// Throws Errors: not ONNX, or truncated; all unknown operators with their nodes; free dims; shapes
// that do not match.
Model import_onnx(std::string_view bytes, const std::string& path, const OnnxOptions& options);

}  // namespace nereus::model
