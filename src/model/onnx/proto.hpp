// The generated ONNX classes, as Debian's libonnx-dev builds them. Include it in .cpp files only.
#pragma once

#ifdef NEREUS_HAS_ONNX
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#include <onnx/onnx_pb.h>
#endif
