#include "worker/ops/gpu_update.hpp"

#include "worker/ops/gpu_rtc.hpp"

#ifdef NEREUS_NVRTC

#include <algorithm>
#include <cmath>
#include <cstring>

namespace nereus::worker {

namespace {

constexpr const char* kUpdateSource = R"cuda(
struct Chunk {
  float* w; const float* g; float* m; float* v; bf16* out;
  int n; unsigned short decays, packs;
};
struct AdamW {
  float b1, b2, step, root, epsilon;
  __device__ void update(float& w, float g, float& m, float& v, float keep) const {
    m = b1 * m + (1 - b1) * g;
    v = b2 * v + (1 - b2) * g * g;
    w = w * keep - step * m / (sqrtf(v) * root + epsilon);
  }
};
struct Sgd {
  float rate, momentum;
  __device__ void update(float& w, float g, float& m, float&, float keep) const {
    m = momentum * m + g;
    w = w * keep - rate * m;
  }
};

template <class Rule>
__device__ void update_chunk(const Chunk& c, Rule rule, float keep_decayed, float scale) {
  const float keep = c.decays ? keep_decayed : 1.0f;
  const int packs = c.packs ? c.n / 4 : 0;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    Pack<float> w = ((Pack<float>*)c.w)[i], m = ((Pack<float>*)c.m)[i], v = {};
    const Pack<float> g = ((const Pack<float>*)c.g)[i];
    if (c.v) v = ((Pack<float>*)c.v)[i];
    for (int j = 0; j < 4; ++j) rule.update(w.of[j], g.of[j] * scale, m.of[j], v.of[j], keep);
    ((Pack<float>*)c.w)[i] = w;
    ((Pack<float>*)c.m)[i] = m;
    if (c.v) ((Pack<float>*)c.v)[i] = v;
    if (c.out) {
      ushort4 narrow;
      store(&narrow.x, w.of[0]);
      store(&narrow.y, w.of[1]);
      store(&narrow.z, w.of[2]);
      store(&narrow.w, w.of[3]);
      ((ushort4*)c.out)[i] = narrow;
    }
  }
  for (int i = 4 * packs + threadIdx.x; i < c.n; i += blockDim.x) {
    float v = c.v ? c.v[i] : 0.0f;
    rule.update(c.w[i], c.g[i] * scale, c.m[i], v, keep);
    if (c.v) c.v[i] = v;
    if (c.out) store(&c.out[i], c.w[i]);
  }
}

extern "C" __global__ void adamw(const Chunk* chunks, float keep, float scale, float b1, float b2, float step,
                                 float root, float epsilon) {
  update_chunk(chunks[blockIdx.x], AdamW{b1, b2, step, root, epsilon}, keep, scale);
}
extern "C" __global__ void sgd(const Chunk* chunks, float keep, float scale, float rate, float momentum) {
  update_chunk(chunks[blockIdx.x], Sgd{rate, momentum}, keep, scale);
}
)cuda";

constexpr std::int64_t kMost = 16384;  // elements of a chunk
constexpr unsigned kThreads = 256;

// The layout that the kernels read.
struct Chunk {
  float* weights;
  const float* gradients;
  float* first;
  float* second;
  std::uint16_t* narrow;
  std::int32_t size;
  std::uint16_t decays, packs;
};
static_assert(sizeof(Chunk) == 48);

CUfunction kernel(const char* name) {
  static const RtcModule module(kUpdateSource, {"adamw", "sgd"});
  return module.find(name);
}

bool is_aligned(const void* pointer, std::uintptr_t to) {
  return reinterpret_cast<std::uintptr_t>(pointer) % to == 0;
}

std::vector<Chunk> cut(const std::vector<UpdateSpan>& spans) {
  std::vector<Chunk> chunks;
  for (const UpdateSpan& span : spans) {
    const bool packs = is_aligned(span.weights, 16) && is_aligned(span.gradients, 16) &&
                       is_aligned(span.first, 16) && is_aligned(span.second, 16) &&
                       is_aligned(span.narrow, 8);
    for (std::int64_t begin = 0; begin < span.size; begin += kMost)
      chunks.push_back(
          {span.weights + begin, span.gradients + begin, span.first + begin,
           span.second ? span.second + begin : nullptr, span.narrow ? span.narrow + begin : nullptr,
           static_cast<std::int32_t>(std::min(kMost, span.size - begin)),
           static_cast<std::uint16_t>(span.decays), static_cast<std::uint16_t>(packs)});
  }
  return chunks;
}

}  // namespace

bool GpuUpdate::run(const std::vector<UpdateSpan>& spans, const UpdateConstants& c) {
  const bool adam = spans.empty() || spans.front().second;
  const CUfunction function = kernel(adam ? "adamw" : "sgd");
  if (!function) return false;
  if (spans != spans_) {
    const std::vector<Chunk> chunks = cut(spans);
    const auto size = static_cast<std::int64_t>(chunks.size() * sizeof(Chunk));
    at::Tensor bytes = at::empty({size}, at::kByte);
    if (size > 0) std::memcpy(bytes.data_ptr(), chunks.data(), static_cast<std::size_t>(size));
    chunks_ = bytes.to(at::kCUDA);
    num_chunks_ = static_cast<std::int64_t>(chunks.size());
    spans_ = spans;
  }
  if (num_chunks_ == 0) return true;
  const dim3 blocks(static_cast<unsigned>(num_chunks_)), threads(kThreads);
  const auto keep = static_cast<float>(1 - c.rate * c.decay), scale = static_cast<float>(c.scale);
  if (adam)
    launch(function, blocks, threads, chunks_.data_ptr(), keep, scale, static_cast<float>(c.beta1),
           static_cast<float>(c.beta2), static_cast<float>(c.rate / c.correct1),
           static_cast<float>(1 / std::sqrt(c.correct2)), static_cast<float>(c.epsilon));
  else
    launch(function, blocks, threads, chunks_.data_ptr(), keep, scale, static_cast<float>(c.rate),
           static_cast<float>(c.momentum));
  return true;
}

}  // namespace nereus::worker

#else

namespace nereus::worker {

bool GpuUpdate::run(const std::vector<UpdateSpan>&, const UpdateConstants&) { return false; }

}  // namespace nereus::worker

#endif
