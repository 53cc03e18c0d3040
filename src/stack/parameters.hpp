// All numbers of the cost model that do not come from a data sheet or from arithmetic. Each has a
// physical meaning, a unit and a plausible range; `nereus calibrate` may only change it inside that
// range.
//
// Values are looked up from the general to the specific, and later ones override earlier ones: the
// defaults below, those of the device, of the software stack and its ancestors, and of the site
// (data/stacks/*.toml; stack/stack.hpp).
//
//   Parameters p;
//   for (const ParameterInfo& info : parameter_table())
//     fmt::print("{} = {}\n", info.name, p.*info.member);
#pragma once

#include <span>
#include <string_view>

namespace nereus::cost {

// name, default, low, high, unit, meaning
#define NEREUS_PARAMETERS(X)                                                                       \
  X(clock, 1.0, 0.5, 1.1, "", "matrix rate relative to the data sheet (power limits)")             \
  X(gemm_efficiency, 0.75, 0.30, 0.95, "", "share of the 16-bit peak that a large GEMM reaches")   \
  X(gemm_efficiency_8bit, 0.55, 0.15, 0.90, "",                                                    \
    "share of the 8-bit peak that a large GEMM reaches")                                           \
  X(gemm_efficiency_4bit, 0.45, 0.10, 0.90, "",                                                    \
    "share of the 4-bit peak that a large GEMM reaches")                                           \
  X(gemm_efficiency_32bit, 0.70, 0.30, 0.95, "",                                                   \
    "share of the 32- and 64-bit peak that a large GEMM reaches")                                  \
  X(gemm_tail, 0.7, 0.0, 1.0, "",                                                                  \
    "share of the last, partly filled wave of tiles that a GEMM pays for")                         \
  X(gemm_edge, 1.0, 0.0, 1.0, "", "share of the unfilled part of edge tiles that a GEMM pays for") \
  X(gemm_depth, 128, 0, 2048, "elements",                                                          \
    "inner size at which a 16-bit GEMM reaches half of its rate")                                  \
  X(convolution_efficiency, 0.85, 0.2, 1.6, "",                                                    \
    "rate of convolutions relative to GEMMs of the same size")                                     \
  X(misaligned_gemm, 1.15, 1.0, 2.0, "", "slowdown of a GEMM with a dim not divisible by 64")      \
  X(misaligned_head, 1.30, 1.0, 8.0, "",                                                           \
    "slowdown of unfused attention with a head size not divisible by 8")                           \
  X(attention_efficiency, 0.45, 0.05, 0.85, "",                                                    \
    "share of the 16-bit peak in fused attention, forward")                                        \
  X(attention_backward, 0.80, 0.3, 1.2, "",                                                        \
    "efficiency of fused attention backward relative to forward")                                  \
  X(score_passes, 1.0, 0.3, 3.0, "",                                                               \
    "passes over unfused attention scores relative to fused softmax")                              \
  X(host_fallback, 5e-4, 0, 5e-3, "s",                                                             \
    "host time of a block where the fused softmax kernel does not apply")                          \
  X(memory_efficiency, 0.80, 0.30, 0.95, "",                                                       \
    "share of the memory bandwidth that element-wise kernels reach")                               \
  X(elementwise_passes, 1.5, 0.5, 6.0, "",                                                         \
    "memory passes relative to perfectly fused element-wise kernels")                              \
  X(image_efficiency, 0.85, 0.3, 0.95, "",                                                         \
    "share of the memory bandwidth that kernels on images reach")                                  \
  X(image_passes, 1.4, 0.3, 5.0, "",                                                               \
    "memory passes of norms, activations, additions and pools of images, relative to norms that "  \
    "do the activation and the addition on the way")                                               \
  X(image_passes_32bit, 1.5, 1.0, 3.0, "",                                                         \
    "image_passes of 32-bit images, which stay channels-first, relative to 16-bit ones")           \
  X(cast_passes, 1.0, 0.0, 3.0, "",                                                                \
    "memory passes to quantise GEMM operands relative to separate kernels")                        \
  X(block_cast_passes, 1.0, 0.0, 5.0, "",                                                          \
    "memory passes to quantise GEMM operands with block scales (mxfp8, nvfp4): two copies, by "    \
    "rows and by columns")                                                                         \
  X(scatter_rate, 0, 0, 10, "G/s",                                                                 \
    "numbers that a multiprocessor adds to tables' rows where each look-up's gradient is added "   \
    "with atomics; 0: gradients are sorted and rows updated once")                                 \
  X(bottom_alone, 0, 0, 1, "",                                                                     \
    "share of a recommendation model's bottom MLP that one rank without tables computes for all "  \
    "samples of its group")                                                                        \
  X(loss_passes, 1.0, 0.2, 4.0, "", "passes over the logits relative to a fused cross entropy")    \
  X(scan_efficiency, 0.10, 0.01, 0.60, "",                                                         \
    "share of the 16-bit peak in state-space scans, forward")                                      \
  X(grouped_gemm, 0.85, 0.30, 1.0, "",                                                             \
    "rate of the experts' grouped GEMMs relative to one large GEMM")                               \
  X(expert_passes, 1.5, 0.5, 8.0, "",                                                              \
    "memory passes to route, permute, activate and combine the tokens of experts, relative to "    \
    "perfectly fused ones")                                                                        \
  X(fused_experts, 0, 0, 1, "",                                                                    \
    "share of mxfp8 gated experts run as one kernel without the host: no activation passes")       \
  X(expert_imbalance, 1.0, 1.0, 4.0, "", "tokens of the busiest expert rank over the mean")        \
  X(expert_overlap, 0, 0, 1, "", "share of the experts' all-to-alls hidden behind compute")        \
  X(dispatch_once, 0, 0, 1, "",                                                                    \
    "share of a token's copies to one rank (one node, across nodes) that are sent only once")      \
  X(kernel_gap, 2e-6, 0, 2e-5, "s", "device idle time between two kernels")                        \
  X(host_layer, 1.0e-3, 0, 2e-2, "s", "host time to launch forward and backward of one block")     \
  X(host_expert, 3e-4, 0, 5e-3, "s",                                                               \
    "host time of one expert of a rank in one block, forward and backward")                        \
  X(host_collective, 2e-5, 0, 1e-3, "s", "host time to launch one tensor collective")              \
  X(host_micro_batch, 0, 0, 0.2, "s", "host time per micro-batch in addition to its layers")       \
  X(host_transfer, 5e-5, 0, 5e-3, "s", "host time of one pipeline send or receive")                \
  X(host_step, 1e-2, 0, 2.0, "s", "host time per step in addition to its micro-batches")           \
  X(straggler, 0, 0, 0.2, "",                                                                      \
    "growth of a step's passes per doubling of ranks, all of which wait for the slowest")          \
  X(host_sharpness, 4, 1.5, 32, "", "exponent of the smooth maximum of host and device time")      \
  X(link_efficiency, 0.75, 0.2, 1.0, "",                                                           \
    "share of the link rate inside a node that collectives reach")                                 \
  X(link_latency, 8e-6, 5e-7, 1e-3, "s", "time of one step of a collective inside a node")         \
  X(network_efficiency, 0.70, 0.05, 1.0, "",                                                       \
    "share of the node's network rate that collectives reach")                                     \
  X(network_latency, 2e-5, 1e-6, 1e-3, "s", "time of one step of a collective between nodes")      \
  X(tensor_overlap, 0.5, 0, 1, "",                                                                 \
    "share of tensor collectives hidden where a plan overlaps them")                               \
  X(data_overlap, 0.5, 0, 1, "", "share of the last backward pass that hides gradient all-reduce") \
  X(zero_overlap, 0, 0, 1, "",                                                                     \
    "share of the last backward pass that hides reduce-scatter and weight all-gather under "       \
    "ZeRO-1 "                                                                                      \
    "and -2")                                                                                      \
  X(shard_overlap, 0.8, 0, 1, "", "share of weight gathering hidden when it could be hidden")      \
  X(pipeline_overlap, 0, 0, 1, "", "share of pipeline transfers hidden behind compute")            \
  X(compute_slowdown, 0, 0, 0.6, "", "slowdown of compute while a collective runs concurrently")   \
  X(accumulate_bytes, 4, 0, 30, "B",                                                               \
    "memory traffic per parameter to add one micro-batch's gradients")                             \
  X(optimizer_passes, 1.0, 0.3, 6.0, "", "memory passes of the optimizer relative to a fused one") \
  X(host_update_rate, 1.17e11, 1e9, 1e13, "B",                                                     \
    "bytes per second at which one node's host updates offloaded optimizer state")                 \
  X(network_jitter, 0, 0, 0.5, "",                                                                 \
    "growth of collective time per doubling of the number of nodes")                               \
  X(pipelined_latency, 0, 0, 1e-3, "s",                                                            \
    "extra time per rank of a tensor collective while pipeline transfers cross nodes")             \
  X(transfer_stall, 0, 0, 1.0, "s", "stall of one pipeline transfer on very large jobs")           \
  X(transfer_stall_devices, 1e9, 1, 1e9, "", "devices from which pipeline transfers stall")        \
  X(transfer_stall_memory, 10, 0.5, 10, "", "share of memory from which pipeline transfers stall") \
  X(activation_copies, 1.0, 0.5, 4.0, "", "saved activations relative to fused kernels")           \
  X(logits_copies, 2.0, 0.5, 6.0, "", "fp32 copies of the logits alive at once")                   \
  X(gathered_inputs, 0, 0, 1, "",                                                                  \
    "share of gathered inputs of split GEMMs kept whole for backward")                             \
  X(pipeline_layers, 0, 0, 3, "",                                                                  \
    "further layers of activations each micro-batch in flight holds")                              \
  X(buffer_bytes, 0, 0, 12, "B", "communication and copy buffers per parameter")                   \
  X(memory_slack, 1.0, 1.0, 1.5, "", "allocated memory / needed memory (fragmentation)")           \
  X(memory_fixed, 0.5e9, 0, 16e9, "B", "memory used before training starts (context, NCCL)")       \
  X(memory_pressure, 0, 0, 3.0, "", "slowdown per share of memory used above 90 %")

struct Parameters {
#define NEREUS_FIELD(name, value, low, high, unit, meaning) double name = value;
  NEREUS_PARAMETERS(NEREUS_FIELD)
#undef NEREUS_FIELD
  bool operator==(const Parameters&) const = default;
};

struct ParameterInfo {
  std::string_view name;
  double Parameters::*member;
  double low;
  double high;
  std::string_view unit;
  std::string_view meaning;
};

std::span<const ParameterInfo> parameter_table();
const ParameterInfo* find_parameter(std::string_view name);  // nullptr if there is none

}  // namespace nereus::cost
