#include "api/reports/plan_text.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "api/reports/prediction_report.hpp"
#include "base/format.hpp"

namespace nereus::api {

std::string layout_text(const plan::Degrees& d) {
  std::string text = fmt::format("tp {} pp {} dp {}", d.tp, d.pp, d.dp);
  if (d.cp > 1) text += fmt::format(" cp {}", d.cp);
  if (d.ep > 1) text += fmt::format(" ep {}", d.ep);
  if (d.ep > 1 && d.table_split != plan::TableSplit::kTable)
    text += fmt::format(" by {}", to_string(d.table_split));
  return text;
}

std::string manner_text(const plan::Degrees& d) {
  std::vector<std::string> list = {
      fmt::format("micro-batch {} x {}", d.micro_batch, d.num_micro_batches())};
  if (d.interleave > 1) list.push_back(fmt::format("{} virtual stages", d.interleave));
  if (d.pp > 1 && d.schedule != plan::Schedule::k1f1b && d.schedule != plan::Schedule::kInterleaved)
    list.emplace_back(to_string(d.schedule));
  if (d.recompute_blocks > 0)
    list.push_back(fmt::format("recompute {} per stage", counted(d.recompute_blocks, "block")));
  else if (d.recompute != plan::Recompute::kNone)
    list.push_back(fmt::format("{} recompute", to_string(d.recompute)));
  if (d.cp > 1 && d.context == plan::ContextKind::kAllToAll)
    list.emplace_back("context by all-to-all");
  if (d.zero > 0)
    list.push_back(d.zero_group > 0 ? fmt::format("ZeRO-{} in groups of {}", d.zero, d.zero_group)
                                    : fmt::format("ZeRO-{}", d.zero));
  if (d.expert_tp > 1) list.push_back(fmt::format("expert tp {}", d.expert_tp));
  for (const auto& [share, what] :
       {std::pair{d.offload.optimizer, "optimizer"}, std::pair{d.offload.weights, "weights"},
        std::pair{d.offload.activations, "activations"}}) {
    if (share <= 0) continue;
    const std::string part = share < 1 ? fmt::format("{:.3g} % of {}", 100 * share, what) : what;
    list.push_back(fmt::format("{} {}", part, tier_text(d.offload.tier)));
  }
  if (d.tp > 1 && !d.sequence_parallel) list.emplace_back("no sequence parallelism");
  return fmt::format("{}", fmt::join(list, ", "));
}

}  // namespace nereus::api
