// CUDA C++ that is compiled at its first use (by NVRTC, which every CUDA wheel includes), so that
// the worker builds without a CUDA compiler. Needs the headers at build time: NEREUS_NVRTC.
//
//   const RtcModule module(source, {"adamw", "sgd"});
//   if (CUfunction f = module.find("adamw")) launch(f, dim3(blocks), dim3(threads), pointer, 3);
//
// A source begins with kRtcNumbers: it implements bf16 as the upper half of a float, so that no
// CUDA header is needed at run time.
#pragma once

#if defined(NEREUS_GPU_HEADERS) && __has_include(<nvrtc.h>)
#define NEREUS_NVRTC

#include <ATen/cuda/CUDAContext.h>
#include <cuda.h>

#include <map>
#include <string>
#include <vector>

namespace nereus::worker {

extern const char* const kRtcNumbers;

class RtcModule {
 public:
  // Compiles for the current GPU. Without NVRTC, or if the compilation fails, prints a warning, and
  // find() returns no kernel.
  RtcModule(const std::string& source, const std::vector<const char*>& names,
            const std::vector<std::string>& options = {});
  CUfunction find(const std::string& name) const;  // nullptr: no such kernel

 private:
  std::map<std::string, CUfunction> kernels_;
};

// Launches on this thread's stream.
void launch_kernel(CUfunction function, dim3 blocks, dim3 threads, void** arguments);

template <class... Arguments>
void launch(CUfunction function, dim3 blocks, dim3 threads, Arguments... arguments) {
  void* list[] = {static_cast<void*>(&arguments)...};
  launch_kernel(function, blocks, threads, list);
}

}  // namespace nereus::worker

#endif
