#include "worker/execute/cut_graph.hpp"

#ifdef NEREUS_GPU_HEADERS
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <map>
#include <tuple>
#include <vector>
#endif

namespace nereus::worker {

#ifdef NEREUS_GPU_HEADERS

namespace {

// Only the driver knows the kernels of libraries that load separate modules.
struct Driver {
  decltype(&cuGraphKernelNodeGetParams) get_kernel = nullptr;
  decltype(&cuGraphAddKernelNode) add_kernel = nullptr;
  decltype(&cuGraphKernelNodeCopyAttributes) copy_attributes = nullptr;

  Driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    };
    find(get_kernel, "cuGraphKernelNodeGetParams_v2");
    find(add_kernel, "cuGraphAddKernelNode_v2");
    find(copy_attributes, "cuGraphKernelNodeCopyAttributes");
  }
  bool is_there() const { return get_kernel && add_kernel && copy_attributes; }
};

const Driver& driver() {
  static const Driver driver;
  return driver;
}

// Launches with an equal key are assumed to take the same time.
using Sort = std::tuple<const void*, unsigned, unsigned, unsigned, unsigned, std::size_t>;

struct Launch {
  cudaGraphNode_t node = nullptr;
  cudaGraphNodeType type{};
  Sort sort{};
};

std::vector<Launch> in_order(cudaGraph_t graph) {
  std::size_t num_nodes = 0, num_edges = 0;
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &num_nodes));
  std::vector<cudaGraphNode_t> nodes(num_nodes);
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &num_nodes));
  // Some edges let a kernel begin before the one before it ends, and are to be asked for as such.
  std::vector<cudaGraphEdgeData> kinds;
#if CUDART_VERSION >= 13000
  C10_CUDA_CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &num_edges));
  std::vector<cudaGraphNode_t> from(num_edges), to(num_edges);
  kinds.resize(num_edges);
  C10_CUDA_CHECK(cudaGraphGetEdges(graph, from.data(), to.data(), kinds.data(), &num_edges));
#else
  C10_CUDA_CHECK(cudaGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &num_edges));
  std::vector<cudaGraphNode_t> from(num_edges), to(num_edges);
  kinds.resize(num_edges);
  C10_CUDA_CHECK(cudaGraphGetEdges_v2(graph, from.data(), to.data(), kinds.data(), &num_edges));
#endif
  std::map<cudaGraphNode_t, std::vector<cudaGraphNode_t>> after;
  std::map<cudaGraphNode_t, int> waits_for;
  for (std::size_t i = 0; i < num_edges; ++i) {
    after[from[i]].push_back(to[i]);
    ++waits_for[to[i]];
  }
  std::vector<cudaGraphNode_t> ready;
  for (const cudaGraphNode_t node : nodes)
    if (!waits_for.contains(node)) ready.push_back(node);
  std::vector<Launch> order;
  while (!ready.empty()) {
    const cudaGraphNode_t node = ready.back();
    ready.pop_back();
    order.push_back({.node = node});
    for (const cudaGraphNode_t next : after[node])
      if (--waits_for[next] == 0) ready.push_back(next);
  }
  return order;
}

// Returns false if the launch is of a kind that cannot be moved.
bool look_at(Launch& launch) {
  C10_CUDA_CHECK(cudaGraphNodeGetType(launch.node, &launch.type));
  switch (launch.type) {
    case cudaGraphNodeTypeKernel: {
      CUDA_KERNEL_NODE_PARAMS p{};
      if (driver().get_kernel(launch.node, &p) != CUDA_SUCCESS) return false;
      const void* function = p.func ? static_cast<const void*>(p.func) : p.kern;
      launch.sort = {function, p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.sharedMemBytes};
      return true;
    }
    case cudaGraphNodeTypeMemset: {
      cudaMemsetParams p{};
      C10_CUDA_CHECK(cudaGraphMemsetNodeGetParams(launch.node, &p));
      launch.sort = {nullptr, 1, p.elementSize, 0, 0, p.width * p.height};
      return true;
    }
    case cudaGraphNodeTypeMemcpy: {
      cudaMemcpy3DParms p{};
      if (cudaGraphMemcpyNodeGetParams(launch.node, &p) != cudaSuccess) return false;
      launch.sort = {nullptr, 2, static_cast<unsigned>(p.kind),
                     0,       0, p.extent.width * p.extent.height * p.extent.depth};
      return true;
    }
    default:
      return launch.type == cudaGraphNodeTypeEmpty;
  }
}

