// Compares published times of collectives (data/stash/measured_comm.csv) with
// simulate/nccl_nodes.hpp. Only for use inside reproduce/.
//
// It uses rows that state bytes, ranks, and a time or bandwidth as one number each; the others are
// listed with the reason. Links are those of data/stash/sites.csv: what vendors state, not what was
// measured. Nothing is fitted to these rows.
//
//   const PublishedCollectives all = published_collectives({});
//   all.rows[0].error();
#pragma once

#include <string>
#include <vector>

#include "simulate/nccl_nodes.hpp"

namespace nereus::app {

struct PublishedCollective {
  std::string system{};
  std::string operation{};
  simulate::NcclSite site{};
  simulate::NcclAlgorithm algorithm = simulate::NcclAlgorithm::kAny;
  double bytes = 0;
  double measured = 0;  // seconds
  double predicted = 0;
  bool counts = true;  // false: a second number of a row
  std::string source{};
  double error() const;  // predicted / measured - 1, as a positive number
};

struct NotPredicted {
  std::string what{};
  std::string why{};
};

struct PublishedCollectives {
  std::vector<PublishedCollective> rows{};
  std::vector<NotPredicted> others{};
  int counted = 0;
  double median_error = 0;
};

PublishedCollectives published_collectives(const simulate::NcclNodeNumbers& numbers);

}  // namespace nereus::app
