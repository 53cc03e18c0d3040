#include "worker/elastic/rank.hpp"

#include <sys/resource.h>

#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "checkpoint/reader.hpp"
#include "job/message.hpp"
#include "worker/elastic/commands.hpp"
#include "worker/elastic/exchange.hpp"
#include "worker/failure.hpp"
#include "worker/host_state.hpp"
#include "worker/samples.hpp"
#include "worker/saving.hpp"
#include "worker/torch_compat.hpp"

namespace nereus::worker {

namespace {

using job::ElasticKind;
using job::ElasticMessage;
using Clock = std::chrono::steady_clock;

// A rank of one generation, and its state.
struct Life {
  std::int64_t generation = -1;
  int rank = 0;
  int num_ranks = 1;
  std::int64_t done = 0;     // steps whose updates are in the state
  double gradient_norm = 0;  // of the last of them
  bool complete = false;     // the job's last step is done
  job::Job job;
  ReadBatch read;
  std::unique_ptr<Comm> comm;  // lives longer than what uses it
  std::unique_ptr<Executor> executor;
  HostState state;
  std::unique_ptr<Saver> saver;

  // What was written to `state` becomes what training uses.
  void settle() {
    state.put_back();
    for (Optimizer::Slot& slot : executor->optimizer().slots()) slot.state->store_update();
  }
  std::int64_t state_bytes() const {
    std::size_t bytes = 0;
    for (const checkpoint::Part& part : state.parts) bytes += part.bytes.size();
    return static_cast<std::int64_t>(bytes);
  }
};

double memory_of_process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// How many ranks say yes; also a point that none passes before all have come.
int count_votes(Comm& comm, bool yes) {
  if (comm.num_ranks() == 1) return yes;
  std::vector<int> all;
  for (int i = 0; i < comm.num_ranks(); ++i) all.push_back(i);
  at::Tensor votes = at::full({1}, yes ? 1 : 0, at::kLong);
  comm.group(all)->all_reduce(votes)->wait();
  return votes.item<int>();
}

// Rank 0's number, on every rank.
std::int64_t from_first(Comm& comm, std::int64_t number) {
  if (comm.num_ranks() == 1) return number;
  std::vector<int> all;
  for (int i = 0; i < comm.num_ranks(); ++i) all.push_back(i);
  at::Tensor value = at::full({1}, comm.rank() == 0 ? number : 0, at::kLong);
  comm.group(all)->all_reduce(value)->wait();
  return value.item<std::int64_t>();
}

constexpr double kEnd = 1, kSave = 1e6;  // signals of ranks, summed

double signal_of(Commands::Ending ending) {
  return ending == Commands::Ending::kSave ? kSave : ending == Commands::Ending::kEnd ? kEnd : 0;
}

// Notes of one of several Comms of a generation.
class PartOfBoard : public Board {
 public:
  PartOfBoard(std::shared_ptr<Board> board, std::string prefix)
      : board_(std::move(board)), prefix_(std::move(prefix)) {}
  void put(const std::string& key, const std::string& note) override {
    board_->put(prefix_ + key, note);
  }
  std::optional<std::string> get(const std::string& key) override {
    return board_->get(prefix_ + key);
  }
  bool closed() override { return board_->closed(); }

 private:
  std::shared_ptr<Board> board_;
  std::string prefix_;
};

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

  // What is held becomes the state that all survivors agreed to go on from.
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
    life->job = job::parse_job(command.job, "the job of a generation");
    check_can_run(life->job);
    return life;
  }

  void live(const ElasticMessage& command) {
    const Clock::time_point start = Clock::now();
    generation_ = command.generation;
    rank_ = command.rank;
    bring_to(command);
    if (held_) held_->saver.reset();  // nobody of an old generation writes any more
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
    life.saver = std::make_unique<Saver>(life.job, life.rank, life.num_ranks,
                                         fmt::format("generation-{}", generation_));
    count_votes(*life.comm, true);  // leftovers are removed before anyone saves
    running_with_helpers.reset();
    with_helpers.reset();
    started.done = life.done;
    started.seconds = since(start);
    out_.send(started);
    run_steps(life);
  }

