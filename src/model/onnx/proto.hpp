// The generated ONNX classes, as Debian's libonnx-dev builds them. Include it in .cpp files only.
#pragma once

#ifdef NEREUS_HAS_ONNX
#ifndef ONNX_ML
#define ONNX_ML 1  // NOLINT(readability-identifier-naming): theirs
#endif
#include <onnx/onnx_pb.h>
#endif
