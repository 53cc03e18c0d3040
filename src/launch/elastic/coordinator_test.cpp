// The coordinator with agents controlled by the test: which step survivors continue from, whose
// messages count, and who is left out.
#include "launch/elastic/coordinator.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "launch/elastic/coordinator_testing.hpp"
#include "launch/elastic/job_state.hpp"

namespace nereus::launch::coordinator_test {
namespace {

using job::ElasticKind;
using job::ElasticMessage;
using testing::ended;
using testing::FakeAgent;
using testing::finish;
using testing::Running;
using testing::small_job;
using testing::started;

TEST(Coordinator, SurvivorsGoOnFromTheFarthestStep) {
  const TemporaryFolder folder;
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
  const TemporaryFolder folder;
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
  const TemporaryFolder folder;
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
  const TemporaryFolder folder;
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

// The last state is the job's result: without it the job is not done, and the same call goes on.
TEST(Coordinator, AJobWhoseLastStateIsNotSavedHasFailed) {
  const TemporaryFolder folder;
  for (const bool saved : {false, true}) {
    Running running(folder.path(), 2, 0, {}, [saved](std::int64_t) { return saved; });
    {
      FakeAgent a(running.address(), "a"), b(running.address(), "b");
      const ElasticMessage ga = a.wait(ElasticKind::kGeneration, {&b});
      const ElasticMessage gb = b.wait(ElasticKind::kGeneration, {&a});
      EXPECT_EQ(ga.done, 0);  // nobody has state, so a checkpoint is looked for
      finish(a, b, ga, gb);
    }
    const JobOutcome outcome = running.join();
    EXPECT_EQ(outcome.exit_code, saved ? 0 : 4);
    ASSERT_EQ(outcome.failure.has_value(), !saved);
    if (!saved) {
      EXPECT_EQ(outcome.failure->code, "elastic.not-saved");
    }
    EXPECT_EQ(load_state(folder.path())->complete, saved);
  }
}

// Seen on the disk or heard of: a shared disk may show it late.
TEST(Coordinator, ACheckpointThatIsHeardOfIsSaved) {
  const TemporaryFolder folder;
  Running running(folder.path(), 2, 0, {}, [](std::int64_t) { return false; });
  FakeAgent a(running.address(), "a"), b(running.address(), "b");
  const ElasticMessage ga = a.wait(ElasticKind::kGeneration, {&b});
  const ElasticMessage gb = b.wait(ElasticKind::kGeneration, {&a});
  job::Message message;
  message.kind = job::MessageKind::kCheckpoint;
  message.rank = ga.rank;
  message.step = 100;
  message.folder = "step-000100";
  ElasticMessage said;
  said.kind = ElasticKind::kSaid;
  said.generation = ga.generation;
  said.text = job::to_line(message);
  a.say(said);
  finish(a, b, ga, gb);
  EXPECT_EQ(running.join().exit_code, 0);
}

// A step of a rank that is busy for so long while the slowest is for three seconds.
ElasticMessage step_of(const ElasticMessage& generation, std::int64_t step, double busy) {
  job::Message message;
  message.kind = job::MessageKind::kStep;
  message.rank = generation.rank;
  message.step = step;
  message.seconds = 3.1;
  message.waits.reduce = 3.1 - busy;
  ElasticMessage said;
  said.kind = ElasticKind::kSaid;
  said.generation = generation.generation;
  said.text = job::to_line(message);
  return said;
}

TEST(Coordinator, ASlowMemberIsLeftOutAndTriedAgain) {
  const TemporaryFolder folder;
  CoordinatorOptions options;
  options.probation_s = 0.3;
  Running running(folder.path(), 3, 0, options);
  FakeAgent a(running.address(), "a"), b(running.address(), "b"), c(running.address(), "c");
  ElasticMessage ga = a.wait(ElasticKind::kGeneration, {&b, &c});
  ElasticMessage gb = b.wait(ElasticKind::kGeneration, {&a, &c});
  ElasticMessage gc = c.wait(ElasticKind::kGeneration, {&a, &b});
  for (const auto& [agent, generation] :
       {std::pair{&a, &ga}, std::pair{&b, &gb}, std::pair{&c, &gc}})
    agent->say(started(*generation));
  for (std::int64_t step = 0; step < 20; ++step) {
    a.say(step_of(ga, step, 1));
    b.say(step_of(gb, step, 1.1));
    c.say(step_of(gc, step, 3));
  }
  for (FakeAgent* const agent : {&a, &b, &c}) agent->wait(ElasticKind::kEndAfter, {&a, &b, &c});
  EXPECT_EQ(running.count("slow"), 1);
  const auto end = [](const ElasticMessage& generation, std::int64_t done) {
    ElasticMessage message = ended(generation, done, false);
    message.agreed = true;
    return message;
  };
  a.say(end(ga, 20));
  b.say(end(gb, 20));
  c.say(end(gc, 20));
  ga = a.wait(ElasticKind::kGeneration, {&b, &c});
  EXPECT_EQ(ga.num_ranks, 2);
  EXPECT_EQ(ga.num_present, 3);  // c hands over what it holds
  EXPECT_EQ(ga.most_done, 20);   // a checkpoint of a later step is of ranks that nobody heard
  gb = b.wait(ElasticKind::kGeneration, {&a, &c});
  const ElasticMessage helper = c.wait(ElasticKind::kGeneration, {&a, &b});
  EXPECT_GE(helper.rank, helper.num_ranks);
  c.say(end(helper, 20));
  // It comes back for the next plan.
  a.say(started(ga));
  b.say(started(gb));
  a.say(step_of(ga, 20, 1));
  a.wait(ElasticKind::kEndAfter, {&b, &c});
  EXPECT_EQ(running.count("probation"), 1);
  a.say(end(ga, 21));
  b.say(end(gb, 21));
  const ElasticMessage all = a.wait(ElasticKind::kGeneration, {&b, &c});
  EXPECT_EQ(all.num_ranks, 3);
  for (FakeAgent* const agent : {&a, &b, &c}) {
    ElasticMessage done = end(all, 100);
    done.complete = true;
    agent->say(done);
  }
  a.wait(ElasticKind::kLeave, {&b, &c});
}

TEST(Coordinator, SaysWhenToSave) {
  const TemporaryFolder folder;
  CoordinatorOptions options;
  options.paces_saves = true;
  Running running(folder.path(), 2, 0, options);
  FakeAgent a(running.address(), "a"), b(running.address(), "b");
  const ElasticMessage ga = a.wait(ElasticKind::kGeneration, {&b});
  const ElasticMessage gb = b.wait(ElasticKind::kGeneration, {&a});
  a.say(started(ga));
  b.say(started(gb));
  for (std::int64_t step = 0; step < 20; ++step)
    for (const auto& [agent, generation] : {std::pair{&a, &ga}, std::pair{&b, &gb}})
      agent->say(step_of(*generation, step, 1));
  FakeAgent& first = ga.rank == 0 ? a : b;  // it alone is told
  FakeAgent& second = ga.rank == 0 ? b : a;
  EXPECT_EQ(first.wait(ElasticKind::kSaveAfter, {&second}).generation, 0);
  // What was saved is counted on once it was heard of, and its writer learns that.
  job::Message saved;
  saved.kind = job::MessageKind::kCheckpoint;
  saved.step = 20;
  saved.folder = "step-000020";
  ElasticMessage said;
  said.kind = ElasticKind::kSaid;
  said.generation = 0;
  said.text = job::to_line(saved);
  first.say(said);
  EXPECT_EQ(first.wait(ElasticKind::kKnown, {&second}).done, 20);
  finish(a, b, ga, gb);
}

TEST(Coordinator, RefusesStrangersAndOtherBuilds) {
  const TemporaryFolder folder;
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
}  // namespace nereus::launch::coordinator_test
