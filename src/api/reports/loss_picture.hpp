// The losses of a training as a picture: one line over the steps, each of at most a hundred points
// the mean of as many neighbouring steps.
//
//   write_file("loss.svg", loss_picture(answer.steps, "gpt2, pp 2 x dp 2"));
#pragma once

#include <string>
#include <vector>

#include "app/train/train.hpp"

namespace nereus::api {

std::string loss_picture(const std::vector<app::TrainStep>& steps, const std::string& title);

}  // namespace nereus::api
