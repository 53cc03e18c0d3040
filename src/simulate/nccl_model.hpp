// What a collective of NCCL's kind takes among the devices of one fast domain: our default model,
// with four numbers that no data sheet has.
//
// A ring passes s steps of pieces of B/n bytes; W = s B/n crosses every link, s = 2(n-1) for
// all-reduce, n-1 for the others. Cut into pieces and pipelined, W bytes over s steps of latency a
// take at the best size of a piece
//   (sqrt(W / R) + sqrt(s a))^2 = W/R + s a + 2 sqrt(W/R s a)       R = efficiency x wire
// the first two terms are the classic ring, the third what filling and draining the pieces costs:
// it is why bandwidth keeps growing up to hundreds of MiB, whichever protocol (LL, LL128, Simple)
// moves them. The last piece is also received and copied out with nothing left to send beside it, a
// share `tail` of a step: B/n / R x tail, which is most where there are few steps (two devices).
// Before all stands the floor: launch, and waiting for each other.
//
//   time = floor + (sqrt(W/R) + sqrt(s a))^2 + tail B / (n R)
//
// efficiency <= 1 and everything else >= 0, so nothing is faster than its wire; more bytes or a
// slower wire never take less.
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
  double wire = 0;   // bytes per second one way of one device
};

struct NcclNumbers {
  double floor = 0;       // seconds
  double efficiency = 1;  // of the wire
  double step = 0;        // seconds of latency a step
  double tail = 0;        // of a step
};

double collective_seconds(const NcclNumbers& numbers, const NcclCall& call);

// Bytes that every link carries, and how many steps carry them.
double wire_bytes(const NcclCall& call);
int ring_steps(const NcclCall& call);

// Fitted by `nereus validate --collectives data/collectives/nccl_a100.csv`; nccl_model_test.cpp
// holds that the fit still gives them.
inline constexpr NcclNumbers kNcclA100{31.4e-6, 0.872, 0.584e-6, 0.654};

}  // namespace nereus::simulate
