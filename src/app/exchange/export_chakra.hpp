// `nereus export PLAN --to chakra`: one execution trace a rank, and the communicator groups, as
// ASTRA-sim reads them.
//
//   DIR/NAME.RANK.et      NAME is the model's
//   DIR/comm_groups.json
//
//   ChakraAnswer a = export_chakra({.plan_file = "best.plan", .directory = "et"}, say_size);
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nereus::app {

struct ChakraRequest {
  std::string plan_file;
  std::string directory;
  std::vector<int> ranks;                     // empty: all
  bool yes = false;                           // write more than `most`
  std::int64_t most = std::int64_t{4} << 30;  // bytes that are written unasked
};

struct ChakraAnswer {
  std::string directory;
  std::string prefix;  // of the traces: what ASTRA-sim is given as its workload
  std::vector<int> ranks;
  int num_ranks = 0;  // of the plan
  std::int64_t num_nodes = 0;
  std::int64_t num_bytes = 0;  // of all traces
};

// `before` is told the size before anything is written. Throws Errors: a bad plan file, a plan that
// is not regular ("chakra.irregular"), ranks that do not exist, too much to write.
ChakraAnswer export_chakra(const ChakraRequest& request,
                           const std::function<void(const ChakraAnswer&)>& before = {});

}  // namespace nereus::app
