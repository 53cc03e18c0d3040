// State from ranks that have it to ranks that need it, over a Comm of the new generation.
//
//   1. everyone tells what it holds and needs (PartNames with checksums)
//   2. each computes the same sources (sources.hpp)
//   3. layer by layer: what one rank sends to another of a layer is one message, its bytes and then
//      their checksum
//   4. what arrived otherwise than it was sent is refused and asked from another holder, until
//      nothing is left to ask for
//
// All or nothing: where some part has no source any more, `missing` says which, the same on every
// rank, and what was filled is worth nothing. When it returns every rank has all it needs, or
// every rank knows that not.
//
//   Exchanged e = exchange_state(comm, held.parts, needed.parts);
//   if (!e.missing.empty()) ...                     // back to the checkpoint
#pragma once

#include <functional>

#include "worker/comm/comm.hpp"
#include "worker/elastic/sources.hpp"

namespace nereus::worker {

struct Exchanged {
  std::int64_t own_bytes = 0;   // that this rank had already
  std::int64_t peer_bytes = 0;  // that it received
  std::vector<std::string> missing{};
  std::vector<std::string> remarks{};  // copies that were not trusted or refused
};

// `spoil`, for tests: changes a message on its way out.
using Spoil = std::function<void(int to, at::Tensor& message)>;

// Bytes of `needed` are written to. Throws CommError; `filled` is then true where this rank had all
// that it needs, though others may not.
Exchanged exchange_state(Comm& comm, const std::vector<checkpoint::Part>& held,
                         const std::vector<checkpoint::Part>& needed, bool& filled,
                         const Spoil& spoil = {});

}  // namespace nereus::worker
