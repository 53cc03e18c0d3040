// DeepPool's measured layers (Park et al., MLSys 2022; github.com/DeepPoolML/DeepPool,
// profile/*.prof): one line per layer and batch, in the model's order, batch by batch:
//
//   conv2d{"in_channels":3,"kernel_size":3,...}[64][3,224,224]   2.157      2157         6
//   type   settings                            batch  input      ms    forward us  backward us
//
// Sums of a batch (SUM(avg) 103.081, or only a number) are skipped. In-place activations (ReLU1d,
// ReLU2d) include the backward pass of the layer before them, and a flatten is a view: both are
// joined with the layer before them, whose time then includes theirs.
//
//   DeepPoolProfile p = read_deeppool(text, "A100_vgg.prof");        // throws Errors
//   p.blocks[0].name;                          // conv2d+ReLU2d
//   p.blocks[0].seconds().at(8);               // forward and backward of 8 samples
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.hpp"

namespace nereus::profile {

struct DeepPoolBlock {
  std::string name{};             // types of its layers, joined by +
  double parameters = 0;          // with biases of convolutions, as in its modules
  double elements = 0;            // that it reads per sample
  std::vector<double> samples{};  // ascending
  std::vector<double> forward{};  // for that many samples
  std::vector<double> backward{};
  TimeCurve seconds() const;  // of forward and backward, as measured
};

struct DeepPoolProfile {
  std::vector<DeepPoolBlock> blocks{};
};

// Whether the text has this form, from its first line.
bool is_deeppool(std::string_view text);
// Throws Errors: lines in another form, layers that are missing in some batches, a time that is
// negative or not a number, a block whose forward and backward take 0.
DeepPoolProfile read_deeppool(std::string_view text, const std::string& file);

}  // namespace nereus::profile
