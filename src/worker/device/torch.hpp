// All of libtorch that this folder uses, in one header, so that it is compiled once
// (cmake/worker.cmake).
#pragma once

#include <torch/torch.h>
