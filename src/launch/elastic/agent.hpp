// An agent; there is one per machine. It joins the coordinator of an elastic job, keeps one
// nereus-worker running, and forwards messages between the two. It decides nothing about the job.
//
//   - The worker survives several generations. If it ends by itself, the agent reports it and
//     starts another, which joins as a new member; after three such ends in 30 s it gives up.
//   - If the coordinator is gone, the agent tries to reconnect again and again, and the worker
//     continues to train. The agent then repeats recent messages, because the coordinator may
//     have been restarted.
//   - A heartbeat every half second contains how long the worker has been silent.
//   - On SIGTERM, SIGUSR1, or a cloud's notice (notices.hpp), the agent tells the coordinator,
//     which plans without this machine and lets it leave. A second SIGTERM ends the agent at once.
//   - If the agent dies, the kernel kills the worker; the worker also ends when its pipe closes.
//
//   int code = run_agent({.coordinator = {"10.0.0.1", 29400}, .token = token, ...}, say);
#pragma once

#include <functional>
#include <string>

#include "launch/elastic/connection.hpp"

namespace nereus::launch {

struct AgentOptions {
  Address coordinator;
  std::string token;
  std::string name;         // distinguishes agents; empty: host and process number
  std::string worker;       // path of nereus-worker
  std::string build;        // build_id()
  std::string notice_from;  // "azure", "aws", "gcp", or one of them with =HOST:PORT; empty: none
  double give_up_s = 600;   // time without a coordinator
};

using Say = std::function<void(const std::string& line)>;

// Returns the exit code: 0, the job is done, or the coordinator let the agent leave; 2, rejected
// (another token, build or name); 4, no coordinator; 5, its worker fails again and again.
int run_agent(const AgentOptions& options, const Say& say);

}  // namespace nereus::launch
