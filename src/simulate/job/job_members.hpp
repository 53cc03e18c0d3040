// Which machines are there, which of them the plan uses, and which hold the job's state. Inside
// simulate/job only.
//
// When a plan is taken, machines that hold a stage of it stay with that stage and others fill the
// places that are left (plan/places.hpp, as the coordinator does); between plans of different
// depth, or where a plan does not say its depth, everybody receives state.
//
//   Members members(trace.nodes.size());
//   members.come(3);
//   members.take(plan);                 // the best for members.num_usable()
//   members.hold_state();               // once the morph is done
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
    there_[static_cast<std::size_t>(node)] = 1;
    arrival_[static_cast<std::size_t>(node)] = ++arrivals_;
  }
  void go(int node) {
    there_[static_cast<std::size_t>(node)] = 0;
    leaving_[static_cast<std::size_t>(node)] = 0;
    std::replace(holders_.begin(), holders_.end(), node, -1);  // it comes back with nothing
  }
  // Has been given notice: no plan takes it any more.
  void warn(int node, bool leaves) { leaving_[static_cast<std::size_t>(node)] = leaves; }

  bool is_there(int node) const { return there_[static_cast<std::size_t>(node)]; }
  int num_there() const;
  int num_usable() const;  // there, and without notice
  bool uses(int node) const;

  void take(const JobRate& plan);
  // Whether anybody must receive state before the plan can run.
  bool moves() const { return moves_; }
  void hold_state() {
    holders_ = members_;
    held_ = stages_;
  }
  bool every_stage_survives() const;

 private:
  bool may_work(int node) const {
    return node >= 0 && there_[static_cast<std::size_t>(node)] &&
           !leaving_[static_cast<std::size_t>(node)];
  }
  // Those that hold state first, in the order of their places; then who came first.
  std::vector<int> workers() const;

  std::vector<int> arrival_;  // when it came last, among all that ever came
  int arrivals_ = 0;
  std::vector<char> there_, leaving_;
  std::vector<int> members_;             // of the plan, in the order of its places
  std::vector<plan::HeldStage> stages_;  // of its places
  bool moves_ = false;
  std::vector<int> holders_;  // of the state, in the order of places of the plan they hold
  std::vector<plan::HeldStage> held_;
};

}  // namespace nereus::simulate
