#include "worker/run/blocks.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <random>

#include "data/page_cache.hpp"
#include "job/reporter.hpp"
#include "worker/device/gpu.hpp"
#include "worker/execute/samples.hpp"
#include "worker/run/launches.hpp"
#include "worker/run/switch_comm.hpp"

namespace nereus::worker {

namespace {

using job::Block;
using Clock = std::chrono::steady_clock;

constexpr int kFirstSteps = 3;  // of the job: allocations, choices of kernels
constexpr int kWarmUp = 2;      // steps of a block before the clock starts
constexpr int kLeastSteps = 3, kMostSteps = 40;
constexpr int kLeastReading = 6;      // steps that read: see steps_reading
constexpr double kRoundsWanted = 10;  // in the time there is

// A number for this rank's host and network: containers on one machine that communicate over
// separate interfaces count as hosts.
double host_number() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat network {};
  stat("/proc/self/ns/net", &network);
  const std::size_t hash = std::hash<std::string>{}(boot + std::to_string(network.st_ino));
  return static_cast<double>(hash % (std::size_t{1} << 52));
}

// Communication between ranks outside of steps: numbers of all ranks, and barriers.
class Round {
 public:
  Round(Comm& comm, at::Device device) : comm_(comm), device_(device) {
    std::vector<int> all;
    for (int rank = 0; rank < comm.num_ranks(); ++rank) all.push_back(rank);
    if (all.size() > 1) group_ = comm.group(all);
  }
  std::vector<double> gather(double mine) {
    if (!group_) return {mine};
    at::Tensor flat =
        at::zeros({comm_.num_ranks()}, at::TensorOptions(at::kDouble).device(device_));
    flat[comm_.rank()] = mine;
    std::vector<Range> ranges;
    for (std::int64_t i = 0; i < comm_.num_ranks(); ++i) ranges.push_back({i, i + 1});
    group_->all_gather(flat, ranges)->wait_on_host();
    const at::Tensor host = flat.cpu();
    const auto* values = host.data_ptr<double>();
    return {values, values + comm_.num_ranks()};
  }
  double first(double mine) { return gather(mine).front(); }  // rank 0's
  void meet() { gather(0); }

 private:
  Comm& comm_;
  at::Device device_;
  std::shared_ptr<Group> group_;
};

std::vector<int> numbered(const std::vector<double>& hosts) {
  std::vector<int> numbers;
  for (const double host : hosts)
    numbers.push_back(
        static_cast<int>(std::find(hosts.begin(), hosts.end(), host) - hosts.begin()));
  return numbers;
}

job::Job measured_job(job::Job job) {
  job.training.rate = job.training.last_rate = 0;
  job.training.warmup_steps = 0;
  job.checkpoint = {};
  return job;
}

class Blocks {
 public:
  Blocks(const job::Job& job, Comm& real, std::function<void(const job::Message&)> report)
      : job_(measured_job(job)),
        device_(job.machine.device),
        round_(real, device_),
        hosts_(numbered(round_.gather(host_number()))),
        comm_(real, hosts_),
        report_(std::move(report)),
        executor_(job_, comm_, [this](auto... which) { return read_(which...); }) {
    if (job_.data.kind == job::Data::Kind::kImages) source_ = open_source(job_);
    const auto here = [&](int rank) { return hosts_[rank]; };
    const int rank = real.rank();
    for (int other = 0; other < rank; ++other) turn_ += here(other) == here(rank);
    for (const int host : hosts_)
      turns_ = std::max(turns_, static_cast<int>(std::count(hosts_.begin(), hosts_.end(), host)));
  }

  void run() {
    const Clock::time_point start = Clock::now();
    begin();
    std::mt19937 order(static_cast<std::uint32_t>(job_.training.seed));  // the same on every rank
    std::vector<Block> blocks = blocks_of();
    const job::Measuring& limits = job_.measuring;
    for (int round = 0; round < limits.most_rounds; ++round) {
      const bool enough =
          round >= limits.rounds &&
          std::chrono::duration<double>(Clock::now() - start).count() > limits.seconds;
      if (round_.first(enough || job::asked() != job::Asked::kNothing ? 1 : 0) > 0) return;
      std::shuffle(blocks.begin(), blocks.end(), order);
      for (const Block block : blocks) tell(round, block, time_of(block));
    }
  }

