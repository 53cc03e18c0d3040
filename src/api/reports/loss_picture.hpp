// The losses of training runs as a picture: one line per run over the steps, with at most a hundred
// points. Each point is the mean of neighboring steps.
//
//   write_file("loss.svg", loss_picture(answer.steps, "gpt2, pp 2 x dp 2"));
#pragma once

#include <string>
#include <vector>

#include "app/train/train.hpp"

namespace nereus::api {

std::string loss_picture(const std::vector<app::TrainStep>& steps, const std::string& title);

}  // namespace nereus::api
