#include "worker/elastic/life.hpp"

#include <vector>

#include "worker/device/torch_compat.hpp"

namespace nereus::worker {

int count_votes(Comm& comm, bool yes) {
  if (comm.num_ranks() == 1) return yes;
  std::vector<int> all;
  for (int i = 0; i < comm.num_ranks(); ++i) all.push_back(i);
  at::Tensor votes = at::full({1}, yes ? 1 : 0, at::kLong);
  comm.group(all)->all_reduce(votes)->wait();
  return votes.item<int>();
}

std::int64_t from_first(Comm& comm, std::int64_t number) {
  if (comm.num_ranks() == 1) return number;
  std::vector<int> all;
  for (int i = 0; i < comm.num_ranks(); ++i) all.push_back(i);
  at::Tensor value = at::full({1}, comm.rank() == 0 ? number : 0, at::kLong);
  comm.group(all)->all_reduce(value)->wait();
  return value.item<std::int64_t>();
}

}  // namespace nereus::worker
