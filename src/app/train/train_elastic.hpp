// `nereus train --elastic`: a job on machines that come and go. This process is the coordinator
// (launch/elastic/coordinator.hpp); `nereus agent` on each machine runs a worker.
//
//   TrainAnswer a = train_elastic(request, {.folder = "run", .agents = 4}, watch);
//   a.losses; a.events;                       // of the whole job, including before a restart
//
// The plan of a generation is the fastest predicted plan for the available machines: on a named
// cluster, what `nereus plan` finds for that number of nodes; otherwise the best pipeline depth x
// replicas on machines like this one. `shapes` restricts the choice.
#pragma once

#include "app/train/train.hpp"

namespace nereus::app {

struct Shape {
  int pp = 1;
  int dp = 1;
  bool operator==(const Shape&) const = default;
};

struct ElasticRequest {
  std::string folder;           // of the job: state, token, steps, checkpoints
  std::string listen;           // HOST:PORT; empty: only this machine, any port
  int agents = 0;               // number to start on this machine
  int machines = 0;             // number to wait for at the start; 0: the agents, or one
  std::vector<Shape> shapes{};  // allowed ones; empty: all
  double dead_after_s = 2;
  double probation_s = 60;  // time until a slow machine is tried again
  std::string program;      // path of nereus, for agents
};

// Throws Errors with all errors of the request. Codes: elastic.folder, elastic.comm,
// elastic.plan-file, elastic.node, elastic.no-plan, elastic.shapes, elastic.other-job,
// elastic.running, elastic.listen, elastic.token, and those of train().
TrainAnswer train_elastic(const TrainRequest& request, const ElasticRequest& elastic,
                          const TrainWatch& watch);

// Parses "4x2,3x2": pp x dp. Throws Errors.
std::vector<Shape> parse_shapes(const std::string& text);

struct AgentRequest {
  std::string join;   // HOST:PORT of the coordinator
  std::string token;  // path of the token file
  std::string name;
  std::string worker;
  std::string notice_from;
  double give_up_s = 600;
};
// Returns the exit code.
int run_agent(const AgentRequest& request, const std::function<void(const std::string&)>& say);

}  // namespace nereus::app
