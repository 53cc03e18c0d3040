#include "worker/ops/gpu_kernels.hpp"

#include "worker/ops/gpu_rtc.hpp"

#ifdef NEREUS_NVRTC

#include <string>

namespace nereus::worker {

namespace {

constexpr const char* kSource = R"cuda(
__device__ float minus_infinity() { return __int_as_float(0xff800000); }

// Sums of exp(x - top), so far: what lies under a new top shrinks.
struct Sum {
  float top, sum;
  __device__ void add(float other_top, float other_sum) {
    if (other_top == minus_infinity()) return;
    const float most = fmaxf(top, other_top);
    sum = (top == minus_infinity() ? 0.0f : sum * expf(top - most)) + other_sum * expf(other_top - most);
    top = most;
  }
};

template <class T>
__device__ void loss_of_row(const T* x, const long long* targets, float* losses, float* log_sums,
                            int columns, int whole_packs) {
  constexpr int n = 16 / sizeof(T);
  const T* row = x + (long long)blockIdx.x * columns;
  const int packs = whole_packs ? columns / n : 0;
  Sum mine = {minus_infinity(), 0.0f};
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const Pack<T> pack = ((const Pack<T>*)row)[i];
    float top = mine.top;
    for (int j = 0; j < n; ++j) top = fmaxf(top, wide(pack.of[j]));
    if (top == minus_infinity()) continue;
    float sum = mine.top == minus_infinity() ? 0.0f : mine.sum * expf(mine.top - top);
    for (int j = 0; j < n; ++j) sum += expf(wide(pack.of[j]) - top);
    mine.top = top;
    mine.sum = sum;
  }
  for (int i = packs * n + threadIdx.x; i < columns; i += blockDim.x) mine.add(wide(row[i]), 1.0f);

  for (int lane = 16; lane > 0; lane /= 2)
    mine.add(__shfl_down_sync(0xffffffffu, mine.top, lane), __shfl_down_sync(0xffffffffu, mine.sum, lane));
  __shared__ float tops[32], sums[32];
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) { tops[warp] = mine.top; sums[warp] = mine.sum; }
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < blockDim.x / 32; ++i) mine.add(tops[i], sums[i]);
  const float log_sum = mine.top + logf(mine.sum);
  log_sums[blockIdx.x] = log_sum;
  losses[blockIdx.x] = log_sum - wide(row[targets[blockIdx.x]]);
}

template <class T>
__device__ void gradient_of_row(const T* x, const long long* targets, const float* log_sums,
                                const float* scale, T* gradient, int columns, int whole_packs) {
  constexpr int n = 16 / sizeof(T);
  const long long first = (long long)blockIdx.x * columns;
  const int target = (int)targets[blockIdx.x];
  const float log_sum = log_sums[blockIdx.x], by = scale[0];
  const int packs = whole_packs ? columns / n : 0;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const Pack<T> pack = ((const Pack<T>*)(x + first))[i];
    Pack<T> out;
    for (int j = 0; j < n; ++j)
      store(&out.of[j], (expf(wide(pack.of[j]) - log_sum) - (i * n + j == target ? 1.0f : 0.0f)) * by);
    ((Pack<T>*)(gradient + first))[i] = out;
  }
  for (int i = packs * n + threadIdx.x; i < columns; i += blockDim.x)
    store(&gradient[first + i], (expf(wide(x[first + i]) - log_sum) - (i == target ? 1.0f : 0.0f)) * by);
}

extern "C" __global__ void loss_bf16(const bf16* x, const long long* t, float* l, float* s, int c, int w) {
  loss_of_row(x, t, l, s, c, w);
}
extern "C" __global__ void loss_fp32(const float* x, const long long* t, float* l, float* s, int c, int w) {
  loss_of_row(x, t, l, s, c, w);
}
extern "C" __global__ void gradient_bf16(const bf16* x, const long long* t, const float* s, const float* by,
                                         bf16* g, int c, int w) {
  gradient_of_row(x, t, s, by, g, c, w);
}
extern "C" __global__ void gradient_fp32(const float* x, const long long* t, const float* s, const float* by,
                                         float* g, int c, int w) {
  gradient_of_row(x, t, s, by, g, c, w);
}

