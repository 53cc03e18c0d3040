// Runs agents of an elastic job on this machine, and passes on their output. The agents end with
// this process. An agent that dies is reported and not restarted, like a lost machine. Only for use
// inside app/.
//
//   LocalAgents agents(say);
//   agents.start(request, elastic, coordinator);
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "app/train/train_elastic.hpp"
#include "launch/child.hpp"
#include "launch/elastic/connection.hpp"

namespace nereus::app {

class LocalAgents {
 public:
  explicit LocalAgents(std::function<void(const std::string&)> say) : say_(std::move(say)) {}
  ~LocalAgents();
  LocalAgents(const LocalAgents&) = delete;
  LocalAgents& operator=(const LocalAgents&) = delete;

  void start(const TrainRequest& request, const ElasticRequest& elastic,
             const launch::Address& coordinator);

 private:
  struct Agent {
    launch::Child child;
    std::string text{};  // of an incomplete line
  };
  void read();
  void tell_end(std::size_t i);

  std::function<void(const std::string&)> say_;
  std::string how_to_start_;
  std::vector<Agent> agents_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace nereus::app
