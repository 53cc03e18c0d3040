#include "worker/elastic/newest_checkpoint.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>

#include "base/error.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "worker/device/torch_compat.hpp"

namespace nereus::worker {

namespace {

void start_afresh(Life& life) {
  for (Optimizer::Slot& slot : life.executor->optimizer().slots()) {
    slot.state->start_afresh();
    slot.first.zero_();
    if (slot.second.defined()) slot.second.zero_();
    if (NormStatistics* norm = slot.state->statistics()) {
      norm->running[0].zero_();
      norm->running[1].fill_(1);
      norm->num_batches = 0;
    }
    slot.state->store_update();
  }
}

}  // namespace

std::int64_t read_newest(Life& life, job::ElasticMessage& started, const Remark& remark) {
  std::map<std::int64_t, std::string> folders;
  const job::Checkpoint& where = life.job.checkpoint;
  for (const std::string& folder : {where.resume, where.folder}) {
    if (folder.empty()) continue;
    // In the job's folder: may be from ranks that were cut off and continued to train unnoticed.
    const bool bounded = folder == where.folder && life.most_done >= 0;
    const auto take = [&](std::int64_t step, const std::string& path) {
      if (!bounded || step <= life.most_done) folders[step] = path;
    };
    if (const auto one = checkpoint::find_latest(folder); one && *one == folder)
      take(checkpoint::Checkpoint(folder).manifest().progress.step, folder);
    else
      for (const auto& [step, path] : checkpoint::list_checkpoints(folder)) take(step, path);
  }
  std::int64_t below = std::numeric_limits<std::int64_t>::max();
  while (true) {
    const auto found = folders.lower_bound(below);
    const std::int64_t step =
        from_first(*life.comm, found == folders.begin() ? -1 : std::prev(found)->first);
    if (step < 0) break;
    bool read = false;
    try {
      read =
          folders.contains(step) && read_saved(life.job, folders.at(step), *life.executor) == step;
    } catch (const Errors& errors) {
      remark(fmt::format("the checkpoint of step {} is not read: {}", step,
                         errors.list().front().message));
    }
    if (count_votes(*life.comm, read) == life.num_ranks) {
      started.saved_step = step;
      started.saved_bytes = static_cast<double>(life.state_bytes());
      return step;
    }
    below = step;
  }
  start_afresh(life);
  return 0;
}

}  // namespace nereus::worker
