// Notices from outside the streams when an operation on a GPU does not end.
//
// A stream that waits for a lost rank waits forever, and so does a host that waits for the stream.
// So a thread looks at what each stream waits for. The wait at the front of a stream (the oldest
// that is not done) is stuck once the stream has got there: its time starts then, not when the host
// asked, since the host runs ahead. Something has failed if
//   - the front is stuck for the time-out, or
//   - something is stuck or was started and is not done, and the connections report an error or
//     another rank blames a rank. (The host may be held up where no stream is: by the driver.)
// Then the thread finds the missing rank (liveness.hpp), keeps the error for check(), and calls
// `abort`, which must end all operations, so that streams and hosts that wait for them go on.
//
// Waits must be added in the order in which their stream meets them. check() throws the error from
// then on. A value that a host reads is good only if check() after the read does not throw: aborted
// operations leave garbage.
//
//   Watchdog watchdog(liveness, timeout, {broken, abort});
//   watchdog.begin(own_stream, operation);   // it was started
//   watchdog.add(stream, operation);         // operation->is_reached(), is_done()
//   watchdog.check();                        // throws CommError
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "worker/comm/comm.hpp"
#include "worker/comm/liveness.hpp"

namespace nereus::worker {

// A stream's wait for an operation. The functions may be called from any thread.
class Watched {
 public:
  virtual ~Watched() = default;
  virtual bool is_reached() = 0;  // whether the stream has got to the wait
  virtual bool is_done() = 0;     // whether the operation is done
  virtual void settle() {}        // called once, when it is done and reached
  virtual std::string what() const = 0;
  virtual Liveness::Failure failure() const = 0;
};

class Watchdog {
 public:
  struct Hooks {
    std::function<std::string()> broken;  // what the connections report; empty: nothing
    std::function<void()> abort;          // called once, from any thread
  };
  Watchdog(Liveness& liveness, std::chrono::milliseconds timeout, Hooks hooks);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Streams are told apart by address. Not for a stream that is being captured: nothing runs there.
  void begin(const void* stream, std::shared_ptr<Watched> operation);
  void add(const void* stream, std::shared_ptr<Watched> wait);
  void settle();  // removes what is done now, instead of soon
  bool has_failed() const { return failed_; }
  void check() const;
  // For failures that the caller notices. Returns when the error is known; the first one counts.
  void fail(const std::string& what, const Liveness::Failure& failure, const std::string& cause);
  void stop();  // without looking for a missing rank

 private:
  using Clock = std::chrono::steady_clock;
  struct Stuck;
  struct Waits {
    std::deque<std::shared_ptr<Watched>> queue;
    std::unique_ptr<Stuck> stuck;  // the front
  };
  struct Problem {
    std::string what;
    Liveness::Failure failure;
    std::string cause;
  };

  void run();
  void settle_locked();
  const Watched* running();
  std::optional<Problem> look(Clock::time_point now);
  void end_with(CommError error);

  Liveness& liveness_;
  const std::chrono::milliseconds timeout_, period_;
  const Hooks hooks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<const void*, Waits> waits_;
  std::map<const void*, std::deque<std::shared_ptr<Watched>>> begun_;
  bool ending_ = false, failing_ = false;
  std::optional<CommError> error_;
  std::atomic<bool> failed_ = false;
  std::thread thread_;
};

}  // namespace nereus::worker
