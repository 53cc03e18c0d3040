// DeepPool's measured layers (Park et al., MLSys 2022; github.com/DeepPoolML/DeepPool,
// profile/*.prof): one line for each layer and batch, in the model's order, batch by batch:
//
//   conv2d{"in_channels":3,"kernel_size":3,...}[64][3,224,224]   2.157      2157         6
//   type   settings                            batch  input      ms    forward us  backward us
//
// Sums of a batch (SUM(avg) 103.081, or a number alone) are skipped. Layers of an activation in
// place (ReLU1d, ReLU2d) book the backward pass of what comes before, and a flatten is a view: both
// are joined with the layer before them, which then has all of its time.
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
  double parameters = 0;          // of convolutions with a bias, as its modules have
  double elements = 0;            // of a sample that it reads
  std::vector<double> samples{};  // ascending
  std::vector<double> forward{};  // seconds of as many samples
  std::vector<double> backward{};
  TimeCurve seconds() const;  // of both, as measured
};

struct DeepPoolProfile {
  std::vector<DeepPoolBlock> blocks{};
};

// Whether the text is of that form: by its first line.
bool is_deeppool(std::string_view text);
// Throws Errors: lines that are none of these, layers that one batch has and another has not, a
// time that is no number from 0 on, a block whose forward and backward take 0.
DeepPoolProfile read_deeppool(std::string_view text, const std::string& file);

}  // namespace nereus::profile