// A block: 64 columns, two a thread of a warp; eight warps take turns at the rows of a chunk.
__device__ void write_sums(float a, float b, float* to, int columns, int column) {
  __shared__ float kept[8][64];
  __syncthreads();
  kept[threadIdx.y][2 * threadIdx.x] = a;
  kept[threadIdx.y][2 * threadIdx.x + 1] = b;
  __syncthreads();
  if (threadIdx.y > 0) return;
  for (int i = 1; i < 8; ++i) { a += kept[i][2 * threadIdx.x]; b += kept[i][2 * threadIdx.x + 1]; }
  if (column >= columns) return;
  to[(long long)blockIdx.y * columns + column] = a;
  to[(long long)blockIdx.y * columns + column + 1] = b;
}

extern "C" __global__ void column_sums(const bf16* x, float* sums, int rows, int columns, int chunk) {
  const int column = blockIdx.x * 64 + 2 * threadIdx.x;
  const int end = min(rows, (int)(blockIdx.y + 1) * chunk);
  float a = 0, b = 0;
  if (column < columns)
    for (int r = blockIdx.y * chunk + threadIdx.y; r < end; r += 8) {
      const unsigned two = *(const unsigned*)(x + (long long)r * columns + column);
      a += wide((bf16)two);
      b += wide((bf16)(two >> 16));
    }
  write_sums(a, b, sums, columns, column);
}

extern "C" __global__ void norm_sums(const bf16* gy, const bf16* x, const float* mean, const float* rstd,
                                     float* scale, float* shift, int rows, int columns, int chunk) {
  const int column = blockIdx.x * 64 + 2 * threadIdx.x;
  const int end = min(rows, (int)(blockIdx.y + 1) * chunk);
  float a = 0, b = 0, c = 0, d = 0;
  if (column < columns)
    for (int r = blockIdx.y * chunk + threadIdx.y; r < end; r += 8) {
      const long long at = (long long)r * columns + column;
      const unsigned g = *(const unsigned*)(gy + at), v = *(const unsigned*)(x + at);
      const float m = mean[r], s = rstd[r];
      const float g0 = wide((bf16)g), g1 = wide((bf16)(g >> 16));
      a += g0 * (wide((bf16)v) - m) * s;
      b += g1 * (wide((bf16)(v >> 16)) - m) * s;
      c += g0;
      d += g1;
    }
  write_sums(a, b, scale, columns, column);
  write_sums(c, d, shift, columns, column);
}

// Rows that go to the same row of a table are neighbours by `order`: runs of one id. A block: one chunk of them, two columns a
// thread. A run within its chunk is added at once; what goes beyond waits in `parts`, two a chunk: of the run that came from
// the chunk before, and of the one that begins here and goes on.
template <class T>
__device__ void add_runs(const T* rows, const int* ids, const long long* order, float* table, float* parts, int n, int columns) {
  const int column = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= columns) return;
  const int begin = blockIdx.y * RUN_CHUNK, end = min(n, begin + RUN_CHUNK);
  bool came = begin > 0 && ids[begin - 1] == ids[begin];
  float a = 0, b = 0;
  for (int i = begin; i < end; ++i) {
    const T* row = rows + order[i] * columns + column;
    a += wide(row[0]);
    b += wide(row[1]);
    const bool goes_on = i + 1 < n && ids[i + 1] == ids[i];
    if (goes_on && i + 1 < end) continue;
    if (came || goes_on) {
      float* part = parts + (2ll * blockIdx.y + (came ? 0 : 1)) * columns + column;
      part[0] = a;
      part[1] = b;
    } else {
      float* to = table + (long long)ids[i] * columns + column;
      to[0] += a;
      to[1] += b;
    }
    came = false;
    a = b = 0;
  }
}
extern "C" __global__ void runs_bf16(const bf16* x, const int* i, const long long* o, float* t, float* p, int n, int c) {
  add_runs(x, i, o, t, p, n, c);
}
extern "C" __global__ void runs_fp32(const float* x, const int* i, const long long* o, float* t, float* p, int n, int c) {
  add_runs(x, i, o, t, p, n, c);
}

