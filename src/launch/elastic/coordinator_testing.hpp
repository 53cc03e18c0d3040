// For tests: a coordinator on a thread, and agents controlled by the test.
//
//   Running running(folder.path(), 2);
//   FakeAgent a(running.address(), "a"), b(running.address(), "b");
//   const ElasticMessage ga = a.wait(ElasticKind::kGeneration, {&b});
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "job/elastic.hpp"
#include "launch/elastic/coordinator.hpp"
#include "plan/expand.hpp"
#include "plan/test_models.hpp"

namespace nereus::launch::testing {

using job::ElasticKind;
using job::ElasticMessage;

inline job::Job small_job() {
  job::Job job;
  job.build = "build";
  job.training.steps = 100;
  job.plan.model = plan::testing::make_dense(4);
  job.plan.cluster = plan::testing::make_cluster(1);
  job.plan.placement = plan::expand(plan::Degrees{}, job.plan.model);
  return job;
}

// A coordinator on a thread.
class Running {
 public:
  explicit Running(const std::string& folder, int first, int port = 0,
                   CoordinatorOptions options = {}, std::function<bool(std::int64_t)> is_saved = {})
      : options_(std::move(options)) {
    hooks_.is_saved = std::move(is_saved);
    options_.folder = folder;
    options_.token = "token of the test";
    options_.build = "build";
    options_.steps = 100;
    options_.first_members = first;
    options_.dead_after_s = 0.6;
    options_.return_s = 2;
    options_.listen.port = port;
    std::promise<Address> where;
    std::future<Address> address = where.get_future();
    hooks_.plan = [](int members) -> std::optional<PlannedJob> {
      if (members < 2) return std::nullopt;
      return PlannedJob{small_job(), members, 1.0 / members, "some"};
    };
    hooks_.listening = [&where](const Address& a) { where.set_value(a); };
    hooks_.event = [this](const ElasticEvent& e) {
      const std::lock_guard lock(mutex_);
      events_.push_back(e.kind);
    };
    thread_ = std::thread([this] { outcome_ = run_coordinator(options_, hooks_); });
    address_ = address.get();
  }
  ~Running() { join(); }
  const JobOutcome& join() {
    if (thread_.joinable()) thread_.join();
    return outcome_;
  }
  const Address& address() const { return address_; }
  int count(const std::string& kind) {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::count(events_.begin(), events_.end(), kind));
  }
  const JobOutcome& outcome() const { return outcome_; }

 private:
  CoordinatorOptions options_;
  CoordinatorHooks hooks_;
  Address address_;
  std::mutex mutex_;
  std::vector<std::string> events_;
  JobOutcome outcome_;
  std::thread thread_;
};

class FakeAgent {
 public:
  FakeAgent(const Address& address, std::string name, std::int64_t generation = -1)
      : connection_(start_connecting(address), "token of the test", Connection::Side::kAgent) {
    ElasticMessage hello;
    hello.kind = ElasticKind::kHello;
    hello.name = std::move(name);
    hello.build = "build";
    hello.generation = generation;
    say(hello);
  }
  void say(const ElasticMessage& message) {
    connection_.send(to_line(message));
    pump();
  }
  void pump() {
    std::vector<std::string> frames;
    open_ = open_ && connection_.pump(frames);
    for (const std::string& frame : frames) heard_.push_back(job::parse_elastic(frame));
  }
  // Sends heartbeats until a message of that kind arrives.
  ElasticMessage wait(ElasticKind kind, std::vector<FakeAgent*> others = {}) {
    for (int i = 0; i < 500; ++i) {
      for (FakeAgent* other : others) other->beat();
      beat();
      for (auto at = heard_.begin(); at != heard_.end(); ++at)
        if (at->kind == kind) {
          ElasticMessage found = *at;
          heard_.erase(at);
          return found;
        }
      poll(nullptr, 0, 10);
    }
    ADD_FAILURE() << "no " << job::to_string(kind);
    return {};
  }
  void beat() {
    ElasticMessage message;
    say(message);
  }

 private:
  Connection connection_;
  bool open_ = true;
  std::vector<ElasticMessage> heard_;
};

inline ElasticMessage started(const ElasticMessage& generation) {
  ElasticMessage message;
  message.kind = ElasticKind::kStarted;
  message.generation = generation.generation;
  message.rank = generation.rank;
  message.done = generation.done;
  return message;
}

inline ElasticMessage ended(const ElasticMessage& generation, std::int64_t done, bool arrived) {
  ElasticMessage message;
  message.kind = ElasticKind::kEnded;
  message.generation = generation.generation;
  message.rank = generation.rank;
  message.held = generation.generation;
  message.done = done;
  message.arrived = arrived;
  message.gradient_norm = static_cast<double>(done);
  return message;
}

inline void finish(FakeAgent& a, FakeAgent& b, const ElasticMessage& ga, const ElasticMessage& gb) {
  for (auto [agent, generation] : {std::pair{&a, &ga}, std::pair{&b, &gb}}) {
    ElasticMessage message = ended(*generation, 100, false);
    message.agreed = message.complete = true;
    agent->say(message);
  }
  a.wait(ElasticKind::kLeave, {&b});
}

}  // namespace nereus::launch::testing
