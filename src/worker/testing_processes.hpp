// Ranks as processes that share one GPU, for tests. Threads would deadlock: libtorch runs all
// backward passes of a process on one thread per GPU, and a rank that waits there for another would
// wait forever. The processes are reused for several jobs, because loading a CUDA context and its
// kernels takes seconds, longer than a small job. After a failure all of them are ended, and the
// next job starts new ones.
//
//   const Outcome outcome = RankProcesses::shared().run(job, 20);
#pragma once

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "spec/source.hpp"
#include "worker/execute/saving.hpp"
#include "worker/run/testing_outcome.hpp"
#include "worker/testing_models.hpp"

namespace nereus::worker::testing {

inline bool test_device_is(const char* name) {
  const char* device = std::getenv("NEREUS_TEST_DEVICE");
  return device && device == std::string(name);
}
// "nccl": the ranks, each of which says that it is on another host, share the GPU through NCCL.
inline std::string test_comm() {
  const char* comm = std::getenv("NEREUS_TEST_COMM");
  return comm ? comm : "shared";
}
inline bool on_gpu() { return test_device_is("cuda"); }
// "processes": on CPUs.
inline bool as_processes() { return on_gpu() || test_device_is("processes"); }

inline const std::string kStatistics = "statistics:", kBatches = "batches:";

// Writes losses, first gradients and statistics of norms to a file for another process: lines of
// names, each followed by its numbers.
inline void write_outcome(const std::string& path, const Outcome& outcome) {
  std::ofstream file(path, std::ios::binary);
  const auto write = [&](const std::string& name, const double* values, std::int64_t size) {
    file << name << ' ' << size << '\n';
    file.write(reinterpret_cast<const char*>(values), size * 8);
  };
  write("losses", outcome.losses.data(), static_cast<std::int64_t>(outcome.losses.size()));
  for (const auto& [name, gradient] : outcome.gradients) {
    const at::Tensor wide = gradient.to(at::kDouble).contiguous();
    write(name, wide.data_ptr<double>(), wide.numel());
  }
  for (const auto& [name, statistics] : outcome.statistics) {
    const at::Tensor wide = statistics.to(at::kCPU, at::kDouble).contiguous();
    write(kStatistics + name, wide.data_ptr<double>(), wide.numel());
    const auto batches = static_cast<double>(outcome.num_batches.at(name));
    write(kBatches + name, &batches, 1);
  }
}

// Adds the content of the file, and removes it. Losses are those of the first file.
inline void add_outcome_of(const std::string& path, Outcome& outcome) {
  std::ifstream file(path, std::ios::binary);
  std::string name;
  for (std::int64_t size = 0; file >> name >> size;) {
    file.get();
    at::Tensor part = at::empty({size}, at::kDouble);
    const auto* values = part.data_ptr<double>();
    file.read(reinterpret_cast<char*>(part.data_ptr<double>()), size * 8);
    if (name == "losses") {
      if (outcome.losses.empty()) outcome.losses.assign(values, values + size);
      continue;
    }
    if (name.starts_with(kStatistics)) {
      outcome.statistics[name.substr(kStatistics.size())] = part.view({2, -1});
      continue;
    }
    if (name.starts_with(kBatches)) {
      outcome.num_batches[name.substr(kBatches.size())] = static_cast<std::int64_t>(values[0]);
      continue;
    }
    at::Tensor& whole = outcome.gradients[name];
    whole = whole.defined() ? at::where(part.isnan(), whole, part) : part;
  }
  file.close();
  std::remove(path.c_str());  // not std::filesystem: the wheel exports another one
}

// Runs one rank's jobs until `asked` is closed; writes a byte to `answers` for each that is done.
class RankProcess {
 public:
  RankProcess(int rank, int asked, int answers) : rank_(rank), asked_(asked), answers_(answers) {}
  int serve() {
    try {
      bool prepared = false;
      for (Asked asked; ::read(asked_, &asked, sizeof asked) == sizeof asked;) {
        const std::string file = fmt::format("{}.job", asked.name);
        const job::Job job = job::parse_job(spec::read_text_file(file), file);
        if (!prepared) prepare();
        prepared = true;
        run(job, asked);
        if (::write(answers_, "", 1) != 1) return 1;
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank_, error.what());
      return 1;
    }
    return 0;
  }

  struct Asked {
    char name[64];  // of the files NAME.job and NAME.RANK
    int num_ranks, num_steps, port;
  };

 private:
  void prepare() const {
    at::set_num_threads(1);
    if (!on_gpu()) return;
    if (test_comm() == "nccl") {
      setenv("NCCL_HOSTID", fmt::format("rank{}", rank_).c_str(), 1);
      setenv("NCCL_SOCKET_IFNAME", "lo", 0);
      prepare_waiting_kernels();
    }
    use_own_stream(at::Device(at::kCUDA));
    at::globalContext().setDeterministicCuDNN(true);  // otherwise two runs of one rank differ
  }

