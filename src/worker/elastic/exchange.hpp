// Sends state from ranks that have it to ranks that need it, over a Comm of the new generation.
//
//   1. each rank sends lists of what it holds and what it needs (PartNames with checksums)
//   2. each computes the same sources (sources.hpp)
//   3. layer by layer: all parts of a layer from one rank to another are one message, followed by a
//      checksum
//   4. a message whose checksum is wrong is rejected, and requested from another holder, until
//      nothing is missing
//
// All or nothing: if a part has no source left, `missing` names the part on every rank, and the
// filled state must not be used. When the function returns, either every rank has all it needs, or
// every rank knows that some rank does not.
//
//   Exchanged e = exchange_state(comm, held.parts, needed.parts);
//   if (!e.missing.empty()) ...                     // use the checkpoint instead
#pragma once

#include <functional>

#include "worker/comm/comm.hpp"
#include "worker/elastic/sources.hpp"

namespace nereus::worker {

struct Exchanged {
  std::int64_t own_bytes = 0;   // that this rank already had
  std::int64_t peer_bytes = 0;  // that it received
  std::vector<std::string> missing{};
  std::vector<std::string> remarks{};  // about copies that were not trusted or were rejected
};

// `spoil`, for tests: changes a message before it is sent.
using Spoil = std::function<void(int to, at::Tensor& message)>;

// Writes to the bytes of `needed`. Even if it throws CommError, `filled` tells whether this rank
// has all that it needs; other ranks may not.
Exchanged exchange_state(Comm& comm, const std::vector<checkpoint::Part>& held,
                         const std::vector<checkpoint::Part>& needed, bool& filled,
                         const Spoil& spoil = {});

}  // namespace nereus::worker
