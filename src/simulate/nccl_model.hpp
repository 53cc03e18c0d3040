// The time of an NCCL collective among the devices of one fast domain: our default model, with four
// numbers that no data sheet has.
//
// A ring runs s steps with pieces of B/n bytes. W = s B/n bytes cross every link, with s = 2(n-1)
// for all-reduce and n-1 for the others. With the best size of pipelined pieces, W bytes over s
// steps of latency a take
//   (sqrt(W / R) + sqrt(s a))^2 = W/R + s a + 2 sqrt(W/R s a)       R = efficiency x wire
// The first two terms on the right are the classic ring; the third is the cost of filling and
// draining the pipeline of pieces. It is the reason why bandwidth keeps growing up to hundreds of
// MiB, with any protocol (LL, LL128, Simple). When the last piece is received and copied out, there
// is nothing left to send at the same time. This takes a share `tail` of a step, B/n / R x tail,
// which matters most with few steps (two devices). The floor is added: the launch, and the time in
// which ranks wait for each other to start.
//
//   time = floor + (sqrt(W/R) + sqrt(s a))^2 + tail B / (n R)
//
// efficiency <= 1 and everything else >= 0, so nothing is faster than its wire. More bytes or a
// slower wire are never faster.
//
// Sources: NCCL 2 (github.com/NVIDIA/nccl: ring steps of send, receive-reduce-send ...,
// receive; tuning.cc for protocols and latencies); pipelining: Träff, Ripke 2008, and Hockney's
// model.
//
//   collective_seconds(kNcclA100, {Collective::kAllReduce, 8, 64 * kMiB, 300e9});
#pragma once

#include "simulate/network/collective.hpp"

namespace nereus::simulate {

struct NcclCall {
  Collective collective = Collective::kAllReduce;
  int num_ranks = 2;
  double bytes = 0;  // the whole buffer: what is reduced, gathered, or sent by one rank to all
  double wire = 0;   // bytes per second, one way, per device
};

struct NcclNumbers {
  double floor = 0;       // seconds
  double efficiency = 1;  // share of the wire's rate
  double step = 0;        // seconds of latency per step
  double tail = 0;        // share of a step
};

double collective_seconds(const NcclNumbers& numbers, const NcclCall& call);

// Bytes that every link carries, and the number of steps that carry them.
double wire_bytes(const NcclCall& call);
int ring_steps(const NcclCall& call);

// Fitted by `nereus validate --collectives data/collectives/nccl_a100.csv`; nccl_model_test.cpp
// checks that the fit still gives these numbers.
inline constexpr NcclNumbers kNcclA100{31.4e-6, 0.872, 0.584e-6, 0.654};

}  // namespace nereus::simulate
