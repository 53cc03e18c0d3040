// A thread that is joined when it is destroyed (std::jthread without its stop token: libc++ 13 has
// none).
//
//   std::vector<JoiningThread> threads;
//   threads.emplace_back([&] { work(); });
//   threads.clear();                          // all are done
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
