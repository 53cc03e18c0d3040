// Which machines are there, which of them the plan uses, and which hold the job's state. Inside
// simulate/job only.
//
// Place i of a plan of s stages holds stage i mod s. When a plan is taken, machines that hold a
// stage of it stay with that stage and others fill the places that are left; between plans of
// different depth, or where a plan does not say its depth, everybody receives state.
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

#include "simulate/job/play.hpp"

namespace nereus::simulate {

class Members {
 public:
  explicit Members(std::size_t nodes) : there_(nodes), leaving_(nodes) {}

  void come(int node) { there_[static_cast<std::size_t>(node)] = 1; }
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
    holders_stages_ = stages_;
  }
  bool every_stage_survives() const;

 private:
  bool may_work(int node) const {
    return node >= 0 && there_[static_cast<std::size_t>(node)] &&
           !leaving_[static_cast<std::size_t>(node)];
  }
  std::vector<int> workers() const;  // those that hold state first

  std::vector<char> there_, leaving_;
  std::vector<int> members_;  // of the plan, in the order of its places
  int stages_ = 0;
  bool moves_ = false;
  std::vector<int> holders_;  // of the state, in the order of places of the plan they hold
  int holders_stages_ = 0;
};

}  // namespace nereus::simulate
