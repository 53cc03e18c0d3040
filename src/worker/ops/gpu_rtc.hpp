// CUDA C++ compiled when first used (NVRTC, which every CUDA wheel brings), so that the worker
// builds without a CUDA compiler. Only where there are the headers: NEREUS_NVRTC.
//
//   const RtcModule module(source, {"adamw", "sgd"});
//   if (CUfunction f = module.find("adamw")) launch(f, dim3(blocks), dim3(threads), pointer, 3);
//
// A source begins with kRtcNumbers: bf16, which is the upper half of a float, so that no header of
// CUDA's is needed where the kernels run.
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
  // Compiled for the GPU in use. Without NVRTC, or where it fails, a warning and no kernels.
  RtcModule(const std::string& source, const std::vector<const char*>& names,
            const std::vector<std::string>& options = {});
  CUfunction find(const std::string& name) const;  // nullptr: none

 private:
  std::map<std::string, CUfunction> kernels_;
};

// On this thread's stream.
void launch_kernel(CUfunction function, dim3 blocks, dim3 threads, void** arguments);

template <class... Arguments>
void launch(CUfunction function, dim3 blocks, dim3 threads, Arguments... arguments) {
  void* list[] = {static_cast<void*>(&arguments)...};
  launch_kernel(function, blocks, threads, list);
}

}  // namespace nereus::worker

#endif
