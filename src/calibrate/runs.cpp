#include "calibrate/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "calibrate/known_models.hpp"
#include "calibrate/run_row.hpp"
#include "calibrate/sites.hpp"
#include "cluster/catalogue.hpp"
#include "cluster/this_machine.hpp"
#include "model/read/load_model.hpp"
#include "stack/stack_file.hpp"

namespace nereus::calibrate {

namespace {

using model::TransformerShape;

// What a row must state; a model of the catalog has a shape, and data parallelism needs no degrees.
struct Required {
  const char* column;
  bool if_named;
};
constexpr Required kRequired[] = {
    {"layers", false}, {"hidden", false},     {"heads", false},       {"seq", false},
    {"gpu", true},     {"gpus", true},        {"tp", false},          {"pp", false},
    {"dp", false},     {"micro_batch", true}, {"global_batch", true}, {"precision", true}};

// "2025-02" as "25.02": releases are compared as text.
std::string release_of(std::string_view date) {
  if (date.size() >= 7 && date.starts_with("20") && date[4] == '-')
    return std::string(date.substr(2, 2)) + "." + std::string(date.substr(5, 2));
  return std::string(date);
}

// The stack that a row's columns name. A stack may have variants for certain releases, and for rows
// with a certain column set.
std::string variant_of(std::string name, const Row& row, const cost::StackLibrary& library) {
  if (const std::string release = release_of(row.text("software_date")); !release.empty()) {
    std::string newest = name;
    for (const auto& [from, stack] : library.stacks.find(name)->second.releases)
      if (from <= release && library.has(stack)) newest = stack;
    name = newest;
  }
  for (const auto& [column, variant] : library.stacks.find(name)->second.variants) {
    const std::size_t equals = column.find('=');
    const std::string value = equals == std::string::npos ? "yes" : column.substr(equals + 1);
    if (row.text(column.substr(0, equals)) == value && library.has(variant)) return variant;
  }
  return name;
}

std::string stack_of(const Row& row, const cost::StackLibrary& library,
                     const std::string& fallback) {
  const std::string name(row.text("stack"));
  return library.has(name) ? variant_of(name, row, library) : fallback;
}

TransformerShape shape_of(Row& row, const cost::RunDefaults& defaults, bool gated) {
  TransformerShape shape;
  shape.name = row.text("model");
  shape.layers = row.count("layers", 0, 1, 100'000);
  shape.hidden = row.count("hidden", 0, 1, 1'000'000);
  shape.heads = row.count("heads", 0);
  shape.kv_heads = row.count("kv_heads", shape.heads);
  shape.seq = row.count("seq", 0);
  shape.vocab = row.count("vocab", defaults.vocab);
  shape.gated_mlp = gated;
  shape.ffn = row.count("ffn", 4 * shape.hidden);
  shape.family = shape.gated_mlp ? "llama" : "gpt";
  shape.tied_embeddings = row.yes("tied_embeddings", !shape.gated_mlp && defaults.tied_embeddings);
  shape.bias = !shape.gated_mlp && defaults.bias;
  shape.norm = shape.gated_mlp ? model::NormKind::kRmsNorm : model::NormKind::kLayerNorm;
  shape.position = shape.gated_mlp ? model::PositionKind::kRotary : model::PositionKind::kLearned;
  shape.experts = row.count("experts", 0, 0);
  shape.top_k = row.count("top_k", 0, 0);
  shape.expert_ffn = row.count("expert_ffn", 0, 0);
  shape.shared_experts = row.count("shared_experts", 0, 0);
  shape.dense_layers = row.count("dense_layers", 0, 0);
  shape.q_lora = row.count("q_lora", 0, 0);
  shape.kv_lora = row.count("kv_lora", 0, 0);
  return shape;
}

// A blank `mlp` means the kind whose number of parameters is nearer to the stated one; a plain MLP
// if that is blank too.
std::shared_ptr<const model::Model> build_model(Row& row, const cost::RunDefaults& defaults) {
  if (const auto known = known_shape(shape_of(row, defaults, true), row.text("model"))) {
    TransformerShape shape = *known;
    if (!row.blank("vocab")) shape.vocab = row.count("vocab", shape.vocab);
    if (!row.blank("ffn") && shape.ffn > 0) shape.ffn = row.count("ffn", shape.ffn);
    if (!row.blank("tied_embeddings"))
      shape.tied_embeddings = row.yes("tied_embeddings", shape.tied_embeddings);
    return std::make_shared<model::Model>(build_transformer(shape));
  }
  const bool gated = row.word("mlp", "plain", {"plain", "gated"}) == "gated";
  auto model = std::make_shared<model::Model>(build_transformer(shape_of(row, defaults, gated)));
  const double stated = row.number("params_b") * 1e9;
  if (!row.blank("mlp") || stated <= 0) return model;
  auto other = std::make_shared<model::Model>(build_transformer(shape_of(row, defaults, !gated)));
  const auto distance = [&](const model::Model& m) { return std::abs(m.parameters() - stated); };
  return distance(*other) < distance(*model) ? other : model;
}

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
double measured_step(Row& row, const Run& run, const cluster::Device& device) {
  const std::string_view metric = row.text("metric");
  const double value = row.number("value");
  const double gpus = row.number("gpus");
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

class Builder {
 public:
  Builder(const cost::StackLibrary& library, const std::string& fallback)
      : library_(library), fallback_(fallback) {}

  // The run, or the reason why the row is no use.
  std::optional<Run> build(Row row, const std::string& set, std::string& why) {
    const bool named = is_named(row);
    if (!named && !row.has("layers"))
      return skip(why, fmt::format("unknown model {}", row.text("model")));
    for (const Required& required : kRequired)
      if ((required.if_named || !named) && row.blank(required.column))
        return skip(why, fmt::format("{} not stated", required.column));
    if (!row.blank("task") && row.text("task") != "pretrain") return skip(why, "not pre-training");
    const auto& catalogue = cluster::builtin_catalogue();
    const int gpus = row.count("gpus", 1);
    // Rows of `nereus train --record` on an unnamed machine.
    std::optional<cluster::Cluster> own;
    if (const std::string_view kind = cluster::own_device_kind(row.text("gpu")); !kind.empty())
      own = cluster::this_machine(gpus, kind);
    const cluster::Device* device =
        own ? &own->groups.front().node.device : catalogue.find_device(row.text("gpu"));
    if (device == nullptr) return skip(why, fmt::format("unknown device {}", row.text("gpu")));
    const auto precision = catalogue.find_precision(row.text("precision"));
    if (!precision) return skip(why, fmt::format("unknown precision {}", row.text("precision")));
    if (!device->has(*precision))
      return skip(why, fmt::format("{} has no {}", device->name, cluster::to_string(*precision)));

    Run run;
    run.set = set;
    run.model_name = row.text("model");
    run.stack = stack_of(row, library_, fallback_);
    if (named) {
      run.model = named_model(row);
      if (!run.model) return skip(why, "not a model that can be");
      // Models with tables have a default of their own, as in `predict`.
      const std::string usual = cost::default_stack(*run.model, *device);
      if (run.model->table_layer() >= 0 && row.blank("stack") && library_.has(usual))
        run.stack = variant_of(usual, row, library_);
    }
    run.site = library_.site_of_set(set);
    const cost::StackEntry& stack = library_.stacks.find(run.stack)->second;
    run.attention = row.blank("attention")               ? stack.options.attention
                    : row.text("attention") == "unfused" ? plan::Attention::kUnfused
                                                         : plan::Attention::kFlash;
    run.degrees = degrees_of(row, stack.defaults);
    run.degrees.precision = *precision;
    const cluster::Node* node = nullptr;
    if (own) {
      node = &own->groups.front().node;
    } else if (!row.blank("node")) {
      node = catalogue.find_node(row.text("node"));
      if (node == nullptr) return skip(why, fmt::format("unknown node {}", row.text("node")));
    } else {
      node = reference_node(*device);
      if (node == nullptr)
        return skip(
            why, fmt::format("no reference node of {}: name one in a column node", device->name));
    }
    run.cluster =
        own ? *own
            : cluster_of(*node, *device, gpus,
                         run.site.empty() ? nullptr : &library_.sites.find(run.site)->second);
    if (const cluster::NodeGroup& group = run.cluster.groups.front();
        gpus > std::max(group.node.num_devices, group.node.domain()) &&
        group.node.network.value <= 0)
      return skip(why, fmt::format("{} has no network", group.node.name));
    try {
      if (!named) run.model = model_of(row, stack.defaults);
    } catch (const Errors&) {
      return skip(why, "not a model that can be");
    }
    if (!row.bad().empty()) return skip(why, row.bad());
    // Some tables count expert or idle ranks differently; dp is derived from the other degrees.
    plan::Degrees& d = run.degrees;
    const double others = static_cast<double>(d.tp) * d.pp * d.cp;
    if (std::fmod(gpus, others) != 0)
      return skip(why, "tp x pp x dp x cp is not the number of devices");
    d.dp = static_cast<int>(gpus / others);
    if (d.zero_group < 0)
      d.zero_group = std::min(run.cluster.groups.front().node.num_devices, d.dp * d.cp);
    if (static_cast<double>(d.micro_batch) * d.dp > d.global_batch)
      return skip(why, "micro_batch x dp exceeds global_batch");
    run.failed = row.text("metric") == "failed";
    run.recompute_stated = !row.blank("recompute");
    run.suspect = row.text("suspect");
    run.step = run.failed ? 0 : measured_step(row, run, *device);
    if (run.step > 0 && (run.step < 1e-9 || run.step > 1e9))
      return skip(why, "measured step time is absurd");
    run.memory = row.number("mem_gib_reported") * kGiB;
    if (run.memory < 0 || run.memory > 1e18) return skip(why, "mem_gib_reported is absurd");
    if (!row.bad().empty()) return skip(why, row.bad());
    if (!run.failed && run.step <= 0)
      return skip(why, fmt::format("metric {} gives no step time", row.text("metric")));
    run.ranking_group = set + "|" + run.stack + "|" +
                        join_cells(row, {"model", "layers", "hidden", "seq", "gpu", "node", "gpus",
                                         "global_batch", "precision", "framework"});
    run.suite = set + "|" + run.model_name;
    return run;
  }

 private:
  static std::optional<Run> skip(std::string& why, std::string reason) {
    why = std::move(reason);
    return std::nullopt;
  }

  // Only a name of the catalog: a row that states layers describes its model itself.
  static bool is_named(const Row& row) {
    if (!row.blank("layers")) return false;
    const auto& models = model::catalogue_models();
    return std::any_of(models.begin(), models.end(),
                       [&](const auto& known) { return known.name == row.text("model"); });
  }
  // Null if the model cannot have the row's sequence length.
  std::shared_ptr<const model::Model> named_model(const Row& row) {
    auto& model = models_[join_cells(row, {"model", "seq"})];
    if (model) return model;
    model::Overrides overrides;
    if (!row.blank("seq")) overrides.emplace_back("seq", row.text("seq"));
    try {
      model = std::make_shared<model::Model>(model::load_model(row.text("model"), overrides));
    } catch (const Errors&) {
    }
    return model;
  }
  std::shared_ptr<const model::Model> model_of(Row& row, const cost::RunDefaults& defaults) {
    const std::string key =
        join_cells(row, {"model", "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "seq",
                         "mlp", "tied_embeddings", "experts", "top_k", "expert_ffn",
                         "shared_experts", "dense_layers", "q_lora", "kv_lora", "params_b"}) +
        fmt::format("{}|{}|{}", defaults.vocab, defaults.tied_embeddings, defaults.bias);
    if (const auto known = models_.find(key); known != models_.end()) return known->second;
    auto built = build_model(row, defaults);
    // What was built from a bad cell is not for the next row, which must be found bad as well.
    if (row.bad().empty()) models_[key] = built;
    return built;
  }

  const cost::StackLibrary& library_;
  const std::string& fallback_;
  std::map<std::string, std::shared_ptr<const model::Model>> models_;
};

}  // namespace

RunTable parse_runs(const spec::Csv& csv, const std::string& default_set,
                    const cost::StackLibrary& library, const std::string& fallback_stack) {
  // Without a column of layers, all rows name models of the catalog.
  std::vector<std::string> columns = {"model"};
  for (const Required& required : kRequired)
    if (required.if_named || csv.find("layers") >= 0) columns.emplace_back(required.column);
  columns.insert(columns.end(), {"metric", "value"});
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
    table.runs.push_back(std::move(*run));
  }
  return table;
}

RunTable read_runs(const std::string& path, const cost::StackLibrary& library,
                   const std::string& fallback_stack) {
  return parse_runs(spec::read_csv(path), std::filesystem::path(path).stem().string(), library,
                    fallback_stack);
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
}

}  // namespace nereus::calibrate