 private:
  struct Time {
    double seconds = 0;  // a step, of this rank
    double slowest = 0;  // mean over the steps of the slowest rank's
    double bytes = 0;
    std::int64_t count = 0;
  };

  std::vector<Block> blocks_of() const {
    std::vector<Block> blocks = {Block::kAlone, Block::kAll, Block::kWarm};
    const std::size_t ranks = hosts_.size();
    if (ranks > 1) blocks.push_back(Block::kTogether);
    if (turns_ > 1 && static_cast<std::size_t>(turns_) < ranks) blocks.push_back(Block::kHost);
    if (device_.is_cuda()) blocks.push_back(Block::kCopied);
    if (job_.data.kind != job::Data::Kind::kSynthetic) blocks.push_back(Block::kCold);
    if (!device_.is_cuda()) blocks.push_back(Block::kLaunch);
    return blocks;
  }

  // Samples are kept, operations counted, and the length of blocks chosen.
  void begin() {
    const job::Job some = job_until(kFirstSteps);
    const ReadBatch files = make_reader(some, comm_.rank(), 0, source_);
    read_ = [&](std::int64_t step, std::int64_t first, std::int64_t count) {
      Batch batch = files(step, first, count);
      on_host_[first] = batch;
      at_hand_[first] = executor_.on_device(batch);
      return batch;
    };
    for (int i = 0; i < kFirstSteps; ++i) step();
    const auto reads = std::max<std::size_t>(on_host_.size(), 1);  // of a step of this rank
    const std::vector<double> ahead = round_.gather(
        std::ceil(static_cast<double>(job_.data.prefetch) / static_cast<double>(reads)));
    ahead_ = std::max(1, static_cast<int>(*std::max_element(ahead.begin(), ahead.end())));
    keep_samples_at_hand();
    const Clock::time_point start = Clock::now();
    operations_ = count_operations([&] { step(); });
    wait_for_device();
    const double once = round_.first(std::chrono::duration<double>(Clock::now() - start).count());
    const double block = job_.measuring.seconds / kRoundsWanted /
                         static_cast<double>(blocks_of().size() + static_cast<std::size_t>(turns_));
    steps_ =
        std::clamp(static_cast<int>(std::lround(block / once)) - kWarmUp, kLeastSteps, kMostSteps);
  }

  Time time_of(Block block) {
    comm_.reach = Reach::kAll;
    switch (block) {
      case Block::kAlone: {
        comm_.reach = Reach::kNone;
        keep_samples_at_hand();
        Time mine;
        for (int turn = 0; turn < turns_; ++turn) {
          round_.meet();
          if (turn == turn_) mine = timed();
        }
        round_.meet();
        return mine;
      }
      case Block::kTogether:
      case Block::kHost:
      case Block::kAll:
        comm_.reach = block == Block::kTogether ? Reach::kNone
                      : block == Block::kHost   ? Reach::kHost
                                                : Reach::kAll;
        keep_samples_at_hand();
        break;
      case Block::kCopied:
        read_ = [this](std::int64_t, std::int64_t first, std::int64_t) {
          return on_host_.at(first);
        };
        break;
      case Block::kWarm:
      case Block::kCold:
        open_files(block == Block::kCold);
        break;
      case Block::kLaunch: {
        Time one;
        for (int turn = 0; turn < turns_; ++turn) {
          round_.meet();
          if (turn == turn_) one.seconds = seconds_of_empty_operation(device_);
        }
        one.count = operations_;
        return one;
      }
    }
    round_.meet();
    const bool reads = block == Block::kWarm || block == Block::kCold;
    Time time = reads ? timed(std::max(kWarmUp, ahead_), steps_reading()) : timed();
    if (block == Block::kTogether) {
      for (const double seconds : step_seconds_) {
        const std::vector<double> all = round_.gather(seconds);
        time.slowest += *std::max_element(all.begin(), all.end()) / steps_;
      }
    }
    read_ = nullptr;  // closes files, so that their pages can be evicted
    return time;
  }

