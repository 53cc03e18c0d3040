// The coordinator against agents that say what they are told to: which step survivors go on from,
// who is heard and who is not.
#include "launch/elastic/coordinator.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "job/elastic.hpp"
#include "launch/elastic/job_state.hpp"
#include "plan/expand.hpp"
#include "plan/test_models.hpp"

namespace nereus::launch {
namespace {

using job::ElasticKind;
using job::ElasticMessage;

job::Job small_job() {
  job::Job job;
  job.build = "build";
  job.training.steps = 100;
  job.plan.model = plan::testing::make_dense(4);
  job.plan.cluster = plan::testing::make_cluster(1);
  job.plan.placement = plan::expand(plan::Degrees{}, job.plan.model);
  return job;
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "nereus-coordinator-XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A coordinator on a thread.
class Running {
 public:
  explicit Running(const std::string& folder, int first, int port = 0) {
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
  ~Running() { thread_.join(); }
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
  // Beats until a message of that kind has come.
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

ElasticMessage started(const ElasticMessage& generation) {
  ElasticMessage message;
  message.kind = ElasticKind::kStarted;
  message.generation = generation.generation;
  message.rank = generation.rank;
  message.done = generation.done;
  return message;
}

ElasticMessage ended(const ElasticMessage& generation, std::int64_t done, bool arrived) {
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

void finish(FakeAgent& a, FakeAgent& b, const ElasticMessage& ga, const ElasticMessage& gb) {
  for (auto [agent, generation] : {std::pair{&a, &ga}, std::pair{&b, &gb}}) {
    ElasticMessage message = ended(*generation, 100, false);
    message.agreed = message.complete = true;
    agent->say(message);
  }
  a.wait(ElasticKind::kLeave, {&b});
}

TEST(Coordinator, SurvivorsGoOnFromTheFarthestStep) {
  const Folder folder;
  Running running(folder.path(), 3);
  FakeAgent a(running.address(), "a"), b(running.address(), "b");
  {
    FakeAgent c(running.address(), "c");
    const ElasticMessage ga = a.wait(ElasticKind::kGeneration, {&b, &c});
    const ElasticMessage gb = b.wait(ElasticKind::kGeneration, {&a, &c});
    c.wait(ElasticKind::kGeneration, {&a, &b});
    EXPECT_EQ(ga.num_ranks, 3);
    EXPECT_EQ(ga.next_held, -1);
    a.say(started(ga));
    b.say(started(gb));
  }  // c is gone: its connection breaks
  EXPECT_EQ(a.wait(ElasticKind::kEnd, {&b}).generation, 0);
  ElasticMessage generation;
  generation.generation = 0;
  generation.rank = 0;
  a.say(ended(generation, 7, true));   // arrived at step 7
  b.say(ended(generation, 8, false));  // had taken it
  const ElasticMessage ga = a.wait(ElasticKind::kGeneration, {&b});
  const ElasticMessage gb = b.wait(ElasticKind::kGeneration, {&a});
  for (const ElasticMessage& g : {ga, gb}) {
    EXPECT_EQ(g.generation, 1);
    EXPECT_EQ(g.num_ranks, 2);
    EXPECT_EQ(g.next_held, 0);
    EXPECT_EQ(g.done, 8);
    EXPECT_EQ(g.gradient_norm, 8);
  }
  EXPECT_EQ(ga.rank + gb.rank, 1);
  EXPECT_EQ(running.count("lost"), 1);
  finish(a, b, ga, gb);
}

TEST(Coordinator, AGenerationThatOnlySomeHaveIsGoneOnFromWhereAllCan) {
  const Folder folder;
  Running running(folder.path(), 2);
  FakeAgent a(running.address(), "a"), b(running.address(), "b");
  const ElasticMessage ga = a.wait(ElasticKind::kGeneration, {&b});
  const ElasticMessage gb = b.wait(ElasticKind::kGeneration, {&a});
  a.say(ended(ga, 3, false));  // it holds generation 0
  EXPECT_EQ(b.wait(ElasticKind::kEnd, {&a}).generation, 0);
  ElasticMessage filled = ended(gb, 0, false);  // and it could
  filled.held = -1;
  filled.filled = 0;
  filled.filled_done = 3;
  b.say(filled);
  const ElasticMessage next = b.wait(ElasticKind::kGeneration, {&a});
  EXPECT_EQ(next.next_held, 0);
  EXPECT_EQ(next.done, 3);
  finish(a, b, a.wait(ElasticKind::kGeneration, {&b}), next);
}

TEST(Coordinator, ASilentAgentIsVotedOutAndAStaleOneFenced) {
  const Folder folder;
  Running running(folder.path(), 3);
  FakeAgent a(running.address(), "a"), b(running.address(), "b"), c(running.address(), "c");
  ElasticMessage ga = a.wait(ElasticKind::kGeneration, {&b, &c});
  ElasticMessage gb = b.wait(ElasticKind::kGeneration, {&a, &c});
  // c stops: its connection stays open.
  EXPECT_EQ(a.wait(ElasticKind::kEnd, {&b}).generation, 0);
  a.say(ended(ga, 2, false));
  b.say(ended(gb, 2, false));
  ga = a.wait(ElasticKind::kGeneration, {&b});
  gb = b.wait(ElasticKind::kGeneration, {&a});
  EXPECT_EQ(ga.num_ranks, 2);
  // It wakes, with what it holds of generation 0; what it says of that is not heard.
  FakeAgent woken(running.address(), "c", 0);
  EXPECT_EQ(woken.wait(ElasticKind::kRestart, {&a, &b}).kind, ElasticKind::kRestart);
  woken.say(ended(ga, 50, false));
  EXPECT_EQ(running.count("fenced"), 1);
  finish(a, b, ga, gb);
}

TEST(Coordinator, GoesOnAfterItWasStartedAgain) {
  const Folder folder;
  JobState state;
  state.generation = 4;
  state.ranks = {{"a", 0}, {"b", 1}};
  state.job = job::job_to_json(small_job());
  state.steps = 100;
  state.listen = {"127.0.0.1", 0};
  save_state(folder.path(), state);
  Running running(folder.path(), 2);
  ElasticMessage g;
  g.generation = 4;
  // Agents call again with the generation they are in, and are not disturbed.
  const auto call = [&](const std::string& name, int rank) {
    auto connection = std::make_unique<Connection>(start_connecting(running.address()),
                                                   "token of the test", Connection::Side::kAgent);
    ElasticMessage hello;
    hello.kind = ElasticKind::kHello;
    hello.name = name;
    hello.build = "build";
    hello.generation = 4;
    hello.rank = rank;
    connection->send(to_line(hello));
    g.rank = rank;
    connection->send(to_line(started(g)));
    return connection;
  };
  auto a = call("a", 0), b = call("b", 1);
  std::vector<std::string> to_a, to_b;
  for (int i = 0; i < 100; ++i) {
    for (auto [c, frames] : {std::pair{&a, &to_a}, std::pair{&b, &to_b}}) {
      if (i % 10 == 0) (*c)->send(to_line(ElasticMessage{}));
      (*c)->pump(*frames);
    }
    poll(nullptr, 0, 10);
  }
  EXPECT_TRUE(to_a.empty() && to_b.empty());
  EXPECT_EQ(running.count("lost"), 0);
  for (auto* c : {&a, &b}) {
    g.rank = c == &a ? 0 : 1;
    ElasticMessage message = ended(g, 100, false);
    message.agreed = message.complete = true;
    (*c)->send(to_line(message));
    (*c)->pump(to_a);
  }
  for (int i = 0; i < 50; ++i) {
    a->pump(to_a);
    b->pump(to_b);
    poll(nullptr, 0, 10);
  }
  EXPECT_FALSE(to_a.empty());  // leave
}

TEST(Coordinator, RefusesStrangersAndOtherBuilds) {
  const Folder folder;
  Running running(folder.path(), 2);
  {
    Connection stranger(start_connecting(running.address()), "a guess", Connection::Side::kAgent);
    std::vector<std::string> frames;
    for (int i = 0; i < 50 && running.count("refused") == 0; ++i) {
      stranger.pump(frames);
      poll(nullptr, 0, 10);
    }
  }
  EXPECT_EQ(running.count("refused"), 1);
  FakeAgent a(running.address(), "a"), b(running.address(), "b");
  const ElasticMessage ga = a.wait(ElasticKind::kGeneration, {&b});
  const ElasticMessage gb = b.wait(ElasticKind::kGeneration, {&a});
  EXPECT_EQ(ga.num_ranks, 2);
  finish(a, b, ga, gb);
}

}  // namespace
}  // namespace nereus::launch
