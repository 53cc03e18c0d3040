#include <fmt/format.h>

#include "base/error.hpp"
#include "worker/comm/backends.hpp"

namespace nereus::worker {
namespace {

[[noreturn]] void throw_no_backend(const std::string& backend) {
  std::string built = "shared";
#ifdef NEREUS_GLOO
  built += ", gloo";
#endif
#ifdef NEREUS_NCCL
  built += ", nccl";
#endif
  for (const char* known : {"gloo", "nccl"})
    if (backend == known)
      throw_input_error("comm.not-built",
                        fmt::format("this nereus-worker was built without {}", backend), {}, built);
  throw_input_error("comm.unknown-backend", fmt::format("there is no backend \"{}\"", backend), {},
                    built);
}

}  // namespace

std::unique_ptr<Comm> open_comm(const CommOptions& options) {
  ErrorList errors;
  if (options.num_ranks < 1)
    errors.add("comm.ranks", fmt::format("{} ranks; at least one is needed", options.num_ranks));
  else if (options.rank < 0 || options.rank >= options.num_ranks)
    errors.add("comm.rank", fmt::format("rank {} of {}", options.rank, options.num_ranks), {},
               fmt::format("0 to {}", options.num_ranks - 1));
  if (options.timeout.count() < 1)
    errors.add("comm.timeout", fmt::format("a time-out of {} ms", options.timeout.count()), {},
               "60000 ms");
  errors.throw_if_any();
#ifdef NEREUS_GLOO
  if (options.backend == "gloo") return open_gloo(options);
#endif
#ifdef NEREUS_NCCL
  if (options.backend == "nccl") return open_nccl(options);
#endif
  if (options.backend == "shared") return open_shared(options);
  throw_no_backend(options.backend);
}

std::vector<std::unique_ptr<Comm>> open_local_comms(const std::string& backend, int num_ranks,
                                                    std::chrono::milliseconds timeout) {
#ifdef NEREUS_GLOO
  if (backend == "gloo") return open_local_gloo(num_ranks, timeout);
#endif
  if (backend == "shared") return open_local_shared(num_ranks, timeout);
  throw_no_backend(backend);
}

}  // namespace nereus::worker
