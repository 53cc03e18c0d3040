// The backends of this build: each function opens a Comm. The functions throw CommError if ranks
// are missing, and Errors if the options are wrong.
#pragma once

#include "worker/comm/comm.hpp"

namespace nereus::worker {

#ifdef NEREUS_GLOO
std::unique_ptr<Comm> open_gloo(const CommOptions& options);
std::vector<std::unique_ptr<Comm>> open_local_gloo(int num_ranks,
                                                   std::chrono::milliseconds timeout);
#endif

#ifdef NEREUS_NCCL
std::unique_ptr<Comm> open_nccl(const CommOptions& options);  // only for ranks that are processes
#endif

std::unique_ptr<Comm> open_shared(const CommOptions& options);
std::vector<std::unique_ptr<Comm>> open_local_shared(int num_ranks,
                                                     std::chrono::milliseconds timeout);

}  // namespace nereus::worker
