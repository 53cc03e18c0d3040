#include "worker/elastic/rank.hpp"

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/error.hpp"
#include "job/message.hpp"
#include "worker/device/torch_compat.hpp"
#include "worker/elastic/commands.hpp"
#include "worker/elastic/exchange.hpp"
#include "worker/elastic/life.hpp"
#include "worker/elastic/newest_checkpoint.hpp"
#include "worker/elastic/part_of_board.hpp"
#include "worker/elastic/steps.hpp"
#include "worker/run/rank_messages.hpp"

namespace nereus::worker {

namespace {

using job::ElasticKind;
using job::ElasticMessage;
using Clock = std::chrono::steady_clock;

// What an aborted generation was still writing is useless, is in a separate folder, and may wait
// for a slow disk for a long time. So it is left to finish without waiting.
void retire(std::unique_ptr<Saver> saver) {
  if (!saver) return;
  saver->abandon();
  std::thread([last = std::shared_ptr<Saver>(std::move(saver))]() mutable {
    last.reset();
  }).detach();
}

class ElasticRank {
 public:
  explicit ElasticRank(const ElasticOptions& options)
      : out_(options.report_fd), commands_(*new Commands(options.command_fd, out_)) {}

  int run() {
    say(hello_of_rank());
    while (true) {
      const ElasticMessage command = commands_.next();
      ElasticMessage ended;
      ended.kind = ElasticKind::kEnded;
      ended.generation = command.generation;
      ended.rank = command.rank;
      try {
        live(command);
        ended.agreed = true;
      } catch (const CommError& error) {
        ended.text = error.what();
        ended.missing_rank = error.missing_rank;
      } catch (const BoardClosed& closed) {
        ended.text = closed.what();
      }
      if (next_ && next_->saver) next_->saver->abandon();
      if (held_ && held_->saver) held_->saver->abandon();
      describe(ended);
      out_.send(ended);
    }
  }

  void say(job::Message message) {
    message.rank = rank_;
    ElasticMessage said;
    said.kind = ElasticKind::kSaid;
    said.generation = generation_;
    said.text = job::to_line(message);
    out_.send(said);
  }

 private:
  void remark(const std::string& text) {
    ElasticMessage message;
    message.kind = ElasticKind::kRemark;
    message.generation = generation_;
    message.text = fmt::format("rank {}: {}", rank_, text);
    out_.send(message);
  }

  void describe(ElasticMessage& ended) const {
    if (held_) {
      ended.held = held_->generation;
      ended.done = held_->done;
      ended.gradient_norm = held_->gradient_norm;
      ended.arrived = held_->executor->has_arrived();
      ended.complete = held_->complete;
    }
    if (filled_) {
      ended.filled = next_->generation;
      ended.filled_done = next_->done;
    }
  }

  // The held state is brought to the state that all survivors agreed on.
  void bring_to(const ElasticMessage& command) {
    if (filled_ && next_->generation == command.next_held) {
      next_->settle();
      held_ = std::move(next_);
    }
    next_.reset();
    filled_ = false;
    if (held_ && held_->generation != command.next_held) held_.reset();
    if (!held_ || held_->done == command.done) return;
    if (held_->done + 1 != command.done || !held_->executor->has_arrived()) {
      remark(
          fmt::format("its state of step {} is of no use for step {}", held_->done, command.done));
      held_.reset();
      return;
    }
    held_->executor->commit(held_->done, command.gradient_norm);
    ++held_->done;
  }

  std::unique_ptr<Life> begin(const ElasticMessage& command) const {
    auto life = std::make_unique<Life>();
    life->generation = command.generation;
    life->rank = command.rank;
    life->num_ranks = command.num_ranks;
    life->done = command.done;
    life->most_done = command.most_done;
    life->job = job::parse_job(command.job, "the job of a generation");
    check_can_run(life->job);
    return life;
  }