  // Loaders start with nothing ready, and prepare `ahead_` steps' samples at once: the first steps
  // wait long, those after them not at all. So that many steps pass before the clock starts, a
  // multiple of that is timed, and samples of later steps are prepared in the meantime, as in
  // training. Loaders' turns and the speed of a disk make short and long steps alternate: three
  // steps with a limited disk were 190, 330 and 190 ms, 9 % off their mean of 260. So at least six
  // are timed.
  int steps_reading() const {
    return (std::max(steps_, kLeastReading) + ahead_ - 1) / ahead_ * ahead_;
  }

  // Samples of the coming block. Ranks share files: all have closed them before one is evicted.
  void open_files(bool cold) {
    const job::Job some =
        job_until(next_step_ + std::max(kWarmUp, ahead_) + steps_reading() + ahead_);
    round_.meet();
    if (cold)
      make_cold(some, comm_.rank(), next_step_, source_);
    else
      make_warm(some, comm_.rank(), next_step_, source_);
    round_.meet();
    read_ = make_reader(some, comm_.rank(), next_step_, source_);
  }

  Time timed() { return timed(kWarmUp, steps_); }
  Time timed(int warm_up, int steps) {
    for (int i = 0; i < warm_up; ++i) step();
    wait_for_device();
    const std::int64_t bytes = data::bytes_from_storage();
    const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
    const Clock::time_point start = Clock::now();
    Clock::time_point before = start;
    step_seconds_.clear();
    for (int i = 0; i < steps; ++i) {
      step();  // waits for its loss, and with it for the device
      const Clock::time_point now = Clock::now();
      step_seconds_.push_back(seconds(now - before));
      before = now;
    }
    wait_for_device();
    Time time;
    time.seconds = seconds(Clock::now() - start) / steps;
    time.bytes = static_cast<double>(data::bytes_from_storage() - bytes) / steps;
    time.count = steps;
    return time;
  }

  void step() { executor_.run(next_step_++); }

  void wait_for_device() {
    if (device_.is_cuda()) torch::cuda::synchronize();
  }

  void keep_samples_at_hand() {
    read_ = [this](std::int64_t, std::int64_t first, std::int64_t) { return at_hand_.at(first); };
  }

  job::Job job_until(std::int64_t steps) const {
    job::Job some = job_;
    some.training.steps = steps;
    return some;
  }

  void tell(int round, Block block, const Time& mine) {
    const std::vector<double> seconds = round_.gather(mine.seconds);
    const std::vector<double> bytes = round_.gather(mine.bytes);
    const std::vector<double> counts = round_.gather(static_cast<double>(mine.count));
    if (comm_.rank() != 0) return;
    for (std::size_t rank = 0; rank < seconds.size(); ++rank) {
      job::Message message;
      message.kind = job::MessageKind::kBlock;
      message.block = block;
      message.round = round;
      message.of_rank = static_cast<int>(rank);
      message.host = hosts_[rank];
      message.seconds = seconds[rank];
      message.slowest = mine.slowest;
      message.bytes = std::max(0.0, bytes[rank]);
      message.count = static_cast<std::int64_t>(counts[rank]);
      report_(message);
    }
  }

  const job::Job job_;
  const at::Device device_;
  Round round_;
  const std::vector<int> hosts_;
  SwitchComm comm_;
  std::function<void(const job::Message&)> report_;
  ReadBatch read_;
  Executor executor_;
  Source source_;
  int turn_ = 0, turns_ = 1;  // of this rank among those of its host, and of the fullest host
  int steps_ = kLeastSteps;   // of a block
  int ahead_ = 1;             // steps whose samples loaders prepare ahead
  std::int64_t next_step_ = 0;
  std::int64_t operations_ = 0;
  std::vector<double> step_seconds_;                 // of the last block
  std::map<std::int64_t, Batch> at_hand_, on_host_;  // by first sample of the micro-batch
};

}  // namespace

void measure_blocks(const job::Job& job, Comm& comm,
                    const std::function<void(const job::Message&)>& report) {
  Blocks(job, comm, report).run();
}

}  // namespace nereus::worker
