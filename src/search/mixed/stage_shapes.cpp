#include "search/mixed/stage_shapes.hpp"

#include <algorithm>

#include "search/mixed/counts.hpp"

namespace nereus::mixed {

namespace {

constexpr std::size_t kFewShapes = 64;     // then any number of stages of a group
constexpr std::size_t kSomeShapes = 2048;  // the most with other numbers of stages than the most
constexpr std::size_t kFewGroups = 4;      // whose orders are all looked at
constexpr std::size_t kFreeGroups = 12;    // with more groups: those of which any three are tried
constexpr int kManyDevices = 256;          // then four kinds and more have one tensor degree

enum class Depths { kMost, kSome, kAll };

std::vector<int> depths_of(int most, Depths depths) {
  std::vector<int> list;
  if (depths == Depths::kAll)
    for (int s = 1; s < most; ++s) list.push_back(s);
  if (depths == Depths::kSome)
    for (int s = 1; s < most; s *= 2) {
      list.push_back(s);
      if (s > 1 && s + s / 2 < most) list.push_back(s + s / 2);
    }
  if (most > 0) list.push_back(most);
  return list;
}

// All orders of all subsets of up to `most` of these.
std::vector<std::vector<int>> orders_of(const std::vector<int>& groups, std::size_t most) {
  std::vector<std::vector<int>> orders;
  for (unsigned used = 1; used < 1u << groups.size(); ++used) {
    std::vector<int> order;
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (used >> g & 1) order.push_back(groups[g]);
    if (order.size() > most) continue;
    do orders.push_back(order);
    while (std::next_permutation(order.begin(), order.end()));
  }
  return orders;
}

class ShapeList {
 public:
  ShapeList(Machines& machines, const std::vector<int>& tensor_degrees)
      : machines_(machines),
        tensor_degrees_(tensor_degrees),
        tied_(!machines.model().tied.empty()) {
    int devices = 0;
    for (const Group& group : groups()) devices += group.count;
    same_tp_ = groups().size() > kFewGroups || (groups().size() > 3 && devices > kManyDevices);
    orders_ = groups().size() <= kFewGroups ? few() : many();
  }

  Shapes shapes() {
    Shapes out{make(Depths::kMost, kMostShapes), true};
    out.every = groups().size() <= kFewGroups && !cut_;
    if (out.list.size() < kFewShapes)
      out.list = make(Depths::kAll, kMostShapes);
    else if (std::vector<PipelineManner> some = make(Depths::kSome, kSomeShapes); !cut_)
      out.list = std::move(some);
    return out;
  }

 private:
  const std::vector<Group>& groups() const { return machines_.groups(); }
  const Group& group(int g) const { return groups()[g]; }

  std::vector<std::vector<int>> few() const {
    std::vector<int> all;
    for (std::size_t g = 0; g < groups().size(); ++g) all.push_back(static_cast<int>(g));
    return orders_of(all, kFewGroups);
  }

  std::vector<std::vector<int>> many() {
    std::vector<int> by_rate = groups_by_rate(machines_);
    std::vector<int> free(by_rate.begin(), by_rate.begin() + static_cast<long>(std::min(
                                                                 kFreeGroups, by_rate.size())));
    std::sort(free.begin(), free.end());
    std::vector<std::vector<int>> orders;
    // The large ones first: they are few, and the list may end before the last.
    const auto layers = static_cast<std::size_t>(machines_.model().num_layers());
    for (std::size_t k = std::min(by_rate.size(), layers); k > 3; --k) {
      std::vector<int> order(by_rate.begin(), by_rate.begin() + static_cast<long>(k));
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return machines_.rate({a, 1, {}}) < machines_.rate({b, 1, {}});
      });
      orders.push_back(order);
      orders.emplace_back(order.rbegin(), order.rend());
    }
    for (std::vector<int>& order : orders_of(free, 3)) orders.push_back(std::move(order));
    return orders;
  }

  std::vector<PipelineManner> make(Depths depths, std::size_t most) {
    list_.clear();
    depths_ = depths;
    most_ = most;
    cut_ = false;
    for (const std::vector<int>& order : orders_) {
      int widest = 0;
      for (const int g : order) widest = std::max(widest, group(g).count);
      for (int width = 1; width <= widest && !cut_; ++width) {
        if (machines_.like().global_batch % width != 0) continue;
        PipelineManner manner;
        manner.width = width;
        extend(order, manner);
      }
    }
    return std::move(list_);
  }

  // With many groups: one stage each, or the maximum for each.
  static std::vector<int> one_or_most(const PipelineManner& manner, int most) {
    if (most < 2) return most == 1 ? std::vector{1} : std::vector<int>{};
    if (manner.blocks.empty()) return {1, most};
    const auto is_one = [](const StageBlock& block) { return block.stages == 1; };
    return {std::all_of(manner.blocks.begin(), manner.blocks.end(), is_one) ? 1 : most};
  }

  void extend(const std::vector<int>& order, PipelineManner& manner) {
    const std::size_t i = manner.blocks.size();
    if (cut_ || manner.depth() > machines_.model().num_layers()) return;
    if (i == order.size()) {
      // Both ends of a tied weight must be cut alike.
      if (manner.depth() < 2 || (tied_ && manner.blocks.front().tp != manner.blocks.back().tp))
        return;
      cut_ = list_.size() == most_;
      if (!cut_) list_.push_back(manner);
      return;
    }
    for (const int tp : tensor_degrees_) {
      if (group(order[i]).per_node % tp != 0) continue;
      if (same_tp_ && i > 0 && tp != manner.blocks.front().tp) continue;
      const int most = group(order[i]).count / (tp * manner.width);
      for (const int stages :
           order.size() > kFewGroups ? one_or_most(manner, most) : depths_of(most, depths_)) {
        manner.blocks.push_back({order[i], tp, stages});
        extend(order, manner);
        manner.blocks.pop_back();
      }
    }
  }

  Machines& machines_;
  const std::vector<int>& tensor_degrees_;
  const bool tied_;
  bool same_tp_ = false;
  std::vector<std::vector<int>> orders_;
  Depths depths_ = Depths::kMost;
  std::size_t most_ = 0;
  bool cut_ = false;
  std::vector<PipelineManner> list_;
};

}  // namespace

Shapes pipeline_shapes(Machines& machines, const std::vector<int>& tensor_degrees) {
  return ShapeList(machines, tensor_degrees).shapes();
}

}  // namespace nereus::mixed
