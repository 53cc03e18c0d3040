// The recipe that a program needs to compute a convolutional network: one entry per layer of
// build_cnn()'s graph, in the same order, made by the same builder. Names are those of
// torchvision's modules, so that `name + ".weight"` is a key of its state dict.
//
//   const std::vector<CnnLayer> recipe = cnn_recipe(*model.cnn);
//   recipe[0].name;                             // "conv1", its norm is recipe[0].norm: "bn1"
//   recipe[i].inputs;                           // layers that it reads; -1: the sample
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cnn.hpp"
#include "model/vision_ops.hpp"

namespace nereus::model {

struct CnnLayer {
  enum class Kind {
    kConv,  // then its norm and its activation, where it has them
    kMaxPool,
    kAveragePool,   // the border counts as zeros
    kAdaptivePool,  // to out.height x out.width
    kAddRelu,       // of two inputs
    kAdd,           // the same without ReLU
    kConcat,        // of channels
    kShuffle,       // of channels: the first ones of its first input, as many as its second input
                    // has, interleaved with those of its second
    kDense,         // of all elements of its input; then ReLU and dropout, where it has them
    kClassifier,    // dropout, then a dense layer; and the loss where it is the last layer
    kLoss,          // over one or several classifiers, the main one first
  };
  Kind kind = Kind::kConv;
  std::vector<int> inputs{};
  Image in{};  // of the first input, or of the half of it that is read
  Image out{};
  Window window{};
  int num_outputs = 0;  // channels, features or classes of its weights
  bool bias = false;
  bool relu = false;
  bool relu6 = false;  // cut off at 6; never together with relu
  bool dropout = false;
  bool dropout_before = false;  // before a convolution or dense layer
  bool second_half = false;     // reads only the second half of its input's channels
  bool ceil = false;            // a pool's last window may extend over the border
  int groups = 1;               // of a convolution's channels
  std::string name{};           // of the module with weights
  std::string norm{};           // of its BatchNorm; empty: none
};

struct CnnTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  bool operator==(const CnnTensor&) const = default;
};
// The weights of the convolution or dense layer, then those of its norm.
std::vector<CnnTensor> parameters_of(const CnnLayer& layer);

// Constants of BatchNorm that are not in checkpoints.
struct NormConstants {
  double epsilon = 1e-5;
  double momentum = 0.1;  // weight of a new group in the running statistics
};
NormConstants norm_constants(const CnnShape& shape);

// Weight of an auxiliary classifier in the loss (0.3 in Szegedy 2014, 1409.4842; 0.4 in
// torchvision's training reference).
inline constexpr double kAuxiliaryLoss = 0.4;

std::vector<CnnLayer> cnn_recipe(const CnnShape& shape);

}  // namespace nereus::model
