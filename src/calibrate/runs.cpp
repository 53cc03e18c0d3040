#include "calibrate/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "calibrate/derive_plan.hpp"
#include "calibrate/evaluate_runs.hpp"
#include "calibrate/row_model.hpp"
#include "calibrate/row_stack.hpp"
#include "calibrate/run_row.hpp"
#include "calibrate/sites.hpp"
#include "cluster/catalogue.hpp"
#include "cluster/this_machine.hpp"
#include "spec/quantity.hpp"
#include "stack/stack_file.hpp"

namespace nereus::calibrate {

namespace {

// Sizes that a row must state unless it names a model of the catalog.
constexpr const char* kSizes[] = {"layers", "hidden", "heads"};

plan::Degrees degrees_of(Row& row, const cost::RunDefaults& defaults) {
  plan::Degrees d;
  d.tp = row.count("tp", 1);
  d.pp = row.count("pp", 1, 1, 10'000);
  d.cp = row.count("cp", 1);
  d.ep = row.count("ep", 1);
  d.dp = row.count("dp", 1);
  d.table_split = *plan::parse_table_split(row.word("table_split", plan::to_string(d.table_split),
                                                    {"table", "lookups", "row", "column"}));
  if (defaults.expert_tensor && !row.blank("experts")) d.expert_tp = d.tp;
  d.interleave = d.pp > 1 ? row.count("vpp", defaults.interleave, 1, 100'000 / d.pp) : 1;
  if (d.interleave > 1) d.schedule = plan::Schedule::kInterleaved;
  d.micro_batch = row.count("micro_batch", 1);
  d.global_batch = row.count("global_batch", 1);
  d.recompute = *plan::parse_recompute(
      row.word("recompute", plan::to_string(defaults.recompute), {"none", "selective", "full"}));
  d.sequence_parallel = d.tp > 1 && row.yes("sequence_parallel", defaults.sequence_parallel);
  d.tensor_overlap = d.tp > 1 && row.yes("tp_overlap", defaults.tensor_overlap);
  if (row.text("zero") == "HSDP") {
    d.zero = 3;  // sharded inside a node, copied between nodes; the node's size is filled in later
    d.zero_group = -1;
  } else {
    d.zero = row.count("zero", defaults.zero, 0, 3);
  }
  return d;
}

// Seconds of one step, or 0 if the metric does not give one.
double measured_step(Row& row, const Run& run, const cluster::Device& device, double gpus) {
  const std::string_view metric = row.text("metric");
  const double value = row.number("value");
  const plan::Degrees& d = run.degrees;
  if (value <= 0 || gpus <= 0) return 0;
  const double flops = run.model->training_flops() * d.global_batch;
  const double with_recompute = flops * (d.recompute == plan::Recompute::kFull ? 4.0 / 3 : 1);
  if (metric == "iteration_s") return value;
  if (metric == "samples_per_s") return d.global_batch / value;
  if (metric == "tokens_per_s_per_gpu")
    return run.model->tokens_per_sample * d.global_batch / (value * gpus);
  if (metric == "tflops_per_gpu") {
    if (const double reported = row.number("iteration_s_reported"); reported > 0) return reported;
    return with_recompute / (value * 1e12 * gpus);
  }
  const double peak = device.peak_of(d.precision).value * gpus;
  if (metric == "mfu") return flops / (value / 100 * peak);
  if (metric == "hfu") return with_recompute / (value / 100 * peak);
  return 0;
}

std::string join_cells(const Row& row, std::initializer_list<const char*> columns) {
  std::string key;
  for (const char* column : columns) key += std::string(row.text(column)) + "|";
  return key;
}

// Whether the row states what a job gets done in a second. That is published of the plan that
// serves the job best; a step's time, its TFLOP/s or MFU are of one plan, which must be stated.
bool is_throughput(std::string_view metric) {
  return metric == "samples_per_s" || metric == "tokens_per_s_per_gpu";
}

class Builder {
 public:
  Builder(const cost::StackLibrary& library, const std::string& fallback)
      : library_(library), fallback_(fallback) {}

  // The run, or the reason why the row is no use.
  std::optional<Run> build(Row row, const std::string& set, std::string& why) {
    why = "";
    Run run;
    run.set = set;
    run.model_name = row.text("model");
    run.failed = row.text("metric") == "failed";
    run.recompute_stated = !row.blank("recompute");
    run.suspect = row.text("suspect");
    if (!find_machine(row, run, why) || !find_model(row, run, why) || !find_plan(row, run, why) ||
        !find_measured(row, run, why))
      return std::nullopt;
    run.ranking_group = set + "|" + run.stack + "|" +
                        join_cells(row, {"model", "layers", "hidden", "seq", "gpu", "node", "gpus",
                                         "global_batch", "precision", "framework"});
    run.suite = set + "|" + run.model_name;
    return run;
  }

 private:
  static bool skip(std::string& why, std::string reason) {
    why = std::move(reason);
    return false;
  }

  // Devices and their node; the cluster is made once the stack's site is known.
  bool find_machine(Row& row, Run& run, std::string& why) {
    node_ = nullptr;
    device_ = nullptr;
    own_.reset();
    if (RowModels::named(row) == nullptr) {
      if (!row.has("layers")) return skip(why, fmt::format("unknown model {}", row.text("model")));
      for (const char* size : kSizes)
        if (row.blank(size)) return skip(why, fmt::format("{} not stated", size));
    }
    if (!row.blank("task") && row.text("task") != "pretrain") return skip(why, "not pre-training");
    const auto& catalogue = cluster::builtin_catalogue();
    if (!row.blank("node") && cluster::own_device_kind(row.text("gpu")).empty()) {
      node_ = catalogue.find_node(row.text("node"));
      if (node_ == nullptr) return skip(why, fmt::format("unknown node {}", row.text("node")));
    }
    gpus_ = row.count("gpus", 1);
    if (row.blank("gpus")) {
      if (node_ == nullptr || row.blank("nodes")) return skip(why, "gpus not stated");
      gpus_ = node_->num_devices * row.count("nodes", 1, 1, 1'000'000);
      run.derived.emplace_back("gpus");
    }
    // Rows of `nereus train --record` on an unnamed machine.
    if (const std::string_view kind = cluster::own_device_kind(row.text("gpu")); !kind.empty()) {
      own_ = cluster::this_machine(gpus_, kind);
      node_ = &own_->groups.front().node;
      device_ = &node_->device;
    } else if (!row.blank("gpu")) {
      device_ = catalogue.find_device(row.text("gpu"));
      if (device_ == nullptr) return skip(why, fmt::format("unknown device {}", row.text("gpu")));
    } else {
      if (node_ == nullptr) return skip(why, "gpu not stated");
      device_ = &node_->device;
      run.derived.emplace_back("gpu");
    }
    if (node_ == nullptr) node_ = reference_node(*device_, gpus_);
    if (node_ == nullptr)
      return skip(why,
                  fmt::format("no reference node of {}: name one in a column node", device_->name));
    if (row.blank("precision")) return skip(why, "precision not stated");
    const auto stated = catalogue.find_precision(row.text("precision"));
    if (!stated) return skip(why, fmt::format("unknown precision {}", row.text("precision")));
    precision_ = *stated;
    if (!device_->has(precision_))
      return skip(why, fmt::format("{} has no {}", device_->name, cluster::to_string(precision_)));
    return true;
  }

  bool find_model(Row& row, Run& run, std::string& why) {
    run.stack = stack_of(row, library_, fallback_);
    const bool named = RowModels::named(row) != nullptr;
    if (row.blank("seq") && !named) {
      if (RowModels::usual_seq(row) == 0) return skip(why, "seq not stated");
      run.derived.emplace_back("seq");
    }
    run.model = models_.of(row, library_.stacks.find(run.stack)->second.defaults);
    if (!run.model) return skip(why, "not a model that can be");
    // Models with tables have a default of their own, as in `predict`.
    const std::string usual = cost::default_stack(*run.model, *device_);
    if (run.model->table_layer() >= 0 && row.blank("stack") && library_.has(usual))
      run.stack = variant_of(usual, row, library_);
    if (named && row.blank("seq") && run.model->tokens_per_sample > 0)
      run.derived.emplace_back("seq");
    return true;
  }

  bool find_cluster(Row& row, Run& run, std::string& why) {
    run.site = library_.site_of_set(run.set);
    const auto* site = run.site.empty() ? nullptr : &library_.sites.find(run.site)->second;
    run.cluster = own_ ? *own_ : cluster_of(*node_, *device_, gpus_, site);
    cluster::Node& node = run.cluster.groups.front().node;
    if (!row.blank("network")) {
      const auto rate = spec::parse_bytes_per_second(row.text("network"));
      if (!rate.value || rate.value->value <= 0)
        return skip(why, "network is no rate like 100 Gbit/s");
      node.network = *rate.value;
      if (node.network_kind == cluster::LinkKind::kOther) {
        node.network_kind = cluster::LinkKind::kEthernet;
        node.network_latency = cluster::builtin_catalogue()
                                   .usual_latency(cluster::LinkKind::kEthernet)
                                   .value_or(Seconds{});
      }
    }
    const int slices = row.count("slices", 1);
    if (slices > 1) {
      if (gpus_ % slices != 0) return skip(why, "slices do not divide the devices");
      node.nvlink_domain = gpus_ / slices;
    }
    if (gpus_ > std::max(node.num_devices, node.domain()) && node.network.value <= 0)
      return skip(why, fmt::format("{} has no network", node.name));
    return true;
  }

  bool find_plan(Row& row, Run& run, std::string& why) {
    if (!find_cluster(row, run, why)) return false;
    const cost::StackEntry& stack = library_.stacks.find(run.stack)->second;
    run.attention = row.blank("attention")               ? stack.options.attention
                    : row.text("attention") == "unfused" ? plan::Attention::kUnfused
                                                         : plan::Attention::kFlash;
    plan::Degrees& d = run.degrees;
    d = degrees_of(row, stack.defaults);
    d.precision = precision_;
    if (!row.bad().empty()) return skip(why, row.bad());
    const bool flat = row.blank("tp") && row.blank("pp") && row.blank("dp");
    Open open;
    open.micro_batch = row.blank("micro_batch");
    open.global_batch = row.blank("global_batch");
    if (!is_throughput(row.text("metric"))) {
      const bool layout = RowModels::named(row) == nullptr;
      for (const char* column : {"tp", "pp", "dp", "micro_batch", "global_batch"})
        if (row.blank(column) && (layout || std::string_view(column).ends_with("batch")))
          return skip(why, fmt::format("{} not stated", column));
    }
    // Software that is not known documents no default.
    open.recompute = row.blank("recompute") && !library_.has(row.text("stack")) &&
                     !row.blank("stack") && run.model->transformer.has_value();
    if (!share_devices(row, run, open, flat)) return skip(why, kNotTheDevices);
    copy_over_slices(row, run);
    const bool derived = !open.any() || derive_plan(run, open, gpus_, library_);
    if (!open.global_batch && static_cast<double>(d.micro_batch) * d.dp > d.global_batch)
      return skip(why, "micro_batch x dp exceeds global_batch");
    if (!derived) return skip(why, "no plan agrees with what is stated");
    return true;
  }

  // What is stated of tp, pp and dp. Some tables count expert or idle ranks differently; dp is
  // derived from the other degrees.
  bool share_devices(Row& row, Run& run, Open& open, bool flat) {
    plan::Degrees& d = run.degrees;
    const bool named = RowModels::named(row) != nullptr;
    const bool alone = named && flat && data_parallelism_fits(run);
    open.tp = row.blank("tp") && !alone;
    open.pp = row.blank("pp") && !alone;
    if (open.tp || open.pp) {
      const auto& defaults = library_.stacks.find(run.stack)->second.defaults;
      open.sequence_parallel = row.yes("sequence_parallel", defaults.sequence_parallel);
      open.tensor_overlap = row.yes("tp_overlap", defaults.tensor_overlap);
      open.expert_tensor = defaults.expert_tensor && !row.blank("experts");
      // What dp leaves is for the open ones.
      if (!row.blank("dp") && open.tp && open.pp) open.dp = d.dp;
      if (!row.blank("dp") && open.tp != open.pp) {
        const double known = static_cast<double>(d.dp) * d.cp * (open.tp ? d.pp : d.tp);
        if (std::fmod(gpus_, known) != 0) return false;
        (open.tp ? d.tp : d.pp) = static_cast<int>(gpus_ / known);
        (open.tp ? open.tp : open.pp) = false;
      }
    }
    const double others = static_cast<double>(d.tp) * d.pp * d.cp;
    if (std::fmod(gpus_, others) != 0) return false;
    d.dp = static_cast<int>(gpus_ / others);
    return true;
  }

  // Of models of the catalog, data parallelism alone is what is meant; but it may not be possible.
  bool data_parallelism_fits(const Run& run) const {
    if (!run.model->transformer || !run.model->transformer->causal) return true;
    plan::Degrees d = run.degrees;
    d.dp = gpus_ / d.cp;
    return PredictorOf(run, library_).predict(d).fits;
  }

  void copy_over_slices(const Row& row, Run& run) {
    plan::Degrees& d = run.degrees;
    const cluster::Node& node = run.cluster.groups.front().node;
    if (d.zero_group < 0) d.zero_group = std::min(node.num_devices, d.dp * d.cp);
    if (d.zero != 3 || row.text("zero") == "HSDP") return;
    const bool slices = node.inside.kind == cluster::LinkKind::kIci && gpus_ > node.domain();
    const int within = node.domain() / (d.tp * d.pp);
    if (!slices || within < 1 || d.dp * d.cp % within != 0) return;
    d.zero_group = within;
    run.derived.emplace_back("zero_group");
  }

  bool find_measured(Row& row, Run& run, std::string& why) {
    run.step = run.failed ? 0 : measured_step(row, run, *device_, gpus_);
    if (run.step > 0 && (run.step < 1e-9 || run.step > 1e9))
      return skip(why, "measured step time is absurd");
    run.memory = row.number("mem_gib_reported") * kGiB;
    if (run.memory < 0 || run.memory > 1e18) return skip(why, "mem_gib_reported is absurd");
    if (!row.bad().empty()) return skip(why, row.bad());
    if (!run.failed && run.step <= 0)
      return skip(why, fmt::format("metric {} gives no step time", row.text("metric")));
    return true;
  }

  static constexpr const char* kNotTheDevices = "tp x pp x dp x cp is not the number of devices";

  const cost::StackLibrary& library_;
  const std::string& fallback_;
  RowModels models_;
  // Of the row that is being built.
  const cluster::Node* node_ = nullptr;
  const cluster::Device* device_ = nullptr;
  std::optional<cluster::Cluster> own_;
  cluster::Precision precision_ = cluster::Precision::kBf16;
  int gpus_ = 0;
};

}  // namespace

RunTable parse_runs(const spec::Csv& csv, const std::string& default_set,
                    const cost::StackLibrary& library, const std::string& fallback_stack) {
  // What no row can do without; a machine may be named by its device or its node.
  std::vector<std::string> columns = {"model", "metric", "value"};
  columns.emplace_back(csv.find("node") >= 0 && csv.find("gpu") < 0 ? "node" : "gpu");
  columns.emplace_back(csv.find("nodes") >= 0 && csv.find("gpus") < 0 ? "nodes" : "gpus");
  if (csv.find("layers") >= 0) columns.insert(columns.end(), {"hidden", "heads"});
  csv.require_all(columns);
  RunTable table;
  Builder builder(library, fallback_stack);
  const int set_column = csv.find("set");
  for (const spec::CsvRow& cells : csv.rows) {
    ++table.rows;
    const std::string& own = csv.cell(cells, set_column);
    std::string why;
    std::optional<Run> run = builder.build(Row(csv, cells), own.empty() ? default_set : own, why);
    if (!run) {
      ++table.skipped[why];
      continue;
    }
    run->file = csv.file;
    run->line = cells.line;
    for (const std::string& column : run->derived) ++table.derived[column];
    table.runs.push_back(std::move(*run));
  }
  return table;
}

RunTable read_runs(const std::string& path, const cost::StackLibrary& library,
                   const std::string& fallback_stack) {
  return parse_runs(spec::read_csv(path), std::filesystem::path(path).stem().string(), library,
                    fallback_stack);
}

bool Run::plan_assumed() const {
  return std::any_of(derived.begin(), derived.end(), [](const std::string& column) {
    return column != "zero_group" && column != "recompute" && column != "gpus" && column != "gpu";
  });
}

std::string reasons(const RunTable& table) {
  std::string text;
  for (const auto& [why, count] : table.skipped)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, why);
  return text.empty() ? "no rows" : text;
}

void append(RunTable& into, RunTable&& more) {
  into.rows += more.rows;
  for (Run& run : more.runs) into.runs.push_back(std::move(run));
  for (const auto& [why, count] : more.skipped) into.skipped[why] += count;
  for (const auto& [column, count] : more.derived) into.derived[column] += count;
}

}  // namespace nereus::calibrate