// The parts of a run, by the block of the chunk in which it begins.
extern "C" __global__ void join_runs(const int* ids, const float* parts, float* table, int n, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int begin = blockIdx.y * RUN_CHUNK;
  int end = begin + RUN_CHUNK;
  if (column >= columns || end >= n || ids[end] != ids[end - 1]) return;
  const int id = ids[end];
  if (begin > 0 && ids[begin - 1] == id) return;
  float sum = parts[(2ll * blockIdx.y + 1) * columns + column];
  for (; end < n && ids[end] == id; end += RUN_CHUNK) sum += parts[2ll * (end / RUN_CHUNK) * columns + column];
  table[(long long)id * columns + column] += sum;
}
)cuda";

constexpr unsigned kRowThreads = 512;
constexpr std::int64_t kChunk = 256;    // rows of one block of column sums
constexpr std::int64_t kRunChunk = 32;  // and of one of runs
constexpr unsigned kRunThreads = 128;
constexpr std::int64_t kMostChunks = 65535;  // a launch's blocks in that direction

CUfunction kernel(const std::string& name) {
  static const RtcModule module(kSource,
                                {"loss_bf16", "loss_fp32", "gradient_bf16", "gradient_fp32",
                                 "column_sums", "norm_sums", "runs_bf16", "runs_fp32", "join_runs"},
                                {"-DRUN_CHUNK=" + std::to_string(kRunChunk)});
  return module.find(name);
}

const char* width_of(const at::Tensor& x) {
  if (!x.is_cuda() || x.dim() != 2 || !x.is_contiguous() || x.size(0) == 0) return nullptr;
  return x.scalar_type() == at::kBFloat16 ? "bf16"
         : x.scalar_type() == at::kFloat  ? "fp32"
                                          : nullptr;
}

int whole_packs(const at::Tensor& x) { return x.size(1) * x.element_size() % 16 == 0 ? 1 : 0; }

// launch_part(part, count) for so many rows of the logits, part(x) where those of x begin. In
// launches of some 100 us: a device that jobs take turns on changes between launches only.
template <class Launch>
void by_rows(const at::Tensor& logits, const Launch& launch_part) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;
  const std::int64_t row = logits.size(1) * static_cast<std::int64_t>(logits.element_size());
  const std::int64_t most = std::max<std::int64_t>(1, kMostBytes / row);
  for (std::int64_t begin = 0; begin < logits.size(0); begin += most) {
    const std::int64_t count = std::min(most, logits.size(0) - begin);
    launch_part([&](const at::Tensor& x) { return x.narrow(0, begin, count).data_ptr(); },
                static_cast<unsigned>(count));
  }
}

bool sums_apply(const at::Tensor& sum, const at::Tensor& rows) {
  return rows.is_cuda() && rows.dim() == 2 && rows.is_contiguous() && rows.size(0) > 0 &&
         rows.scalar_type() == at::kBFloat16 && rows.size(1) % 2 == 0 &&
         sum.scalar_type() == at::kFloat;
}

dim3 blocks_of_sums(const at::Tensor& rows) {
  return dim3(static_cast<unsigned>((rows.size(1) + 63) / 64),
              static_cast<unsigned>((rows.size(0) + kChunk - 1) / kChunk));
}

}  // namespace

bool gpu_cross_entropy(const at::Tensor& logits, const at::Tensor& targets, at::Tensor& losses,
                       at::Tensor& log_sums) {
  const bool listed = targets.scalar_type() == at::kLong && targets.is_contiguous();
  const char* width = listed ? width_of(logits) : nullptr;
  const CUfunction function = width ? kernel(std::string("loss_") + width) : nullptr;
  if (!function) return false;
  losses = at::empty({logits.size(0)}, logits.options().dtype(at::kFloat));
  log_sums = at::empty_like(losses);
  by_rows(logits, [&](const auto& part, unsigned count) {
    launch(function, dim3(count), dim3(kRowThreads), part(logits), part(targets), part(losses),
           part(log_sums), static_cast<int>(logits.size(1)), whole_packs(logits));
  });
  return true;
}

bool gpu_cross_entropy_gradient(const at::Tensor& logits, const at::Tensor& targets,
                                const at::Tensor& log_sums, const at::Tensor& scale,
                                at::Tensor& gradient) {
  const char* width = width_of(logits);
  const CUfunction function = width ? kernel(std::string("gradient_") + width) : nullptr;
  if (!function) return false;
  gradient = at::empty_like(logits);
  by_rows(logits, [&](const auto& part, unsigned count) {
    launch(function, dim3(count), dim3(kRowThreads), part(logits), part(targets), part(log_sums),
           scale.data_ptr(), part(gradient), static_cast<int>(logits.size(1)), whole_packs(logits));
  });
  return true;
}

