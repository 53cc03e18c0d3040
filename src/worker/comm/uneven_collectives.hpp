// All-gathers and reduce-scatters with pieces of different sizes, in two forms:
//
//   exact    every piece is sent with its own length: around the ring with messages, as one
//            broadcast (or reduction) per piece with NCCL. Moves the sum of the pieces.
//   padded   every piece is copied into a buffer with n equal parts as long as the longest piece;
//            the buffer goes through one even collective. Moves n x longest, plus two copies.
//
// Both give the same bits: the order in which a ring adds does not depend on the position of a
// piece.
//
// Which form is faster: on a ring, exact moves no more bytes and copies nothing, so it is always
// used. With NCCL, each broadcast has a start-up cost and a lower bandwidth. On 8 GPUs of a node
// (openucx/ucc pull request 347, evenness of the pieces not stated) both forms take equally long
// for buffers of 1 to 8 MB. For smaller buffers broadcasts are faster; for larger ones padding is
// faster, by a factor of up to 1.28. So with NCCL, padded is used if n x longest / sum is below the
// factor for the buffer's size. Pieces of equal size need no padding, so the form is exact.
//
//   const Form form = choose_form(comm.name(), ranges, bytes_each);
//   Handle gathered = all_gather(*group, flat, ranges, form);
#pragma once

#include <string>

#include "worker/comm/comm.hpp"

namespace nereus::worker {

enum class Form { kExact, kPadded };

Form choose_form(const std::string& backend, const std::vector<Range>& ranges,
                 std::int64_t bytes_each);

Handle all_gather(Group& group, at::Tensor flat, const std::vector<Range>& ranges, Form form);
Handle reduce_scatter(Group& group, at::Tensor flat, const std::vector<Range>& ranges, Form form);

}  // namespace nereus::worker