  // Of a rank that the plan has no place for: what it holds goes to the others, and with it its
  // part in the job.
  void help(Comm& comm) {
    HostState held;
    if (held_) held = host_state(*held_->executor, held_->job.training);
    bool filled = false;
    exchange_state(comm, held.parts, {}, filled);
    held_.reset();
    next_.reset();
  }

  // From other ranks, or all together from a checkpoint, or afresh.
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
    life.done = read_newest(life, started);
    filled_ = true;
    count_votes(*life.comm, true);
  }

  // The newest checkpoint that every rank can read.
  std::int64_t read_newest(Life& life, ElasticMessage& started) {
    std::map<std::int64_t, std::string> folders;
    for (const std::string& folder : {life.job.checkpoint.resume, life.job.checkpoint.folder}) {
      if (folder.empty()) continue;
      if (const auto one = checkpoint::find_latest(folder); one && *one == folder)
        folders[checkpoint::Checkpoint(folder).manifest().progress.step] = folder;
      else
        for (const auto& [step, path] : checkpoint::list_checkpoints(folder)) folders[step] = path;
    }
    std::int64_t below = std::numeric_limits<std::int64_t>::max();
    while (true) {
      const auto found = folders.lower_bound(below);
      const std::int64_t step =
          from_first(*life.comm, found == folders.begin() ? -1 : std::prev(found)->first);
      if (step < 0) break;
      bool read = false;
      try {
        read = folders.contains(step) &&
               read_saved(life.job, folders.at(step), *life.executor) == step;
      } catch (const Errors& errors) {
        remark(fmt::format("the checkpoint of step {} is not read: {}", step,
                           errors.list().front().message));
      }
      if (count_votes(*life.comm, read) == life.num_ranks) {
        started.saved_step = step;
        started.saved_bytes = static_cast<double>(life.state_bytes());
        return step;
      }
      below = step;
    }
    for (Optimizer::Slot& slot : life.executor->optimizer().slots()) {
      slot.state->start_afresh();
      slot.first.zero_();
      if (slot.second.defined()) slot.second.zero_();
      if (NormStatistics* norm = slot.state->statistics()) {
        norm->running[0].zero_();
        norm->running[1].fill_(1);
        norm->num_batches = 0;
      }
      slot.state->store_update();
    }
    return 0;
  }

  void run_steps(Life& life) {
    const job::Job& job = life.job;
    const double per_sample =
        job.plan.model.tokens_per_sample > 0 ? job.plan.model.tokens_per_sample : 1;
    while (life.done < job.training.steps) {
      const std::int64_t step = life.done;
      const Clock::time_point start = Clock::now();
      const StepResult result =
          life.executor->run(step, signal_of(commands_.ends_after_step(generation_)));
      life.done = step + 1;
      life.gradient_norm = result.gradient_norm;
      life.complete = life.done == job.training.steps;
      if (life.complete || result.signals >= kSave ||
          (job.checkpoint.every > 0 && life.done % job.checkpoint.every == 0))
        save(life);
      job::Message message;
      message.kind = job::MessageKind::kStep;
      message.step = step;
      message.loss = result.loss;
      message.gradient_norm = result.gradient_norm;
      message.rate = rate_at(job.training, step);
      message.seconds = since(start);
      message.tokens = static_cast<std::int64_t>(
          per_sample * static_cast<double>(job.plan.placement.global_batch));
      message.memory_bytes = memory_of_process();
      message.waits = result.waits;
      say(message);
      if (life.complete) finish_saving(life);
      tell_saved(life);
      if (result.signals > 0) break;
    }
    if (!life.complete) finish_saving(life);
    tell_saved(life);
  }

  // A checkpoint that fails is told and done without: the state is in memory.
  void save(Life& life) {
    if (!life.saver->saves()) return;
    try {
      life.saver->save(life.done, *life.executor);
    } catch (const Errors& errors) {
      remark("checkpoint: " + errors.list().front().message);
    }
  }

  void finish_saving(Life& life) {
    try {
      life.saver->finish();
    } catch (const Errors& errors) {
      remark("checkpoint: " + errors.list().front().message);
    }
  }

  void tell_saved(Life& life) {
    for (const checkpoint::Writer::Complete& complete : life.saver->take_completed()) {
      job::Message saved;
      saved.kind = job::MessageKind::kCheckpoint;
      saved.step = complete.step;
      saved.folder = complete.folder;
      say(saved);
    }
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
