#include "search/regular/regular_search.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "search/regular/evaluate.hpp"
#include "search/regular/keep.hpp"

namespace nereus::search {

namespace {

// Number of families evaluated together: small enough that the first wave's results prune the rest,
// large enough to keep many cores busy.
constexpr std::size_t kWave = 64;

// A family with what orders it.
struct Work {
  int cluster = 0;
  const Family* family = nullptr;
  Values bound{};
  std::int64_t count = 0;
};

class Search {
 public:
  Search(const model::Model& model, const std::vector<cluster::Cluster>& clusters,
         const cost::Basis& basis, const Choices& choices, const SearchOptions& options)
      : model_(model),
        clusters_(clusters),
        basis_(basis),
        options_(options),
        keeper_(options.objectives, options.top, options.limit) {
    for (const cluster::Cluster& cluster : clusters) {
      NEREUS_CHECK(cluster.uniform(), "a regular plan is for uniform clusters");
      spaces_.emplace_back(choices, model, cluster);
      rates_.push_back(rates_of(cluster));
    }
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    const int threads = options.threads > 0 ? options.threads : std::max(1, cores);
    slots_.resize(static_cast<std::size_t>(threads));
    for (Slot& slot : slots_) slot.resize(clusters.size());
  }

  SearchResult run() {
    list_families();
    std::size_t next = 0;
    while (next < work_.size() && result_.complete) {
      const std::size_t end = std::min(work_.size(), next + kWave);
      run_wave(next, end);
      next = end;
    }
    result_.plans = keeper_.take_sorted();
    if (!result_.plans.empty()) result_.nearest.reset();
    return std::move(result_);
  }

 private:
  using Slot = std::vector<std::unique_ptr<cost::Predictor>>;  // by cluster

  // Hands out 0 .. count - 1 to the slots, each of which has predictors of its own.
  template <class F>
  void for_each(std::size_t count, F&& body) {
    std::atomic<std::size_t> next = 0;
    parallel_for(std::min(slots_.size(), count), [&](std::size_t slot) {
      for (std::size_t i = next++; i < count; i = next++) body(slots_[slot], i);
    });
  }

  cost::Predictor& predictor(Slot& slot, int cluster) const {
    const auto c = static_cast<std::size_t>(cluster);
    if (!slot[c]) slot[c] = std::make_unique<cost::Predictor>(model_, clusters_[c], basis_, 256);
    return *slot[c];
  }

  bool stopped() const { return options_.stop && options_.stop(); }

  void list_families() {
    for (std::size_t c = 0; c < spaces_.size(); ++c) {
      for (const Family& family : spaces_[c].families())
        work_.push_back({static_cast<int>(c), &family, {}, 0});
      for (std::size_t rule = 0; rule < result_.unbuildable.size(); ++rule)
        result_.unbuildable[rule] += spaces_[c].unbuildable()[rule];
    }
    // Neighboring candidates share most of their tables, so one thread evaluates many in a row.
    constexpr std::size_t kRow = 64;
    for_each((work_.size() + kRow - 1) / kRow, [&](Slot& slot, std::size_t row) {
      for (std::size_t i = row * kRow; i < std::min(work_.size(), (row + 1) * kRow); ++i)
        bound(slot, work_[i]);
    });
    for (const Work& work : work_) result_.space += work.count;
    const auto first = static_cast<std::size_t>(options_.objectives.front());
    std::stable_sort(work_.begin(), work_.end(),
                     [&](const Work& a, const Work& b) { return a.bound[first] < b.bound[first]; });
  }

  void bound(Slot& slot, Work& work) const {
    const Space& space = spaces_[work.cluster];
    if (options_.counts) work.count = space.count(*work.family);
    plan::Degrees d = work.family->degrees;
    std::vector<bool> flags;
    space.tensor_overlaps(*work.family, flags);
    d.tensor_overlap = !flags.empty() && flags.front();
    const cost::Predictor::Bound least = predictor(slot, work.cluster).bound(d);
    for (int i = 0; i < kNumObjectives; ++i)
      work.bound[i] =
          value_of(static_cast<Objective>(i), least.step, least.busy, rates_[work.cluster]);
  }

  void run_wave(std::size_t begin, std::size_t end) {
    std::vector<FamilyResult> results(end - begin);
    std::atomic<bool> stop = false;
    for_each(results.size(), [&](Slot& slot, std::size_t i) {
      const Work& work = work_[begin + i];
      if (stop || (i % 8 == 0 && stopped())) {
        stop = true;
        return;
      }
      const Judge judge{&options_, rates_[work.cluster], &keeper_, work.cluster};
      if (keeper_.beyond(work.bound, work.cluster, work.family->degrees))
        results[i].pruned = work.count;
      else
        results[i] =
            evaluate(*work.family, spaces_[work.cluster], predictor(slot, work.cluster), judge);
    });
    if (stop) result_.complete = false;
    for (FamilyResult& own : results) take(own);
    if (options_.progress) {
      std::optional<double> best;
      if (!keeper_.all().empty())
        best = keeper_.all().front().values[static_cast<std::size_t>(options_.objectives.front())];
      options_.progress(result_.evaluated + result_.pruned, result_.space, best);
    }
  }

  void take(FamilyResult& own) {
    for (const Candidate& candidate : own.kept) keeper_.offer(candidate);
    result_.evaluated += own.evaluated;
    result_.pruned += own.pruned;
    result_.too_much_memory += own.too_much_memory;
    result_.too_much_beyond += own.too_much_beyond;
    result_.not_accepted += own.not_accepted;
    if (own.beyond > 0 && (result_.beyond == 0 || own.beyond < result_.beyond))
      result_.beyond = own.beyond;
    if (own.left_out &&
        (!result_.left_out || own.left_out->prediction.step < result_.left_out->prediction.step))
      result_.left_out = own.left_out;
    if (own.nearest && (!result_.nearest || own.nearest->prediction.memory.total <
                                                result_.nearest->prediction.memory.total))
      result_.nearest = own.nearest;
  }

  const model::Model& model_;
  const std::vector<cluster::Cluster>& clusters_;
  const cost::Basis& basis_;
  const SearchOptions& options_;
  Keeper keeper_;
  std::vector<Space> spaces_;
  std::vector<Rates> rates_;
  std::vector<Slot> slots_;
  std::vector<Work> work_;
  SearchResult result_;
};

}  // namespace

SearchResult search(const model::Model& model, const std::vector<cluster::Cluster>& clusters,
                    const cost::Basis& basis, const Choices& choices,
                    const SearchOptions& options) {
  return Search(model, clusters, basis, choices, options).run();
}

}  // namespace nereus::search
