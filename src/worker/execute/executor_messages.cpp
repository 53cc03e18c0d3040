// Messages between stages: requested ahead of their pass, sent as soon as they are ready.
#include <algorithm>

#include "base/error.hpp"
#include "worker/execute/executor.hpp"

namespace nereus::worker {

namespace {

using schedule::Pass;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kAhead = 2;       // passes whose inputs are asked for before their turn
constexpr std::size_t kSendsAhead = 8;  // passes that send, between the host and the device

}  // namespace

// A value and the stage that reads it say which message it is, there and back.
std::int64_t Executor::tag_of(int reader, bool gradients, std::int64_t first_sample,
                              int layer) const {
  const std::int64_t batch = job_.plan.placement.global_batch;
  return ((reader * 2 + (gradients ? 1 : 0)) * batch + first_sample) *
             job_.plan.model.num_layers() +
         layer;
}

// Samples go back in reverse order if micro-batches do, so that both ends start messages in one
// order.
std::vector<Route> Executor::in_order(std::vector<Route> routes, bool gradients) const {
  if (gradients && options_.layered) std::reverse(routes.begin(), routes.end());
  return routes;
}

void Executor::ask_ahead(std::size_t index) {
  for (std::size_t i = index; i < std::min(mine_.order.size(), index + 1 + kAhead); ++i) ask(i);
}

void Executor::ask(std::size_t index) {
  const schedule::PipelineOp& op = mine_.order[index];
  const bool backward = is_backward(op.pass);
  if ((op.pass != Pass::kForward && !backward) || ran_[index] || incoming_.count(index) > 0) return;
  Incoming& incoming = incoming_[index];
  const Stage& stage = stage_of(op.stage);
  const StageWork& work = stage.work();
  const MicroBatch& batch = work.micro_batch(op.micro_batch);
  PassContext shape_of;
  shape_of.sequence_parallel = job_.plan.placement.sequence_parallel && work.team.size() > 1;
  for (std::size_t i = 0; i < mine_.stages.size(); ++i)
    if (mine_.stages[i].stage == op.stage) shape_of.tensor = teams_[i].get();
  const std::vector<Link>& links = backward ? work.to : work.from;
  incoming.values.resize(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::vector<Route>& routes = (backward ? batch.to : batch.from)[i];
    const bool all_local = routes.size() == 1 && routes[0].rank == mine_.rank;
    if (all_local) continue;  // take() finds it
    for (const int layer : links[i].values)
      incoming.values[i][layer] =
          at::empty(stage.value_shape(layer, batch.num_samples, shape_of),
                    at::TensorOptions(options_.device).dtype(options_.type));
    // Samples first, then values, as they are sent: the two ends may divide samples differently.
    for (const Route& route : in_order(routes, backward))
      for (const int layer : links[i].values)
        if (route.rank != mine_.rank)
          incoming.handles.push_back(comm_->receive(
              incoming.values[i].at(layer).narrow(0, route.first_sample - batch.first_sample,
                                                  route.num_samples),
              route.rank,
              tag_of(backward ? links[i].stage : op.stage, backward, route.first_sample, layer)));
  }
}

std::map<int, at::Tensor> Executor::take(std::size_t index) {
  const schedule::PipelineOp& op = mine_.order[index];
  const bool backward = is_backward(op.pass);
  const StageWork& work = stage_of(op.stage).work();
  const MicroBatch& batch = work.micro_batch(op.micro_batch);
  Incoming incoming = std::move(incoming_.at(index));
  incoming_.erase(index);
  const Clock::time_point start = Clock::now();
  const std::int64_t start_ns = clock_.now();
  for (const Handle& handle : incoming.handles) handle->wait();
  waits_.pipeline += since(start);
  if (!incoming.handles.empty())
    note(timeline::SliceKind::kReceive, start_ns, op.stage, op.micro_batch);
  const std::vector<Link>& links = backward ? work.to : work.from;
  std::map<int, at::Tensor> values;
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (const Route& route : (backward ? batch.to : batch.from)[i]) {
      if (route.rank != mine_.rank) continue;
      for (const int layer : links[i].values) {
        const std::int64_t tag =
            tag_of(backward ? links[i].stage : op.stage, backward, route.first_sample, layer);
        at::Tensor own = std::move(local_.at(tag));
        local_.erase(tag);
        at::Tensor& value = incoming.values[i][layer];
        if (value.defined())
          value.narrow(0, route.first_sample - batch.first_sample, route.num_samples).copy_(own);
        else
          value = std::move(own);
      }
    }
    // Gradients of a value that several stages read: the latest first, as one device sums them.
    for (const auto& [layer, value] : incoming.values[i]) {
      at::Tensor& sum = values[layer];
      sum = sum.defined() ? sum + value : value;
    }
  }
  return values;
}

void Executor::send(const std::map<int, at::Tensor>& values, const StageWork& work,
                    const MicroBatch& batch, bool gradients) {
  while (!sent_.empty() && sent_.front()->done()) {
    sent_.front()->wait();
    sent_.pop_front();
  }
  const std::vector<Link>& links = gradients ? work.from : work.to;
  // The nearest reader first: it is the next to wait.
  for (std::size_t n = 0; n < links.size(); ++n) {
    const std::size_t i = links.size() - 1 - n;
    for (const Route& route : in_order((gradients ? batch.from : batch.to)[i], gradients))
      for (const int layer : links[i].values) {
        const at::Tensor& value = values.at(layer);
        const at::Tensor part =
            value.narrow(0, route.first_sample - batch.first_sample, route.num_samples)
                .contiguous();
        const std::int64_t tag =
            tag_of(gradients ? work.stage : links[i].stage, gradients, route.first_sample, layer);
        if (route.rank == mine_.rank)
          local_[tag] = part;
        else
          sent_.push_back(comm_->send(part, route.rank, tag));
      }
  }
  stay_near();
}

// What is sent is kept until it has gone, which the host sees only if it stays near the device. It
// waits for passes of this rank alone, of which all that they need was started before.
void Executor::stay_near() {
  if (!comm_->waits_on_device()) return;
  launched_.emplace_back(loss_);
  if (launched_.size() <= kSendsAhead) return;
  launched_.front().wait();
  launched_.pop_front();
}

bool Executor::is_there(std::size_t index) const {
  const schedule::PipelineOp& op = mine_.order[index];
  const bool backward = is_backward(op.pass);
  const StageWork& work = stage_of(op.stage).work();
  const MicroBatch& batch = work.micro_batch(op.micro_batch);
  for (const Handle& handle : incoming_.at(index).handles)
    if (!handle->done()) return false;
  const std::vector<Link>& links = backward ? work.to : work.from;
  for (std::size_t i = 0; i < links.size(); ++i)
    for (const Route& route : (backward ? batch.to : batch.from)[i])
      for (const int layer : links[i].values)
        if (route.rank == mine_.rank &&
            local_.count(tag_of(backward ? links[i].stage : op.stage, backward, route.first_sample,
                                layer)) == 0)
          return false;
  return true;
}

}  // namespace nereus::worker
