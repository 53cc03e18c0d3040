// All-gathers and reduce-scatters of pieces of unequal length, in two forms:
//
//   exact    the pieces as they are: round the ring for messages, a broadcast (reduction) a piece
//            for NCCL. Moves sum of the pieces.
//   padded   every piece is copied into a buffer of n equal parts as long as the longest, which
//            then goes as one even collective. Moves n x longest, and two copies.
//
// Both give the same bits: the order in which a ring adds does not depend on where a piece lies.
//
// Which is faster. On a ring the exact form moves no more and copies nothing: always exact. NCCL's
// broadcasts cost a start each but lose bandwidth: on 8 GPUs of a node (openucx/ucc pull request
// 347, pieces of unstated evenness) the two are level at 1 to 8 MB, below it broadcasts win, above
// it padding is faster by up to 1.28. So padded where n x longest / sum is below that advantage at
// the buffer's size. Equal pieces are one even collective already: exact.
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
