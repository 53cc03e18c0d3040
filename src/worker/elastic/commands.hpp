// A worker's two pipes: a separate thread reads commands; answers are written back.
//
//   Commands commands(command_fd, line_out);
//   while (auto command = commands.next()) ...          // the next kGeneration
//   commands.board(generation);                         // its notes
//   const Commands::Running running(commands, generation, comm);   // the generation may abort it
//   commands.is_over(generation);
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "job/elastic.hpp"
#include "worker/comm/board.hpp"

namespace nereus::worker {

class Comm;

// Writes whole lines from any thread, and a heartbeat every half second.
class LineOut {
 public:
  explicit LineOut(int fd);
  ~LineOut();
  LineOut(const LineOut&) = delete;
  LineOut& operator=(const LineOut&) = delete;
  void send(const job::ElasticMessage& message);

 private:
  void beat();

  int fd_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  std::thread thread_;
};

class Commands {
 public:
  Commands(int fd, LineOut& out);
  ~Commands() = delete;  // must live as long as the process: its thread waits in read()

  // Waits for the next generation. It also returns a generation that has already ended, because
  // every generation that begins must be reported as ended.
  job::ElasticMessage next();
  std::shared_ptr<Board> board(std::int64_t generation);
  bool is_over(std::int64_t generation);
  enum class Ending { kNone, kEnd, kSave };
  Ending ends_after_step(std::int64_t generation);
  bool take_save(std::int64_t generation);  // true once per request
  // Number of steps done in the newest checkpoint that the coordinator knows of, in this
  // generation; -1: none.
  std::int64_t known_saved(std::int64_t generation);

  // During its lifetime, the end of the generation aborts the Comm. Throws BoardClosed if the
  // generation has already ended.
  class Running {
   public:
    Running(Commands& commands, std::int64_t generation, Comm& comm);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Commands& commands_;
    Comm& comm_;
  };

 private:
  class NoteBoard;
  void read();
  void take(const job::ElasticMessage& command);

  int fd_;
  LineOut& out_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<job::ElasticMessage> waiting_;
  std::map<std::int64_t, std::shared_ptr<NoteBoard>> boards_;
  std::int64_t over_ = -1;       // this generation and all before it have ended
  std::int64_t end_after_ = -1;  // this generation and all before it must end
  bool saves_at_end_ = false;
  std::int64_t save_after_ = -1;                         // the generation that saves after its step
  std::pair<std::int64_t, std::int64_t> known_{-1, -1};  // generation, steps
  std::map<Comm*, std::int64_t> running_;                // with their generations
  std::thread thread_;
};

}  // namespace nereus::worker
