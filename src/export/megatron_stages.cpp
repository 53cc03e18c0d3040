#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/format.hpp"
#include "export/megatron.hpp"

namespace nereus::exporting {

std::vector<int> megatron_stages(Flags& flags, int all, int further, plan::Degrees& d,
                                 Reading& reading) {
  const int layers = all - further;
  if (flags.has("--pipeline-model-parallel-layout")) {
    const std::string text = flags.text("--pipeline-model-parallel-layout");
    const std::optional<std::vector<int>> blocks = blocks_of_layout(text);
    const int stages = blocks ? static_cast<int>(blocks->size()) : 0;
    int sum = 0;
    for (int b : blocks.value_or(std::vector<int>{})) sum += b;
    if (stages == 0 || stages % d.pp != 0 || sum != all) {
      flags.fail(
          "--pipeline-model-parallel-layout", "import.plan",
          fmt::format("the layout '{}' has {} and {}; {} over a multiple of {} were expected", text,
                      counted(stages, "stage"), counted(sum, "layer"), counted(all, "layer"),
                      counted(d.pp, "stage")));
      return {};
    }
    d.interleave = stages / d.pp;
    return *blocks;
  }
  d.interleave = flags.whole("--num-virtual-stages-per-pipeline-rank", 1, 1);
  const int embedding = flags.has("--account-for-embedding-in-pipeline-split") ? 1 : 0;
  const int loss = flags.has("--account-for-loss-in-pipeline-split") ? 1 : 0;
  if (const int each = flags.whole("--num-layers-per-virtual-pipeline-stage", 0, 1); each > 0)
    d.interleave = std::max(1, (layers + embedding + loss) / d.pp / each);
  if (d.pp == 1 || double(d.pp) * d.interleave > double(layers) + 2) return {};
  const int v = d.interleave;
  const bool first_given = flags.has("--decoder-first-pipeline-num-layers");
  const bool last_given = flags.has("--decoder-last-pipeline-num-layers");
  std::vector<int> ranks(static_cast<std::size_t>(d.pp), 0);
  if (first_given || last_given) {
    int left = layers;
    int others = d.pp;
    if (first_given) {
      left -= ranks.front() = flags.whole("--decoder-first-pipeline-num-layers", 0);
      --others;
    }
    if (last_given) {
      left -= ranks.back() = flags.whole("--decoder-last-pipeline-num-layers", 0);
      --others;
    }
    if (left < 0 || (others > 0 ? left % others != 0 : left != 0)) {
      flags.fail(first_given ? "--decoder-first-pipeline-num-layers"
                             : "--decoder-last-pipeline-num-layers",
                 "import.plan",
                 fmt::format("the other {} cannot share {} equally", counted(others, "stage"),
                             counted(left, "layer")));
      return {};
    }
    for (int p = 0; p < d.pp; ++p)
      if (!(first_given && p == 0) && !(last_given && p + 1 == d.pp))
        ranks[p] = left / std::max(1, others);
  } else {
    const int total = layers + embedding + loss;
    if (total % (d.pp * v) != 0) {
      // Megatron-DeepSpeed divides by a method of its own; Megatron-LM refuses.
      if (flags.has("--deepspeed"))
        reading.assumed.push_back(
            {fmt::format("{} distributed over {} by the rule of plans",
                         counted(layers, "layer is", "layers are"), counted(d.pp * v, "stage"))});
      else
        flags.fail("--pipeline-model-parallel-size", "import.plan",
                   fmt::format("{} not divide by {} stages, which Megatron-LM refuses",
                               counted(total, "layer does", "layers do"), d.pp * v),
                   "distribute them by --pipeline-model-parallel-layout");
      return {};
    }
    for (int& rank : ranks) rank = total / d.pp;
  }
  std::vector<int> blocks;
  for (int s = 0; s < d.pp * v; ++s) blocks.push_back(ranks[s % d.pp] / v);
  blocks.front() -= embedding;
  blocks.back() += further - loss;
  if (std::accumulate(blocks.begin(), blocks.end(), 0) != all || blocks.front() < 0 ||
      blocks.back() < 0)
    flags.fail("--pipeline-model-parallel-size", "import.plan",
               fmt::format("{} virtual stages on a rank do not divide its layers", v));
  return blocks;
}

}  // namespace nereus::exporting
