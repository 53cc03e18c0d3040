// `nereus export PLAN --to chakra`: one execution trace per rank, and the communicator groups, in
// the format of ASTRA-sim.
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
  bool yes = false;                           // also write more than `most`
  std::int64_t most = std::int64_t{4} << 30;  // bytes that are written without `yes`
};

struct ChakraAnswer {
  std::string directory;
  std::string prefix;  // of the traces: the workload argument of ASTRA-sim
  std::vector<int> ranks;
  int num_ranks = 0;  // in the plan
  std::int64_t num_nodes = 0;
  std::int64_t num_bytes = 0;  // of all traces
};

// Calls `before` with the size before anything is written. Throws Errors: a bad plan file, a plan
// that is not regular ("chakra.irregular"), ranks that do not exist, too much to write.
ChakraAnswer export_chakra(const ChakraRequest& request,
                           const std::function<void(const ChakraAnswer&)>& before = {});

}  // namespace nereus::app
