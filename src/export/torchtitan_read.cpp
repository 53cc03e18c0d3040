#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "export/torchtitan.hpp"
#include "model/read/load_model.hpp"
#include "plan/stages.hpp"
#include "spec/reader.hpp"

namespace nereus::exporting {

namespace {

using cluster::Precision;
using plan::Recompute;
using plan::Schedule;

constexpr int kMostDegree = 1 << 20;

void note_keys(const spec::Value& root, Reading& reading, ErrorList& errors) {
  const auto* table = std::get_if<spec::Table>(&root.data);
  if (table == nullptr) return;
  std::vector<std::string> names;
  for (const TitanSection& section : torchtitan_sections()) names.emplace_back(section.name);
  for (const auto& [name, value] : *table) {
    const auto& sections = torchtitan_sections();
    const auto found =
        std::find_if(sections.begin(), sections.end(),
                     [&name = name](const TitanSection& s) { return s.name == name; });
    if (found != sections.end()) {
      note_unknown_keys(value, found->keys, fmt::format("{}.", name), "torchtitan", reading,
                        errors);
      continue;
    }
    const std::optional<std::string> near = nearest(name, names);
    if (near && edit_distance(name, *near) <= 2)
      errors.add("import.unknown-key", fmt::format("torchtitan has no section [{}]", name),
                 value.where(), fmt::format("did you mean [{}]?", *near));
    else if (reading.not_understood.size() < 100)
      reading.not_understood.push_back({fmt::format("[{}]", name), value.line});
  }
}

model::Model read_titan_model(spec::Reader& section, int seq, const Hints& hints,
                              const ReadRequest& request) {
  if (request.model) return *request.model;
  const std::string name = section.optional_string("name", "llama3");
  const std::string flavor = section.optional_string("flavor", "debugmodel");
  for (const Flavor& known : torchtitan_flavors()) {
    if (known.name != name || known.flavor != flavor) continue;
    model::TransformerShape shape = *model::load_model(known.model).transformer;
    shape.seq = seq;
    if (!hints.model_name.empty()) shape.name = hints.model_name;
    return model::build_transformer(shape);
  }
  std::string known;
  for (const Flavor& f : torchtitan_flavors())
    known += fmt::format("{}{} {}", known.empty() ? "" : ", ", f.name, f.flavor);
  throw_input_error("import.no-model",
                    fmt::format("the shape of torchtitan's {} {} is unknown", name, flavor),
                    section.where("flavor"), fmt::format("give --model; known are {}", known));
}

// Blocks of each part: names that begin with "layers.".
std::vector<int> read_parts(const spec::Value* parts) {
  std::vector<int> blocks;
  const auto* list = parts == nullptr ? nullptr : std::get_if<spec::Array>(&parts->data);
  if (list == nullptr) return blocks;
  for (const spec::Value& part : *list) {
    const auto* names = std::get_if<spec::Array>(&part.data);
    if (names == nullptr) return {};
    int count = 0;
    for (const spec::Value& name : *names) {
      const auto* text = std::get_if<std::string>(&name.data);
      if (text != nullptr && text->starts_with("layers.")) ++count;
    }
    blocks.push_back(count);
  }
  return blocks;
}

void read_schedule(spec::Reader& axes, plan::Degrees& d) {
  const std::string word = axes.optional_string("pipeline_parallel_schedule", "1F1B");
  const std::pair<std::string_view, Schedule> known[] = {
      {"GPipe", Schedule::kGpipe},
      {"1F1B", Schedule::k1f1b},
      {"Interleaved1F1B", Schedule::kInterleaved},
      {"LoopedBFS", Schedule::kLoopedBfs},
      {"ZBVZeroBubble", Schedule::kZbV}};
  for (const auto& [name, schedule] : known) {
    if (name.size() == word.size() && edit_distance(name, word) == 0) {
      d.schedule = schedule;
      return;
    }
  }
  if (d.pp > 1)
    axes.fail("pipeline_parallel_schedule", "import.plan",
              fmt::format("the schedule {} cannot be described", word),
              "GPipe, 1F1B, Interleaved1F1B, LoopedBFS or ZBVZeroBubble");
}

// torchtitan's default division: as even as possible, where the first and the last stage count as
// if they had that many more layers.
std::vector<int> default_parts(spec::Reader& axes, const plan::Degrees& d, int layers) {
  const int first =
      axes.optional_int("pipeline_parallel_first_stage_less_layers", 1, 0, kMostDegree);
  const int last = axes.optional_int("pipeline_parallel_last_stage_less_layers", 1, 0, kMostDegree);
  const int stages = d.pp * d.interleave;
  if (stages < 2 || stages > layers + 2) return {};
  const long long total = static_cast<long long>(layers) + first + last;
  std::vector<int> blocks;
  int placed = 0;
  for (int s = 0; s < stages; ++s) {
    int share = static_cast<int>(total / stages + (s < total % stages ? 1 : 0));
    if (s == 0) share -= first;
    if (s + 1 == stages) share -= last;
    share = std::max(0, share);
    blocks.push_back(share);
    placed += share;
  }
  blocks.back() += layers - placed;
  return blocks.back() >= 0 ? blocks : std::vector<int>();
}

// `cut`: the plan's micro-batch is the local batch, which the pipeline cuts into pp pieces.
void read_batch(spec::Reader& training, spec::Reader& axes, bool cut, plan::Degrees& d,
                Reading& reading) {
  const char* key = training.has("local_batch_size") ? "local_batch_size" : "batch_size";
  const int local = training.optional_int(key, 8, 1, kMostDegree);
  int global = training.optional_int("global_batch_size", -1, -1, 1 << 30);
  const double per_step = double(local) * d.dp;
  if (global < 1) global = per_step < 1e9 ? static_cast<int>(per_step) : 1;
  d.global_batch = global;
  d.micro_batch = local;
  if (d.pp == 1) return;
  const int piece = axes.optional_int("pipeline_parallel_microbatch_size", 1, 1, kMostDegree);
  if (cut) {
    if (static_cast<long long>(piece) * d.pp != local)
      reading.assumed.push_back(
          {fmt::format("the pipeline splits a local batch of {} into {} micro-batches, but the "
                       "file asks for micro-batches of {}",
                       local, d.pp, piece)});
    return;
  }
  d.micro_batch = piece;
  if (global > per_step)
    reading.assumed.push_back(
        {fmt::format("a step is one pass through the pipeline, but the file makes {:g}",
                     double(global) / per_step)});
}

void read_data(spec::Reader& axes, int devices, plan::Degrees& d) {
  const double team = double(d.tp) * d.cp * d.pp;
  d.dp = team <= devices ? static_cast<int>(devices / team) : 1;
  const int replicate = axes.optional_int("data_parallel_replicate_degree", 1, 1, kMostDegree);
  int shard = axes.optional_int("data_parallel_shard_degree", -1, -1, kMostDegree);
  if (shard < 1) shard = std::max(1, d.dp / replicate);
  const std::string reshard = axes.optional_string("fsdp_reshard_after_forward", "default");
  const bool divided = static_cast<long long>(shard) * d.cp > 1;
  if (!divided) return;
  d.zero = reshard == "never" || (reshard == "default" && d.pp > 1) ? 2 : 3;
  if (replicate > 1)
    d.zero_group = static_cast<int>(std::min<double>(double(shard) * d.cp, kMostDegree));
}

}  // namespace

Reading read_torchtitan(const Bundle& files, const Hints& hints, const ReadRequest& request) {
  const TextFile& file = *find_file(files, hints.main_file);
  ErrorList errors;
  Reading reading;
  const spec::Value root = spec::parse_toml(file.text, file.name);
  note_keys(root, reading, errors);
  spec::Reader reader(root, errors);
  spec::Reader model = reader.optional_table("model");
  spec::Reader training = reader.optional_table("training");
  spec::Reader axes = reader.optional_table("parallelism");
  spec::Reader checkpoint = reader.optional_table("activation_checkpoint");
  const int seq = training.optional_int("seq_len", 2048, 1, 1'000'000'000);
  reading.model = read_titan_model(model, seq, hints, request);
  plan::Degrees& d = reading.degrees;
  d.tp = axes.optional_int("tensor_parallel_degree", 1, 1, kMostDegree);
  d.cp = axes.optional_int("context_parallel_degree", 1, 1, kMostDegree);
  d.pp = axes.optional_int("pipeline_parallel_degree", 1, 1, kMostDegree);
  d.ep = axes.optional_int("expert_parallel_degree", 1, 1, kMostDegree);
  const bool experts = reading.model.transformer && reading.model.transformer->experts > 0;
  d.expert_tp = experts ? d.tp : 1;
  d.sequence_parallel = d.tp > 1;
  d.tensor_overlap = axes.optional_bool("enable_async_tensor_parallel", false) && d.tp > 1;
  read_data(axes, request.devices, d);
  read_schedule(axes, d);
  const int layers = plan::layer_span(reading.model).blocks;
  std::vector<int> blocks = read_parts(axes.raw("module_fqns_per_model_part"));
  if (d.pp > 1 && blocks.empty()) {
    const int each = axes.optional_int("pipeline_parallel_layers_per_stage", 0, 1, kMostDegree);
    if (each > 0)
      d.interleave = std::max(1, (layers + each - 1) / each / d.pp);
    else if (d.schedule != Schedule::k1f1b && d.schedule != Schedule::kGpipe)
      d.interleave = 2;
    blocks = default_parts(axes, d, layers);
  } else if (d.pp > 1) {
    int sum = 0;
    for (int b : blocks) sum += b;
    if (static_cast<int>(blocks.size()) % d.pp != 0 || sum != layers)
      axes.fail("module_fqns_per_model_part", "import.plan",
                fmt::format("{} with {}; {} over a multiple of {} were expected",
                            counted(blocks.size(), "part"), counted(sum, "layer"),
                            counted(layers, "layer"), d.pp));
    else
      d.interleave = static_cast<int>(blocks.size()) / d.pp;
  }
  if (d.pp > 1 && !blocks.empty() && errors.empty()) {
    const plan::LayerSpan span = plan::layer_span(reading.model);
    const int stages = static_cast<int>(blocks.size());
    for (int s = 0; s < stages; ++s)
      if (plan::stage_of(span, stages, s).num_blocks != blocks[s]) reading.blocks = blocks;
  }
  read_batch(training, axes, request.stack.local_batch_split && reading.blocks.empty(), d, reading);
  const std::string mode = checkpoint.optional_string("mode", "selective");
  if (const auto recompute = plan::parse_recompute(mode)) d.recompute = *recompute;
  const std::string option = checkpoint.optional_string("selective_ac_option", "2");
  if (d.recompute == Recompute::kSelective && option != "2")
    reading.assumed.push_back({fmt::format(
        "selective recompute is modelled as every other block, but the file says '{}'", option)});
  if (training.optional_bool("enable_cpu_offload", false))
    d.offload.weights = d.offload.optimizer = 1;
  if (training.optional_string("mixed_precision_param", "bfloat16") == "float32")
    d.precision = Precision::kFp32;
  using plan::NumberType;
  if (training.has("mixed_precision_reduce"))
    d.state_types.reduced =
        training.optional_string("mixed_precision_reduce", "float32") == "bfloat16"
            ? NumberType::kBf16
            : NumberType::kFp32;
  if (training.optional_string("dtype", "float32") == "bfloat16") {
    d.state_types.master = NumberType::kNone;
    d.state_types.gradients = d.state_types.moments = NumberType::kBf16;
  }
  for (const std::string& converter : model.optional_strings("converters")) {
    if (converter == "float8") d.precision = Precision::kFp8;
    if (converter == "mx") d.precision = Precision::kMxfp8;
  }
  errors.throw_if_any();
  return reading;
}

}  // namespace nereus::exporting
