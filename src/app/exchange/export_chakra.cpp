#include "app/exchange/export_chakra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "app/exchange/write_folder.hpp"
#include "app/predict/predict_plan.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "base/write_file.hpp"
#include "chakra/write_chakra.hpp"
#include "plan/expand.hpp"

namespace nereus::app {

namespace {

namespace fs = std::filesystem;

// A file's name: letters, digits and -_. of the model's name.
std::string file_name(const std::string& model) {
  std::string name;
  for (const char c : model)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.'
                ? c
                : '_';
  return name.empty() || name[0] == '.' ? "model" + name : name;
}

ResolvedPlan regular_plan(const std::string& file) {
  ResolvedPlan plan = resolve({.plan_file = file});
  if (!plan.degrees) plan.degrees = plan::as_regular(plan.placement, plan.model);
  if (!plan.degrees || !plan.cluster.uniform())
    throw_input_error("chakra.irregular",
                      "Chakra traces can only be written for regular plans on clusters with one "
                      "kind of node",
                      {file}, "nereus plan finds regular plans");
  return plan;
}

std::vector<int> checked_ranks(std::vector<int> ranks, int num_ranks) {
  if (ranks.empty()) {
    ranks.resize(static_cast<std::size_t>(num_ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  for (const int rank : ranks)
    if (rank < 0 || rank >= num_ranks)
      throw_input_error(
          "chakra.rank",
          fmt::format("the plan has {1} and no rank {0}", rank, counted(num_ranks, "rank")), {},
          fmt::format("0..{}", num_ranks - 1));
  return ranks;
}

void refuse_much(const ChakraRequest& request, std::size_t files, const char* about, double bytes) {
  if (request.yes || bytes <= static_cast<double>(request.most)) return;
  throw_input_error(
      "chakra.large",
      fmt::format("{} would take {}{}", counted(files, "trace"), about, format_bytes(Bytes{bytes})),
      {},
      "--yes writes them; --ranks 0..7 writes only some; fewer micro-batches make them smaller");
}

// A lower bound from the compute nodes, so that exports that are far too large are rejected before
// a graph is built: a forward and a backward node per layer and micro-batch, at least 60 bytes
// each.
double least_bytes(const ResolvedPlan& plan, std::size_t files) {
  const plan::Degrees& d = *plan.degrees;
  const double nodes =
      2.0 * plan.model.num_layers() * d.num_micro_batches() / d.pp * static_cast<double>(files);
  return 60 * nodes;
}

}  // namespace

ChakraAnswer export_chakra(const ChakraRequest& request,
                           const std::function<void(const ChakraAnswer&)>& before) {
  const ResolvedPlan plan = regular_plan(request.plan_file);
  ChakraAnswer answer{request.directory, file_name(plan.model.name),
                      checked_ranks(request.ranks, plan.degrees->num_ranks()),
                      plan.degrees->num_ranks()};
  refuse_much(request, answer.ranks.size(), "at least ", least_bytes(plan, answer.ranks.size()));
  const chakra::ChakraStep step =
      chakra::make_step(plan.model, plan.cluster, plan.basis, *plan.degrees);
  answer.num_nodes = step.num_nodes(answer.ranks);
  answer.num_bytes = step.num_bytes(answer.ranks);
  refuse_much(request, answer.ranks.size(), "", static_cast<double>(answer.num_bytes));
  if (before) before(answer);
  std::int64_t written = 0;
  write_folder(request.directory, [&](const fs::path& folder) {
    for (const int rank : answer.ranks) {
      const std::string bytes = step.trace(rank);
      written += static_cast<std::int64_t>(bytes.size());
      write_file((folder / fmt::format("{}.{}.et", answer.prefix, rank)).string(), bytes);
    }
    write_file((folder / "comm_groups.json").string(), step.groups.json());
  });
  answer.num_bytes = written;
  return answer;
}

}  // namespace nereus::app
