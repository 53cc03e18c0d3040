// NCCL with several ranks on one GPU (each says that it is on another host): values, order,
// overlap, and what happens if a rank dies. Needs a GPU: build/worker/nccl_test
// (cmake/worker_only.cmake).
#ifdef NEREUS_NCCL

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <c10/cuda/CUDAStream.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "worker/comm/comm.hpp"
#include "worker/device/gpu.hpp"

namespace nereus::worker {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

const at::TensorOptions kOnGpu = at::TensorOptions(at::kCUDA).dtype(at::kFloat);

// Runs `job` on each rank, a process of its own. Returns what each says; of a rank that died: "".
std::vector<std::string> run(int num_ranks, const std::function<std::string(Comm&)>& job,
                             std::chrono::milliseconds timeout = 20s) {
  const int port = free_port();
  std::vector<pid_t> children;
  std::vector<int> pipes;
  for (int rank = 0; rank < num_ranks; ++rank) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pipes.push_back(ends[0]);
    children.push_back(::fork());
    if (children.back() > 0) {
      ::close(ends[1]);
      continue;
    }
    std::string said;
    try {
      setenv("NCCL_HOSTID", fmt::format("rank{}", rank).c_str(), 1);
      setenv("NCCL_SOCKET_IFNAME", "lo", 0);
      prepare_waiting_kernels();
      use_own_stream(at::Device(at::kCUDA));
      CommOptions options;
      options.backend = "nccl";
      options.rank = rank;
      options.num_ranks = num_ranks;
      options.port = port;
      options.timeout = timeout;
      const auto comm = open_comm(options);
      said = job(*comm);
    } catch (const CommError& error) {
      said = fmt::format("missing {}: {}", error.missing_rank, error.what());
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_EQ(::write(ends[1], said.data(), said.size()), static_cast<ssize_t>(said.size()));
    ::_exit(0);
  }
  std::vector<std::string> all(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    char part[4096];
    for (ssize_t size; (size = ::read(pipes[i], part, sizeof part)) > 0;)
      all[i].append(part, static_cast<std::size_t>(size));
    ::close(pipes[i]);
    ::waitpid(children[i], nullptr, 0);
  }
  return all;
}

void expect_all(const std::vector<std::string>& said, const std::string& expected) {
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    EXPECT_EQ(said[rank], expected) << "rank " << rank;
}

TEST(Nccl, CollectivesGiveTheRightValues) {
  const auto said = run(3, [](Comm& comm) -> std::string {
    const auto group = comm.group({0, 1, 2});
    const auto some = comm.rank() < 2 ? comm.group({1, 0}) : nullptr;  // rank 1 is its first
    comm.connect({});
    at::Tensor sum = at::arange(10, kOnGpu) + comm.rank();
    group->all_reduce(sum)->wait();
    if (!sum.equal(at::arange(10, kOnGpu) * 3 + 3)) return "sum";
    at::Tensor most = at::full({2}, comm.rank(), kOnGpu);
    group->all_reduce(most, Reduction::kMax)->wait();
    if (!most.equal(at::full({2}, 2, kOnGpu))) return "max";
    for (const std::vector<Range>& ranges :
         {std::vector<Range>{{0, 2}, {2, 4}, {4, 6}}, {{4, 6}, {0, 1}, {1, 1}}}) {
      const Range own = ranges[static_cast<std::size_t>(comm.rank())];
      at::Tensor pieces = at::full({6}, -1, kOnGpu);
      pieces.slice(0, own.begin, own.end).fill_(comm.rank());
      group->all_gather(pieces, ranges)->wait();
      at::Tensor scattered = at::arange(6, kOnGpu) * (comm.rank() + 1);
      group->reduce_scatter(scattered, ranges)->wait();
      for (std::size_t i = 0; i < ranges.size(); ++i)
        if (!pieces.slice(0, ranges[i].begin, ranges[i].end)
                 .eq(static_cast<int>(i))
                 .all()
                 .item<bool>())
          return "gather";
      if (!scattered.slice(0, own.begin, own.end).equal(at::arange(own.begin, own.end, kOnGpu) * 6))
        return "scatter";
    }
    if (!some) return "right";
    at::Tensor narrow = at::ones({3}, kOnGpu.dtype(at::kBFloat16));
    some->all_reduce(narrow)->wait_on_host();
    return narrow.eq(2).all().item<bool>() && some->index() == 1 - comm.rank() ? "right" : "pair";
  });
  expect_all(said, "right");
}

// All ranks send to all others before anybody receives, 16 MiB each, eight to everyone.
TEST(Nccl, RanksThatAllSendFirstDoNotWaitForever) {
  const auto said = run(4, [](Comm& comm) -> std::string {
    constexpr int kMessages = 8;
    std::vector<Lane> lanes;
    for (int a = 0; a < comm.num_ranks(); ++a)
      for (int b = 0; b < comm.num_ranks(); ++b)
        if (a != b && (a == comm.rank() || b == comm.rank())) lanes.push_back({a, b, 0, kMessages});
    comm.connect(lanes);
    std::vector<Handle> handles;
    std::vector<std::pair<float, at::Tensor>> arriving;
    for (int i = 0; i < kMessages; ++i)
      for (int other = 0; other < comm.num_ranks(); ++other)
        if (other != comm.rank())
          handles.push_back(comm.send(at::full({4 << 20}, 10 * comm.rank() + i, kOnGpu), other, i));
    for (int i = 0; i < kMessages; ++i)
      for (int other = 0; other < comm.num_ranks(); ++other) {
        if (other == comm.rank()) continue;
        arriving.emplace_back(static_cast<float>(10 * other + i), at::zeros({4 << 20}, kOnGpu));
        handles.push_back(comm.receive(arriving.back().second, other, i));
      }
    for (const Handle& handle : handles) handle->wait();
    handles.back()->wait_on_host();
    for (const auto& [value, tensor] : arriving)
      if (!tensor.eq(value).all().item<bool>()) return "wrong";
    return "right";
  });
  expect_all(said, "right");
}

// A sum beside products: the host starts both at once, and the products hide the sum.
TEST(Nccl, OperationsRunBesideComputing) {
  const auto said = run(2, [](Comm& comm) -> std::string {
    const auto group = comm.group({0, 1});
    comm.connect({});
    at::Tensor flat = at::ones({16 << 20}, kOnGpu), a = at::rand({8192, 8192}, kOnGpu);
    const at::Tensor b = at::rand({8192, 8192}, kOnGpu);
    const auto round = [&](bool sums, int products) {
      c10::cuda::getCurrentCUDAStream().synchronize();
      (void)comm.take_stream_times();
      const auto start = Clock::now();
      Handle sum;
      if (sums) sum = group->all_reduce(flat);
      for (int i = 0; i < products; ++i) at::mm_out(a, b, b);
      if (sum) sum->wait();
      const double host = seconds_since(start);
      if (sum) sum->wait_on_host();
      c10::cuda::getCurrentCUDAStream().synchronize();
      return std::pair(seconds_since(start), host);
    };
    round(true, 2);
    group->all_reduce(at::ones({1}, kOnGpu))->wait_on_host();
    const double alone = round(true, 0).first;
    const int products = std::max(4, static_cast<int>(2.5 * alone / (round(false, 20).first / 20)));
    const double computing = round(false, products).first;
    group->all_reduce(at::ones({1}, kOnGpu))->wait_on_host();
    const auto [both, host] = round(true, products);
    const StreamTimes times = comm.take_stream_times();
    const double busy = times.busy[1], held = times.held_by(Purpose::kReduce);
    const bool good = both < computing + 0.5 * alone && held < 0.2 * busy && host < 0.2 * both;
    return fmt::format(
        "{}: a sum {:.0f} ms, {} products {:.0f} ms, both {:.0f} ms; the host {:.1f} "
        "ms; the sum ran {:.0f} ms and held up the stream {:.1f} ms",
        good ? "beside" : "one after the other", alone * 1e3, products, computing * 1e3, both * 1e3,
        host * 1e3, busy * 1e3, held * 1e3);
  });
  for (const std::string& one : said) {
    std::printf("%s\n", one.c_str());
    EXPECT_EQ(one.rfind("beside", 0), 0U) << one;
  }
}

// Rank 1 ends, or stops, while the others wait for it in streams and on the host.
std::vector<std::string> lose_rank_1(int how) {
  return run(
      3,
      [how](Comm& comm) -> std::string {
        const auto group = comm.group({0, 1, 2});
        comm.connect({});
        at::Tensor flat = at::ones({1 << 20}, kOnGpu);
        for (int i = 0; i < 3; ++i) group->all_reduce(flat)->wait_on_host();
        if (comm.rank() == 1) {
          if (how == SIGKILL) ::raise(SIGKILL);
          // Stopped, until the others must have given up.
          const pid_t self = ::getpid();
          if (::fork() == 0) {
            std::this_thread::sleep_for(20s);
            ::kill(self, SIGKILL);
            ::_exit(0);
          }
          ::raise(SIGSTOP);
        }
        const auto start = Clock::now();
        try {
          group->all_reduce(flat)->wait();
          group->all_reduce(flat)->wait_on_host();
        } catch (const CommError& error) {
          return fmt::format("missing {} after {} s: {}", error.missing_rank,
                             static_cast<int>(seconds_since(start)), error.what());
        }
        return "nothing was noticed";
      },
      6s);
}

TEST(Nccl, ARankThatDiesIsNamed) {
  const std::vector<std::string> said = lose_rank_1(SIGKILL);
  for (const std::size_t rank : {0U, 2U}) {
    std::printf("%s\n", said[rank].c_str());
    EXPECT_EQ(said[rank].rfind("missing 1", 0), 0U) << said[rank];
  }
}

TEST(Nccl, ARankThatStopsIsNamed) {
  const std::vector<std::string> said = lose_rank_1(SIGSTOP);
  for (const std::size_t rank : {0U, 2U}) {
    std::printf("%s\n", said[rank].c_str());
    EXPECT_EQ(said[rank].rfind("missing 1", 0), 0U) << said[rank];
  }
}

}  // namespace
}  // namespace nereus::worker

#endif