  void live(const ElasticMessage& command) {
    const Clock::time_point start = Clock::now();
    generation_ = command.generation;
    rank_ = command.rank;
    bring_to(command);
    if (held_) retire(std::move(held_->saver));
    if (commands_.is_over(generation_)) throw BoardClosed();
    next_ = begin(command);
    Life& life = *next_;
    at::set_num_threads(life.job.machine.threads);
    CommOptions options;
    options.backend = life.job.machine.comm;
    options.rank = command.rank;
    options.address = command.address;
    options.timeout =
        std::chrono::milliseconds(static_cast<std::int64_t>(life.job.machine.timeout_s * 1000));
    const std::shared_ptr<Board> board = commands_.board(generation_);
    std::unique_ptr<Comm> with_helpers;
    std::optional<Commands::Running> running_with_helpers, running;
    if (command.num_present > command.num_ranks) {
      options.num_ranks = command.num_present;
      options.board = std::make_shared<PartOfBoard>(board, "helpers/");
      with_helpers = open_comm(options);
      running_with_helpers.emplace(commands_, generation_, *with_helpers);
      if (command.rank >= command.num_ranks) return help(*with_helpers);
    }
    options.num_ranks = command.num_ranks;
    options.board = board;
    life.comm = open_comm(options);
    running.emplace(commands_, generation_, *life.comm);
    life.executor = std::make_unique<Executor>(
        life.job, *life.comm, [&life](auto... which) { return life.read(which...); }, true);
    life.state = host_state(*life.executor, life.job.training);

    ElasticMessage started;
    started.kind = ElasticKind::kStarted;
    started.generation = generation_;
    started.rank = rank_;
    take_state(life, with_helpers ? *with_helpers : *life.comm, started);
    held_ = std::move(next_);
    filled_ = false;
    for (Optimizer::Slot& slot : life.executor->optimizer().slots()) slot.state->spread_start();
    life.read = make_reader(life.job, life.rank, life.done);
    life.saver = std::make_unique<Saver>(
        life.job, life.rank, life.num_ranks, fmt::format("generation-{}", generation_),
        [this, generation = generation_, before = life.most_done] {
          return std::max(before, commands_.known_saved(generation));
        });
    count_votes(*life.comm, true);  // leftovers are removed before anyone saves
    running_with_helpers.reset();
    with_helpers.reset();
    started.done = life.done;
    started.seconds = since(start);
    out_.send(started);
    run_steps(
        life, commands_, generation_, [this](const job::Message& message) { say(message); },
        [this](const std::string& text) { remark(text); });
  }

  // For a rank that has no place in the plan: sends what it holds to the others, and then leaves
  // the job.
  void help(Comm& comm) {
    HostState held;
    if (held_) held = host_state(*held_->executor, held_->job.training);
    bool filled = false;
    exchange_state(comm, held.parts, {}, filled);
    held_.reset();
    next_.reset();
  }

  // From other ranks, or on all ranks from a checkpoint, or initialized.
  void take_state(Life& life, Comm& comm, ElasticMessage& started) {
    HostState held;
    if (held_) held = host_state(*held_->executor, held_->job.training);
    const Exchanged exchanged = exchange_state(comm, held.parts, life.state.parts, filled_);
    if (life.rank == 0)
      for (const std::string& text : exchanged.remarks) remark(text);
    if (exchanged.missing.empty()) {
      life.settle();
      started.own_bytes = static_cast<double>(exchanged.own_bytes);
      started.peer_bytes = static_cast<double>(exchanged.peer_bytes);
      return;
    }
    if (held_ && life.rank == 0)
      remark(fmt::format("no rank has {}{}: back to the last checkpoint", exchanged.missing.front(),
                         exchanged.missing.size() > 1 ? " and more" : ""));
    life.done = read_newest(life, started, [this](const std::string& text) { remark(text); });
    filled_ = true;
    count_votes(*life.comm, true);
  }

  LineOut out_;
  Commands& commands_;
  std::int64_t generation_ = -1;
  int rank_ = 0;
  std::unique_ptr<Life> held_;  // whose state is whole here and on all its ranks
  std::unique_ptr<Life> next_;  // one that is being begun
  bool filled_ = false;         // and is whole here
};

}  // namespace

int run_elastic(const ElasticOptions& options) {
  // Never destroyed: the thread of commands ends with the process.
  ElasticRank& rank = *new ElasticRank(options);
  try {
    return rank.run();
  } catch (...) {
    const std::vector<job::Message> list = failures(std::current_exception());
    for (const job::Message& failure : list) {
      rank.say(failure);
      std::fprintf(stderr, "%s: %s\n", failure.code.c_str(), failure.message.c_str());
    }
    return exit_code_of(list);
  }
}

}  // namespace nereus::worker
