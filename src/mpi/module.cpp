// nereus_mpi.so: implements spread::Link with Open MPI, behind spread/mpi_module.hpp. The only file
// that uses MPI. It is built if CMake finds MPI; the program loads it when a launcher has started
// several ranks.
//
// Every call is non-blocking, and only one thread calls at a time (MPI_THREAD_SERIALIZED). The code
// relies on this behavior of Open MPI 4.1.4 (Debian 12):
//   - a rank is killed: mpirun ends the whole job at once, with exit code 137. Under mpirun
//     --enable-recovery the others continue, and MPI reports no error to them: messages to the dead
//     rank stay pending or vanish. Silence is the only sign (spread/ranks.hpp).
//   - a rank dies before all have started, or never starts MPI: under --enable-recovery the others
//     wait in MPI_Init forever.
//   - MPI_Finalize waits for every living rank, so for a suspended one forever.
//   - MPI_Abort also ends suspended ranks, with its exit code. Under --enable-recovery it ends them
//     only after all others are gone, and mpirun's exit code is always 0.
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/build_info.hpp"
#include "spread/mpi_module.hpp"

namespace {

constexpr int kTag = 1;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // MPI counts in int
constexpr std::chrono::milliseconds kTimeToBeEnded{1500};
constexpr std::chrono::milliseconds kTimeToBeHeard{500};
constexpr std::chrono::seconds kTimeToFinalize{30};
constexpr int kSecondsToStart = 180;  // all ranks; NEREUS_MPI_START_S
constexpr int kBadEnvironment = 4;    // the exit code (cli/cli.hpp)

struct Transfer {
  std::string bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

// A module is opened once in a process, like MPI itself.
struct State {
  MPI_Comm world = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  std::vector<std::list<Transfer>> sends;     // by rank; addresses must stay
  std::vector<std::list<Transfer>> receives;  // by rank, in the order of sending
  std::size_t num_receiving = 0;
  std::string received;
};
State state;

std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

// A core that k ranks of this machine may use counts 1/k for each of them. So ranks that are bound
// to separate cores have these, and unbound ranks share evenly.
int share_of_cores(MPI_Comm world) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof(mine), &mine) != 0) return 1;
  MPI_Comm machine = MPI_COMM_NULL;
  if (MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine)) return 1;
  int size = 1;
  MPI_Comm_size(machine, &size);
  std::vector<cpu_set_t> sets(static_cast<std::size_t>(size));
  MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, sets.data(), sizeof(mine), MPI_BYTE, machine);
  MPI_Comm_free(&machine);
  double cores = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &mine)) continue;
    const auto shared = std::count_if(sets.begin(), sets.end(),
                                      [&](const cpu_set_t& set) { return CPU_ISSET(core, &set); });
    cores += 1.0 / static_cast<double>(shared);
  }
  return std::max(1, static_cast<int>(cores + 1e-6));
}

[[noreturn]] void leave(int exit_code) {
  std::fflush(nullptr);
  _exit(exit_code);
}

// Ends the process if its ranks do not connect: MPI has no call for this.
class StartGuard {
 public:
  StartGuard() : thread_([this] { watch(); }) {}
  ~StartGuard() {
    {
      const std::lock_guard lock(mutex_);
      started_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  StartGuard(const StartGuard&) = delete;
  StartGuard& operator=(const StartGuard&) = delete;

 private:
  void watch() {
    const char* text = std::getenv("NEREUS_MPI_START_S");
    const int given = text ? std::atoi(text) : 0;
    const int seconds = given > 0 ? given : kSecondsToStart;
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::seconds(seconds), [&] { return started_; })) return;
    std::fprintf(
        stderr,
        "error[mpi.start]: the ranks did not all start within %d s: one has died or cannot "
        "be reached; NEREUS_MPI_START_S gives them longer\n",
        seconds);
    leave(kBadEnvironment);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  std::thread thread_;
};

int open_link(NereusMpiFacts* facts, char* error, std::size_t error_size) {
  const auto fail = [&](const std::string& text) {
    std::snprintf(error, error_size, "%s", text.c_str());
    return 1;
  };
  // Results go through shared memory in two copies instead of one copy from the sender's memory:
  // otherwise a sender that dies in between would crash the receiver, and containers often forbid
  // it.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  const StartGuard guard;
  int provided = 0;
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided)) {
    return fail(error_text(code));
  }
  if (provided < MPI_THREAD_SERIALIZED) return fail("it has no support for threads");
  if (const int code = MPI_Comm_dup(MPI_COMM_WORLD, &state.world)) return fail(error_text(code));
  MPI_Comm_set_errhandler(state.world, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(state.world, &state.rank);
  MPI_Comm_size(state.world, &state.size);
  state.sends.resize(static_cast<std::size_t>(state.size));
  state.receives.resize(static_cast<std::size_t>(state.size));
  *facts = {state.rank, state.size, share_of_cores(state.world), ""};
  gethostname(facts->host, sizeof(facts->host) - 1);
  return 0;
}