bool gpu_add_column_sums(at::Tensor sum, const at::Tensor& rows) {
  const CUfunction function = sums_apply(sum, rows) ? kernel("column_sums") : nullptr;
  if (!function) return false;
  const dim3 blocks = blocks_of_sums(rows);
  const at::Tensor parts = at::empty({blocks.y, rows.size(1)}, sum.options());
  launch(function, blocks, dim3(32, 8), rows.data_ptr(), parts.data_ptr(),
         static_cast<int>(rows.size(0)), static_cast<int>(rows.size(1)), static_cast<int>(kChunk));
  sum.add_(parts.sum(0));
  return true;
}

bool gpu_add_norm_sums(at::Tensor scale, at::Tensor shift, const at::Tensor& gy,
                       const at::Tensor& x, const at::Tensor& mean, const at::Tensor& rstd) {
  const bool applies = sums_apply(scale, gy) && sums_apply(shift, x) &&
                       mean.scalar_type() == at::kFloat && rstd.scalar_type() == at::kFloat &&
                       mean.is_contiguous() && rstd.is_contiguous();
  const CUfunction function = applies ? kernel("norm_sums") : nullptr;
  if (!function) return false;
  const dim3 blocks = blocks_of_sums(x);
  const at::Tensor parts = at::empty({2, blocks.y, x.size(1)}, scale.options());
  launch(function, blocks, dim3(32, 8), gy.data_ptr(), x.data_ptr(), mean.data_ptr(),
         rstd.data_ptr(), parts[0].data_ptr(), parts[1].data_ptr(), static_cast<int>(x.size(0)),
         static_cast<int>(x.size(1)), static_cast<int>(kChunk));
  const at::Tensor sums = parts.sum(1);
  scale.add_(sums[0]);
  shift.add_(sums[1]);
  return true;
}

bool gpu_add_rows(at::Tensor table, const at::Tensor& ids, const at::Tensor& rows) {
  const std::int64_t n = rows.size(0), columns = rows.size(1);
  const std::int64_t chunks = (n + kRunChunk - 1) / kRunChunk;
  const char* width = columns % 2 == 0 && chunks <= kMostChunks ? width_of(rows) : nullptr;
  const bool applies = width && table.scalar_type() == at::kFloat && table.is_contiguous();
  const CUfunction add = applies ? kernel(std::string("runs_") + width) : nullptr;
  const CUfunction join = applies ? kernel("join_runs") : nullptr;
  if (!add || !join) return false;
  const auto [sorted, order] =
      at::sort(ids.to(at::kInt), /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const at::Tensor parts = at::empty({2 * chunks, columns}, table.options());
  const auto blocks = [&](std::int64_t columns_a_block) {
    return dim3(static_cast<unsigned>((columns + columns_a_block - 1) / columns_a_block),
                static_cast<unsigned>(chunks));
  };
  launch(add, blocks(2 * kRunThreads), dim3(kRunThreads), rows.data_ptr(), sorted.data_ptr(),
         order.data_ptr(), table.data_ptr(), parts.data_ptr(), static_cast<int>(n),
         static_cast<int>(columns));
  launch(join, blocks(kRunThreads), dim3(kRunThreads), sorted.data_ptr(), parts.data_ptr(),
         table.data_ptr(), static_cast<int>(n), static_cast<int>(columns));
  return true;
}

}  // namespace nereus::worker

#else

namespace nereus::worker {

bool gpu_cross_entropy(const at::Tensor&, const at::Tensor&, at::Tensor&, at::Tensor&) {
  return false;
}
bool gpu_cross_entropy_gradient(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                const at::Tensor&, at::Tensor&) {
  return false;
}
bool gpu_add_column_sums(at::Tensor, const at::Tensor&) { return false; }
bool gpu_add_norm_sums(at::Tensor, at::Tensor, const at::Tensor&, const at::Tensor&,
                       const at::Tensor&, const at::Tensor&) {
  return false;
}
bool gpu_add_rows(at::Tensor, const at::Tensor&, const at::Tensor&) { return false; }

}  // namespace nereus::worker

#endif
