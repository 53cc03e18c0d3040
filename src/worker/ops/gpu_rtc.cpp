#include "worker/ops/gpu_rtc.hpp"

#ifdef NEREUS_NVRTC

#include <dlfcn.h>
#include <nvrtc.h>

namespace nereus::worker {

const char* const kRtcNumbers = R"cuda(
typedef unsigned short bf16;
__device__ float wide(bf16 x) { return __uint_as_float(((unsigned)x) << 16); }
__device__ float wide(float x) { return x; }
__device__ void store(float* to, float x) { *to = x; }
__device__ void store(bf16* to, float x) {
  unsigned bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) { *to = 0x7fff; return; }
  *to = (bf16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);  // to the nearest, ties to even
}
template <class T> struct alignas(16) Pack { T of[16 / sizeof(T)]; };
)cuda";

namespace {

// NVRTC and the driver as libtorch loads them: the library with both belongs to libtorch, so
// nothing else need be found or linked.
struct Rtc {
  void* library = dlopen("libcaffe2_nvrtc.so", RTLD_NOW);
  template <class F>
  F* find(const char* name, F*) const {
    return library ? reinterpret_cast<F*>(dlsym(library, name)) : nullptr;
  }
#define NEREUS_RTC(name) decltype(&::name) name = find(#name, &::name)
  NEREUS_RTC(nvrtcCreateProgram);
  NEREUS_RTC(nvrtcCompileProgram);
  NEREUS_RTC(nvrtcDestroyProgram);
  NEREUS_RTC(nvrtcGetPTXSize);
  NEREUS_RTC(nvrtcGetPTX);
  NEREUS_RTC(nvrtcGetProgramLogSize);
  NEREUS_RTC(nvrtcGetProgramLog);
  NEREUS_RTC(cuModuleLoadData);
  NEREUS_RTC(cuModuleGetFunction);
  NEREUS_RTC(cuLaunchKernel);
#undef NEREUS_RTC
  bool complete() const {
    return nvrtcCreateProgram && nvrtcCompileProgram && nvrtcDestroyProgram && nvrtcGetPTXSize &&
           nvrtcGetPTX && nvrtcGetProgramLogSize && nvrtcGetProgramLog && cuModuleLoadData &&
           cuModuleGetFunction && cuLaunchKernel;
  }
};

const Rtc& rtc_library() {
  static const Rtc rtc;
  return rtc;
}

}  // namespace

RtcModule::RtcModule(const std::string& source, const std::vector<const char*>& names,
                     const std::vector<std::string>& options) {
  const Rtc& rtc = rtc_library();
  if (!rtc.complete()) {
    TORCH_WARN(
        "no NVRTC in libcaffe2_nvrtc.so: libtorch's GPU kernels are used instead of own ones");
    return;
  }
  const cudaDeviceProp* gpu = at::cuda::getCurrentDeviceProperties();
  const std::string target =
      "--gpu-architecture=compute_" + std::to_string(gpu->major) + std::to_string(gpu->minor);
  std::vector<const char*> words{target.c_str(), "--std=c++17"};
  for (const std::string& option : options) words.push_back(option.c_str());
  const std::string whole = kRtcNumbers + source;
  nvrtcProgram program = nullptr;
  if (rtc.nvrtcCreateProgram(&program, whole.c_str(), "nereus.cu", 0, nullptr, nullptr) !=
      NVRTC_SUCCESS)
    return;
  const bool compiled = rtc.nvrtcCompileProgram(program, static_cast<int>(words.size()),
                                                words.data()) == NVRTC_SUCCESS;
  std::string text;
  std::size_t size = 0;
  if (compiled) {
    rtc.nvrtcGetPTXSize(program, &size);
    text.resize(size);
    rtc.nvrtcGetPTX(program, text.data());
  } else {
    rtc.nvrtcGetProgramLogSize(program, &size);
    text.resize(size);
    rtc.nvrtcGetProgramLog(program, text.data());
    TORCH_WARN("own GPU kernels do not compile, libtorch's are used: ", text);
  }
  rtc.nvrtcDestroyProgram(&program);
  CUmodule module = nullptr;
  if (!compiled || rtc.cuModuleLoadData(&module, text.c_str()) != CUDA_SUCCESS) return;
  for (const char* name : names) {
    CUfunction function = nullptr;
    if (rtc.cuModuleGetFunction(&function, module, name) == CUDA_SUCCESS) kernels_[name] = function;
  }
}

CUfunction RtcModule::find(const std::string& name) const {
  const auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : found->second;
}

void launch_kernel(CUfunction function, dim3 blocks, dim3 threads, void** arguments) {
  const CUresult result =
      rtc_library().cuLaunchKernel(function, blocks.x, blocks.y, 1, threads.x, threads.y, 1, 0,
                                   at::cuda::getCurrentCUDAStream(), arguments, nullptr);
  TORCH_CHECK(result == CUDA_SUCCESS, "a GPU kernel of our own did not start: error ", int(result));
}

}  // namespace nereus::worker

#endif