  void run(const job::Job& job, const Asked& asked) {
    CommOptions options;
    options.backend = test_comm();
    options.port = asked.port;
    options.timeout = std::chrono::seconds(30);
    options.rank = rank_;
    options.num_ranks = asked.num_ranks;
    options.job = std::string(asked.name).substr(std::string(asked.name).rfind('/') + 1);
    const auto comm = open_comm(options);
    Executor executor(job, *comm, reader_of(job.plan.model));
    Saver saver(job, rank_, asked.num_ranks);
    Outcome own;
    const std::int64_t first = resume(job, executor);
    executor.before_update = [&] { add_gradients(executor, own); };
    for (std::int64_t step = first; step < asked.num_steps; ++step) {
      own.losses.push_back(executor.run(step).loss);
      executor.before_update = nullptr;
    }
    if (saver.saves()) saver.save(asked.num_steps, executor);
    saver.finish();
    add_statistics(executor, own);
    write_outcome(fmt::format("{}.{}", asked.name, rank_), own);
  }

  int rank_, asked_, answers_;
};

class RankProcesses {
 public:
  static RankProcesses& shared() {
    static RankProcesses processes;
    return processes;
  }

  Outcome run(job::Job job, int num_steps) {
    job.build = "test";
    if (on_gpu()) job.machine.device = "cuda";
    RankProcess::Asked asked{};
    asked.num_ranks = ranks_of(job);
    asked.num_steps = num_steps;
    asked.port = free_port();
    if (test_comm() == "nccl") job.machine.comm = "nccl";
    const std::string name = fmt::format("/dev/shm/equality-{}-{}", getpid(), ++number_);
    name.copy(asked.name, sizeof asked.name - 1);
    job::save_job(name + ".job", job);
    while (static_cast<int>(ranks_.size()) < asked.num_ranks) start();
    for (int rank = 0; rank < asked.num_ranks; ++rank)
      if (::write(at(rank).asks, &asked, sizeof asked) != sizeof asked)
        throw std::runtime_error(fmt::format("rank {} takes no jobs", rank));
    const std::string failed = wait_for(asked.num_ranks);
    std::remove((name + ".job").c_str());
    Outcome outcome;
    for (int rank = 0; rank < asked.num_ranks; ++rank)
      add_outcome_of(fmt::format("{}.{}", name, rank), outcome);
    if (!failed.empty()) end_all();
    if (!failed.empty() || outcome.losses.empty())
      throw std::runtime_error(fmt::format("{} losses. {}", outcome.losses.size(), failed));
    return outcome;
  }

 private:
  struct Rank {
    pid_t process;
    int asks, answers;
  };

  RankProcesses() { std::signal(SIGPIPE, SIG_IGN); }  // for a rank that has ended
  ~RankProcesses() { end_all(); }
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  static int free_port() {
    const int asks = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    NEREUS_CHECK(bind(asks, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(asks, reinterpret_cast<sockaddr*>(&address), &size) == 0,
                 "a port");
    close(asks);
    return ntohs(address.sin_port);
  }

  Rank& at(int rank) { return ranks_[rank]; }

  void start() {
    int asks[2], answers[2];
    NEREUS_CHECK(pipe(asks) == 0 && pipe(answers) == 0, "pipes");
    const int rank = static_cast<int>(ranks_.size());
    const pid_t process = fork();
    NEREUS_CHECK(process >= 0, "a process");
    if (process == 0) {
      for (const Rank& other : ranks_) close(other.asks);  // otherwise it would never see its end
      close(asks[1]);
      close(answers[0]);
      _exit(RankProcess(rank, asks[0], answers[1]).serve());
    }
    close(asks[0]);
    close(answers[1]);
    ranks_.push_back({process, asks[1], answers[0]});
  }

  // Waits until all have answered or ended; returns the error, if any.
  std::string wait_for(int num_ranks) {
    std::vector<pollfd> waiting;
    for (int rank = 0; rank < num_ranks; ++rank) waiting.push_back({at(rank).answers, POLLIN, 0});
    std::string failed;
    for (int left = num_ranks; left > 0;) {
      poll(waiting.data(), waiting.size(), -1);
      for (std::size_t rank = 0; rank < waiting.size(); ++rank) {
        if (waiting[rank].fd < 0 || waiting[rank].revents == 0) continue;
        char answer = 0;
        if (::read(waiting[rank].fd, &answer, 1) != 1)
          failed += fmt::format("rank {} ended; ", rank);
        waiting[rank].fd = -1;
        --left;
      }
    }
    return failed;
  }

  void end_all() {
    for (const Rank& rank : ranks_) {
      close(rank.asks);
      close(rank.answers);
      kill(rank.process, SIGKILL);
      waitpid(rank.process, nullptr, 0);
    }
    ranks_.clear();
  }

  std::vector<Rank> ranks_;
  int number_ = 0;
};

}  // namespace nereus::worker::testing
