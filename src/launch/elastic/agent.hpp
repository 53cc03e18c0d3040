// An agent: one a machine. It joins the coordinator of an elastic job, keeps one nereus-worker
// alive, and hands messages on between the two. It decides nothing about the job.
//
//   - The worker lives through generations. Where it ends by itself, the agent says so and starts
//     another, which comes as a new member; after three in 30 s it gives up.
//   - A coordinator that is gone is called again and again; the worker trains on meanwhile. What it
//     said lately is told once more, since the coordinator may be a new one.
//   - A beat every half second says how long the worker has been silent.
//   - SIGTERM, SIGUSR1, or a cloud's notice (notices.hpp): the coordinator is told, plans without
//     this machine, and lets it leave. A second SIGTERM ends at once.
//   - The worker is killed with the agent, by the kernel; and ends by itself when its pipe does.
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
  std::string name;         // tells agents apart; empty: host and process number
  std::string worker;       // path of nereus-worker
  std::string build;        // build_id()
  std::string notice_from;  // "azure", "aws", "gcp", or one of them and =HOST:PORT; empty: none
  double give_up_s = 600;   // without a coordinator
};

using Say = std::function<void(const std::string& line)>;

// The exit code: 0 the job is done or let it go; 2 refused (another token, build or name); 4 no
// coordinator; 5 its worker fails again and again.
int run_agent(const AgentOptions& options, const Say& say);

}  // namespace nereus::launch