void forget_sent(std::list<Transfer>& sends) {
  while (!sends.empty()) {
    int done = 0;
    if (MPI_Test(&sends.front().request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) return;
    sends.pop_front();
  }
}

int send_to(int to, const char* data, std::size_t size) {
  if (size > kMostBytes) {
    std::fprintf(stderr, "nereus: a message between ranks has %zu bytes; 1 GiB is the most\n",
                 size);
    std::abort();
  }
  std::list<Transfer>& sends = state.sends[to];
  forget_sent(sends);
  Transfer& transfer = sends.emplace_back(Transfer{std::string(data, size)});
  const int code = MPI_Isend(transfer.bytes.data(), static_cast<int>(size), MPI_BYTE, to, kTag,
                             state.world, &transfer.request);
  if (code != MPI_SUCCESS) sends.pop_back();
  return code;
}

// Starts receiving messages that have arrived. Does not use MPI_Recv: the sender of a long message
// may die between its first and last bytes, and the call would never return.
void begin_receives() {
  while (true) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (MPI_Improbe(MPI_ANY_SOURCE, kTag, state.world, &found, &message, &status) || !found) return;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    std::list<Transfer>& receives = state.receives[status.MPI_SOURCE];
    Transfer& transfer =
        receives.emplace_back(Transfer{std::string(static_cast<std::size_t>(size), '\0')});
    if (MPI_Imrecv(transfer.bytes.data(), size, MPI_BYTE, &message, &transfer.request)) {
      receives.pop_back();
      continue;
    }
    ++state.num_receiving;
  }
}

int receive_next(int* from, const char** data, std::size_t* size) {
  begin_receives();
  for (int rank = 0; state.num_receiving > 0 && rank < state.size; ++rank) {
    std::list<Transfer>& receives = state.receives[rank];
    if (receives.empty()) continue;
    int done = 0;
    const int code = MPI_Test(&receives.front().request, &done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && !done) continue;
    state.received = std::move(receives.front().bytes);
    receives.pop_front();
    --state.num_receiving;
    if (code != MPI_SUCCESS) continue;  // cut by the sender's death
    *from = rank;
    *data = state.received.data();
    *size = state.received.size();
    return 1;
  }
  return 0;
}

std::size_t num_pending_to(int to) {
  std::list<Transfer>& sends = state.sends[to];
  forget_sent(sends);
  return sends.size();
}

void close_link(int all_there, int exit_code) {
  std::fflush(nullptr);
  if (all_there) {
    // A rank that dies or is suspended just now must not keep the others.
    std::thread([exit_code] {
      std::this_thread::sleep_for(kTimeToFinalize);
      leave(exit_code);
    }).detach();
    MPI_Finalize();
    return;
  }
  if (state.rank == 0) {
    // mpirun passes on what this process printed, but not all of it once it is told to abort.
    std::this_thread::sleep_for(kTimeToBeHeard);
    MPI_Abort(state.world, exit_code);
  } else {
    // mpirun ends this process now, or with --enable-recovery waits for it to go.
    std::this_thread::sleep_for(kTimeToBeEnded);
  }
  leave(exit_code);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const NereusMpiModule* nereus_mpi_module() {
  static const std::string kBuild = nereus::build_id();
  static const NereusMpiModule kModule = {kNereusMpiInterface, kBuild.c_str(), open_link, send_to,
                                          receive_next,        num_pending_to, close_link};
  return &kModule;
}
