// A program that spreads work as `nereus explore` does, for tests/long/mpi.sh: piece p is the line
// "p hash", where the hash is worked out for a while, with bytes behind it on demand.
//
//   spread_sample PIECES MS_OF_A_PIECE [BYTES [LOST_AFTER_S [THREADS]]]
//
// Rank 0 prints the lines and "complete" or "stopped"; on stderr "accepted N" every 100 pieces,
// ranks lost, and at the end the CPU time of this process. Exit codes as those of nereus.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "api/form/exit_codes.hpp"
#include "api/verbs/open_ranks.hpp"
#include "base/build_info.hpp"
#include "base/error.hpp"
#include "base/interrupt.hpp"

namespace {

using namespace nereus;
using namespace nereus::spread;

// Deterministic; sleeps for most of the time, so that tests need few cores.
std::string compute(std::int64_t piece, double ms, std::size_t bytes) {
  std::uint64_t hash = static_cast<std::uint64_t>(piece) + 1;
  for (int i = 0; i < 10000; ++i) hash = hash * 6364136223846793005u + 1442695040888963407u;
  const double scale = 0.5 + static_cast<double>(hash % 1000) / 1000;
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms * scale));
  std::string line = fmt::format("{} {:016x}", piece, hash);
  for (std::size_t i = 0; i < bytes; ++i) line += static_cast<char>('a' + (hash >> i % 60) % 26);
  return line + "\n";
}

int spread_it(Ranks& ranks, const Work& work, int threads) {
  const InterruptGuard guard;
  const std::string shared = ranks.share(ranks.leads() ? "of rank 0" : "of another");
  NEREUS_CHECK(shared == "of rank 0", "what rank 0 shares");
  const Outcome outcome = ranks.run(work, {.threads = threads});
  if (!ranks.leads()) return api::kDone;
  fmt::print("{}\n", outcome.ending == Ending::kComplete ? "complete" : "stopped");
  fmt::print(stderr, "accepted {}, redone {}, lost {}\n", outcome.accepted, outcome.redone,
             outcome.lost_ranks.size());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(stderr, "cpu_ms {}\n",
             usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000 +
                 usage.ru_stime.tv_sec * 1000 + usage.ru_stime.tv_usec / 1000);
  return outcome.ending == Ending::kComplete ? api::kDone : api::kStoppedEarly;
}

int run_sample(const std::vector<double>& arguments) {
  const auto argument = [&](std::size_t i, double otherwise) {
    return i < arguments.size() ? arguments[i] : otherwise;
  };
  const Settings settings{.build = build_id(),
                          .lost_after_s = argument(3, 10),
                          .say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); }};
  const auto ranks = open_ranks(api::detect_launch(), settings);
  const double ms = argument(1, 1);
  const auto bytes = static_cast<std::size_t>(argument(2, 0));
  const Work work{.first = 1000,
                  .count = static_cast<std::int64_t>(argument(0, 100)),
                  .compute = [=](std::int64_t piece) { return compute(piece, ms, bytes); },
                  .accept =
                      [](std::int64_t piece, std::string&& line) {
                        fmt::print("{}", line);
                        if (piece % 100 == 0) fmt::print(stderr, "accepted {}\n", piece);
                      },
                  .stop = [] { return interrupted(); },
                  .name = "sample"};
  int exit_code = api::kDone;
  try {
    exit_code = spread_it(*ranks, work, static_cast<int>(argument(4, 0)));
  } catch (const Dismissed&) {
  } catch (const Errors& errors) {
    fmt::print(stderr, "{}\n", errors.what());
    exit_code = api::kBadEnvironment;
  }
  return ranks->finish(exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<double> arguments;
  for (int i = 1; i < argc; ++i) arguments.push_back(std::atof(argv[i]));
  try {
    return run_sample(arguments);
  } catch (const Errors& errors) {
    fmt::print(stderr, "{}\n", errors.what());
    return api::kBadEnvironment;
  }
}
