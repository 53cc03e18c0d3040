// A thread whose destructor joins it (like std::jthread without stop tokens, which libc++ 13
// lacks).
//
//   std::vector<JoiningThread> threads;
//   threads.emplace_back([&] { work(); });
//   threads.clear();                          // waits for all of them
#pragma once

#include <thread>
#include <utility>

namespace nereus {

class JoiningThread {
 public:
  template <class Body>
  explicit JoiningThread(Body body) : thread_(std::move(body)) {}
  JoiningThread(JoiningThread&&) = default;
  JoiningThread& operator=(JoiningThread&&) = delete;
  ~JoiningThread() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace nereus
