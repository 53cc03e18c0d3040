// All-gathers and reduce-scatters with pieces of different sizes, in two forms:
//
//   exact    the pieces as they are: around the ring for messages; for NCCL, one broadcast (or
//            reduction) per piece. Moves the sum of the pieces.
//   padded   every piece is copied into a buffer with n equal parts as long as the longest piece;
//            the buffer goes through one even collective. Moves n x longest, plus two copies.
//
// Both give the same bits: the order in which a ring adds does not depend on the position of a
// piece.
//
// Which form is faster: on a ring, exact moves no more bytes and copies nothing, so it is always
// used. With NCCL, each broadcast has a start-up cost and a lower bandwidth. On 8 GPUs of a node
// (openucx/ucc pull request 347, evenness of the pieces not stated) both forms are equal at 1 to 8
// MB; below, broadcasts are faster; above, padding is faster by up to 1.28. So padded is used if n
// x longest / sum is below this factor at the buffer's size. Equal pieces are a single even
// collective already: exact.
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