void add(cudaGraph_t graph, const Launch& launch, cudaGraphNode_t& last) {
  const cudaGraphNode_t* before = last ? &last : nullptr;
  const std::size_t num_before = last ? 1 : 0;
  cudaGraphNode_t node = nullptr;
  if (launch.type == cudaGraphNodeTypeKernel) {
    CUDA_KERNEL_NODE_PARAMS p{};
    bool good = driver().get_kernel(launch.node, &p) == CUDA_SUCCESS;
    good = good && driver().add_kernel(&node, graph, before, num_before, &p) == CUDA_SUCCESS;
    good = good && driver().copy_attributes(node, launch.node) == CUDA_SUCCESS;
    TORCH_CHECK(good, "a kernel of a captured graph could not be put into another");
  } else if (launch.type == cudaGraphNodeTypeMemset) {
    cudaMemsetParams p{};
    C10_CUDA_CHECK(cudaGraphMemsetNodeGetParams(launch.node, &p));
    C10_CUDA_CHECK(cudaGraphAddMemsetNode(&node, graph, before, num_before, &p));
  } else {
    cudaMemcpy3DParms p{};
    C10_CUDA_CHECK(cudaGraphMemcpyNodeGetParams(launch.node, &p));
    C10_CUDA_CHECK(cudaGraphAddMemcpyNode(&node, graph, before, num_before, &p));
  }
  last = node;
}

}  // namespace

struct CutGraph::Held {
  std::vector<Launch> launches;
  std::vector<cudaGraphExec_t> pieces;

  ~Held() {
    for (const cudaGraphExec_t piece : pieces) (void)cudaGraphExecDestroy(piece);
  }

  void make_piece(std::size_t begin, std::size_t end) {
    cudaGraph_t graph = nullptr;
    C10_CUDA_CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t last = nullptr;
    for (std::size_t i = begin; i < end; ++i) add(graph, launches[i], last);
    cudaGraphExec_t piece = nullptr;
    C10_CUDA_CHECK(cudaGraphInstantiate(&piece, graph, 0));
    C10_CUDA_CHECK(cudaGraphDestroy(graph));
    pieces.push_back(piece);
  }

  void launch(std::size_t i, Pieces& turns) {
    const Pieces::Turn turn(&turns, Pieces::key_in_graph(i));
    C10_CUDA_CHECK(cudaGraphLaunch(pieces[i], c10::cuda::getCurrentCUDAStream()));
  }

  // Makes the pieces on the way.
  void first_replay(Pieces& turns) {
    std::map<Sort, double> known;
    for (std::size_t begin = 0; begin < launches.size();) {
      const std::size_t piece = pieces.size();
      std::size_t end = begin + 1;
      const auto first = known.find(launches[begin].sort);
      if (first != known.end()) {
        double sum = first->second;
        for (; end < launches.size(); ++end) {
          const auto next = known.find(launches[end].sort);
          if (next == known.end() || sum + next->second > kPiece) break;
          sum += next->second;
        }
        turns.expect(Pieces::key_in_graph(piece), sum);
      }
      make_piece(begin, end);
      launch(piece, turns);  // waits for it if its time was unknown
      if (first == known.end())
        known[launches[begin].sort] = turns.seconds(Pieces::key_in_graph(piece));
      begin = end;
    }
  }
};

CutGraph::CutGraph(StepGraph& graph) {
  if (!driver().is_there()) return;
  auto held = std::make_unique<Held>();
  for (Launch& launch : in_order(static_cast<cudaGraph_t>(graph.kept()))) {
    if (!look_at(launch)) return;
    if (launch.type != cudaGraphNodeTypeEmpty) held->launches.push_back(launch);
  }
  held_ = std::move(held);
}

CutGraph::~CutGraph() = default;
bool CutGraph::is_built() const { return held_ != nullptr; }
std::size_t CutGraph::num_pieces() const { return held_ ? held_->pieces.size() : 0; }

void CutGraph::replay(Pieces& pieces) {
  if (held_->pieces.empty()) return held_->first_replay(pieces);
  for (std::size_t i = 0; i < held_->pieces.size(); ++i) held_->launch(i, pieces);
}

#else

struct CutGraph::Held {};
CutGraph::CutGraph(StepGraph&) {}
CutGraph::~CutGraph() = default;
bool CutGraph::is_built() const { return false; }
std::size_t CutGraph::num_pieces() const { return 0; }
void CutGraph::replay(Pieces&) {}

#endif

}  // namespace nereus::worker
