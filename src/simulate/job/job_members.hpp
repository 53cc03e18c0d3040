// Which machines are available, which of them the plan uses, and which hold the job's state. Only
// for use inside simulate/job.
//
// When a new plan is adopted, machines that hold one of its stages keep that stage, and others fill
// the remaining places (plan/places.hpp, as in the coordinator). Between plans of different depth,
// or if the depth of a plan is unknown, all machines receive state.
//
//   Members members(trace.nodes.size());
//   members.come(3);
//   members.take(plan);                 // the best plan for members.num_usable()
//   members.hold_state();               // after the morph
//   members.go(3);
//   members.every_stage_survives();
#pragma once

#include <algorithm>
#include <vector>

#include "plan/places.hpp"
#include "simulate/job/job_play.hpp"

namespace nereus::simulate {

class Members {
 public:
  explicit Members(std::size_t nodes) : arrival_(nodes), there_(nodes), leaving_(nodes) {}

  void come(int node) {
    there_[node] = 1;
    arrival_[node] = ++arrivals_;
  }
  void go(int node) {
    there_[node] = 0;
    leaving_[node] = 0;
    std::replace(holders_.begin(), holders_.end(), node, -1);  // it comes back without state
  }
  // The machine has been given notice: later plans do not use it.
  void warn(int node, bool leaves) { leaving_[node] = leaves; }

  bool is_there(int node) const { return there_[node]; }
  int num_there() const;
  int num_usable() const;  // available, without notice
  bool uses(int node) const;

  void take(const JobRate& plan);
  // Whether any machine must receive state before the plan can run.
  bool moves() const { return moves_; }
  void hold_state() {
    holders_ = members_;
    held_ = stages_;
  }
  bool every_stage_survives() const;

 private:
  bool may_work(int node) const { return node >= 0 && there_[node] && !leaving_[node]; }
  // Machines that hold state first, in the order of their places; then the others by arrival.
  std::vector<int> workers() const;

  std::vector<int> arrival_;  // order of the last arrival, over all nodes
  int arrivals_ = 0;
  std::vector<char> there_, leaving_;
  std::vector<int> members_;             // of the plan, in the order of its places
  std::vector<plan::HeldStage> stages_;  // stages of its places
  bool moves_ = false;
  // Holders of the state, in the order of places of the plan whose state they hold.
  std::vector<int> holders_;
  std::vector<plan::HeldStage> held_;
};

}  // namespace nereus::simulate
