// `nereus train --elastic`: a job on machines that come and go. This process is the coordinator
// (launch/elastic/coordinator.hpp); `nereus agent` on each machine runs a worker.
//
//   TrainAnswer a = train_elastic(request, {.folder = "run", .agents = 4}, watch);
//   a.losses; a.events;                       // of the whole job, also what ran before a restart
//
// The plan of a generation is the fastest that is predicted for the machines that are there: on a
// named cluster what `nereus plan` finds for so many of its nodes, else the best of pipeline depth
// x replicas on machines like this one. `shapes` allows only some.
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
  std::string listen;           // HOST:PORT; empty: this machine alone, any port
  int agents = 0;               // to start on this machine
  int machines = 0;             // to wait for at the start; 0: the agents, or one
  std::vector<Shape> shapes{};  // allowed ones; none: all
  double dead_after_s = 2;
  double probation_s = 60;  // until a slow machine is tried again
  std::string program;      // path of nereus, for agents
};

// Throws Errors with all that is wrong with the request. Codes: elastic.folder, elastic.comm,
// elastic.plan-file, elastic.node, elastic.no-plan, elastic.shapes, elastic.other-job,
// elastic.running, elastic.listen, elastic.token, and those of train().
TrainAnswer train_elastic(const TrainRequest& request, const ElasticRequest& elastic,
                          const TrainWatch& watch);

// "4x2,3x2": pp x dp. Throws Errors.
std::vector<Shape> parse_shapes(const std::string& text);

struct AgentRequest {
  std::string join;   // HOST:PORT of the coordinator
  std::string token;  // file
  std::string name;
  std::string worker;
  std::string notice_from;
  double give_up_s = 600;
};
// The exit code.
int run_agent(const AgentRequest& request, const std::function<void(const std::string&)>& say);

}  // namespace nereus::app
