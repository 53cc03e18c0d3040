// Includes all of libtorch that this folder uses, so that it is compiled only once
// (cmake/worker.cmake).
#pragma once

#include <torch/torch.h>
