#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "export/launch_file.hpp"
#include "export/megatron.hpp"
#include "export/megatron_flags.hpp"
#include "model/shape_io.hpp"
#include "plan/stages.hpp"

namespace nereus::exporting {

namespace {

using cluster::Precision;
using plan::Recompute;

int count_read_flags(const Command& command) {
  int count = 0;
  for (const Word& word : command.words) {
    const MegatronFlag* flag = find_megatron_flag(word.text.substr(0, word.text.find('=')));
    if (flag != nullptr && flag->bearing == Bearing::kRead) ++count;
  }
  return count;
}

void note(std::vector<Note>& notes, std::string text, int line = 0) {
  notes.push_back({std::move(text), line});
}

// The usual settings, which predictions assume: not reported.
bool is_usual(std::string_view name, const std::vector<std::string>& values) {
  const std::string value = values.empty() ? "" : values.front();
  if (name == "--attention-backend") return value != "unfused" && value != "local";
  if (name == "--transformer-impl") return value == "transformer_engine";
  if (name == "--optimizer") return value == "adam";
  if (name == "--moe-token-dispatcher-type") return value != "allgather";
  return false;
}

// Every flag is either read, known to be of no matter, noted, or an error.
void sort_flags(Flags& flags, Reading& reading) {
  for (const auto& [name, occurrence] : flags.given()) {
    const MegatronFlag* known = find_megatron_flag(name);
    const std::vector<std::string> values = flags.texts(name);
    const std::string written = values.empty() ? name : fmt::format("{} {}", name, values.front());
    if (known == nullptr) {
      if (reading.not_understood.size() >= 100) continue;  // no script of Megatron-LM
      static const std::vector<std::string> kFlagNames = megatron_flag_names();
      const std::optional<std::string> near = nearest(name, kFlagNames);
      const MegatronFlag* meant = near ? find_megatron_flag(*near) : nullptr;
      // A slip in a flag that decides the plan would change the answer unseen.
      if (meant != nullptr && meant->bearing == Bearing::kRead && edit_distance(name, *near) <= 2) {
        flags.fail(name, "import.unknown-flag", fmt::format("Megatron-LM has no flag {}", name),
                   fmt::format("did you mean {}?", *near));
      } else {
        note(reading.not_understood,
             near ? fmt::format("{} (nearest known: {})", name, *near) : name, occurrence.line);
      }
    } else if (known->bearing == Bearing::kCost && !is_usual(name, values)) {
      note(reading.not_counted, written, occurrence.line);
    }
  }
}

void read_axes(Flags& flags, int devices, bool experts, plan::Degrees& d) {
  d.tp = flags.whole("--tensor-model-parallel-size", 1, 1);
  d.pp = flags.whole("--pipeline-model-parallel-size", 1, 1);
  d.cp = flags.whole("--context-parallel-size", 1, 1);
  const double team = double(d.tp) * d.pp * d.cp;
  d.dp = team <= devices ? static_cast<int>(devices / team) : 1;
  d.ep = flags.whole("--expert-model-parallel-size", 1, 1);
  d.expert_tp = flags.whole("--expert-tensor-parallel-size", experts ? d.tp : 1, 1);
  if (d.cp == 1) return;
  const std::vector<std::string> kinds = flags.texts("--cp-comm-type");
  const std::string kind = kinds.empty() ? "p2p" : kinds.front();
  if (std::any_of(kinds.begin(), kinds.end(), [&](const auto& k) { return k != kind; }))
    flags.fail("--cp-comm-type", "import.plan",
               "context kinds that differ from layer to layer cannot be described", "one kind");
  if (kind == "a2a") {
    d.context = plan::ContextKind::kAllToAll;
  } else if (kind != "p2p" && kind != "all_gather" && kind != "allgather") {
    flags.fail("--cp-comm-type", "import.plan",
               fmt::format("context kind '{}' cannot be described", kind), "p2p or a2a");
  }
}

void read_state(Flags& flags, plan::Degrees& d, Reading& reading) {
  d.zero = flags.has("--use-distributed-optimizer") ? 1 : 0;
  if (flags.has("--zero-stage")) d.zero = flags.whole("--zero-stage", 0);
  if (flags.has("--deepspeed") && d.zero == 0 && flags.has("--bf16")) {
    d.zero = 1;
    note(reading.assumed,
         "ZeRO-1, because the bf16 optimizer of DeepSpeed shards its state even without a ZeRO "
         "stage");
  }
  if (flags.has("--use-megatron-fsdp") || flags.has("--use-custom-fsdp")) {
    const std::string strategy = flags.text("--data-parallel-sharding-strategy", "no_shard");
    const std::vector<std::string> names = {"no_shard", "optim", "optim_grads",
                                            "optim_grads_params"};
    const auto found = std::find(names.begin(), names.end(), strategy);
    if (found == names.end())
      flags.fail("--data-parallel-sharding-strategy", "import.value",
                 fmt::format("no sharding strategy '{}'", strategy),
                 fmt::format("{}", fmt::join(names, ", ")));
    else
      d.zero = static_cast<int>(found - names.begin());
  } else if (flags.has("--use-torch-fsdp2")) {
    d.zero = flags.has("--torch-fsdp2-no-reshard-after-forward") ? 2 : 3;
  }
  if (const int copies = flags.whole("--num-distributed-optimizer-instances", 1, 1); copies > 1) {
    if ((d.dp * d.cp) % copies != 0)
      flags.fail("--num-distributed-optimizer-instances", "import.plan",
                 fmt::format("{} copies do not divide the {} of a data-parallel group", copies,
                             counted(d.dp * d.cp, "rank")));
    d.zero_group = std::max(1, d.dp * d.cp / copies);
  }
  d.data_overlap = flags.has("--overlap-grad-reduce");
  if (d.data_overlap && d.zero > 0 && !flags.has("--overlap-param-gather"))
    note(reading.assumed,
         "the all-gather of weights is assumed to overlap like the gradient reduction, although "
         "the file does not turn it on (--overlap-param-gather)");
  if (flags.has("--optimizer-cpu-offload"))
    d.offload.optimizer = flags.number("--optimizer-offload-fraction", 1.0);
}

void read_types(Flags& flags, plan::StateTypes& types, Reading& reading) {
  using plan::NumberType;
  if (flags.has("--grad-reduce-in-bf16")) types.gradients = types.reduced = NumberType::kBf16;
  if (flags.has("--fp8-param-gather")) types.gathered = NumberType::kFp8;
  const auto read = [&](std::string_view flag, const plan::StateTypePart& part) {
    const std::string word = flags.text(flag);
    const std::optional<NumberType> type = plan::parse_number_type(word);
    if (!word.empty() && (!type || !plan::allows(part, *type)))
      flags.fail(flag, "import.value", fmt::format("no number format '{}'", word),
                 plan::allowed_words(part));
    return word.empty() || !type ? NumberType::kStack : *type;
  };
  for (const plan::StateTypePart& part : plan::kStateTypeParts) {
    if (part.type == &plan::StateTypes::moments) {
      types.moments = read("--exp-avg-dtype", part);
      if (const NumberType other = read("--exp-avg-sq-dtype", part); other != types.moments)
        note(reading.not_counted, "--exp-avg-sq-dtype, which differs from --exp-avg-dtype",
             flags.line_of("--exp-avg-sq-dtype"));
    }
    if (part.type == &plan::StateTypes::master) types.master = read("--main-params-dtype", part);
  }
}

void read_recompute(Flags& flags, plan::Degrees& d, Reading& reading) {
  std::string granularity = flags.text("--recompute-granularity");
  if (flags.has("--recompute-activations")) granularity = "selective";
  if (flags.has("--checkpoint-activations")) granularity = "full";
  if (granularity == "selective") {
    d.recompute = Recompute::kSelective;
    std::string others;
    for (const std::string& module : flags.texts("--recompute-modules"))
      if (module != "core_attn") others += (others.empty() ? "" : ", ") + module;
    if (!others.empty())
      note(reading.not_counted, fmt::format("--recompute-modules {}", others),
           flags.line_of("--recompute-modules"));
  } else if (granularity == "full") {
    d.recompute = Recompute::kFull;
    const int layers = flags.whole("--recompute-num-layers", 1);
    if (flags.text("--recompute-method", "uniform") == "block") {
      d.recompute_blocks = layers;
      if (layers == 0) d.recompute = Recompute::kNone;
    } else if (layers > 1) {
      note(reading.not_counted,
           fmt::format("--recompute-num-layers {}: one checkpoint for several layers", layers),
           flags.line_of("--recompute-num-layers"));
    }
  } else if (!granularity.empty()) {
    flags.fail("--recompute-granularity", "import.value",
               fmt::format("no recompute granularity '{}'", granularity), "full or selective");
  }
}

Precision read_precision(Flags& flags) {
  if (flags.has("--fp4-format")) return Precision::kNvfp4;
  if (flags.has("--fp8-format"))
    return flags.text("--fp8-recipe", "delayed") == "mxfp8" ? Precision::kMxfp8 : Precision::kFp8;
  if (flags.has("--bf16")) return Precision::kBf16;
  return flags.has("--fp16") ? Precision::kFp16 : Precision::kFp32;
}

// Blocks by the plans' own rule need no words.
bool by_rule(const std::vector<int>& blocks, const model::Model& model) {
  const plan::LayerSpan span = plan::layer_span(model);
  const int stages = static_cast<int>(blocks.size());
  for (int s = 0; s < stages; ++s)
    if (plan::stage_of(span, stages, s).num_blocks != blocks[s]) return false;
  return true;
}

}  // namespace

const Command* find_megatron_command(const Script& script) {
  const Command* best = nullptr;
  int most = 1;
  for (const Command& command : script.commands) {
    const int count = count_read_flags(command);
    if (count > most) {
      most = count;
      best = &command;
    }
  }
  return best;
}

Reading read_megatron(const TextFile& file, const Hints& hints, const ReadRequest& request) {
  const Script script = read_script(file.text, file.name);
  const Command* command = find_megatron_command(script);
  if (command == nullptr)
    throw_input_error(
        "import.no-command", fmt::format("no command in {} has flags of Megatron-LM", file.name),
        {file.name}, "a script that runs pretrain_gpt.py with --num-layers and so on");
  ErrorList errors;
  Reading reading;
  const auto script_at = std::find_if(command->words.begin(), command->words.end(),
                                      [](const Word& w) { return w.text.ends_with(".py"); });
  const std::size_t first =
      script_at == command->words.end() ? 0 : std::size_t(script_at - command->words.begin());
  Flags flags(command->words, first, spec::make_source(file.text, file.name), errors);
  sort_flags(flags, reading);
  model::TransformerShape shape;
  int layers = 0;
  if (request.model) {
    reading.model = *request.model;
    if (reading.model.transformer) shape = *reading.model.transformer;
    layers = plan::layer_span(reading.model).blocks;
    note(reading.assumed, fmt::format("the model is {}, as given; the shape in the file is ignored",
                                      reading.model.name));
  } else {
    shape = megatron_shape(flags, hints, read_facts(script), reading, errors);
    layers = shape.layers;
    // Sizes that no model has are said before anything is built from them.
    if (errors.empty()) model::read_shape(model::write_shape(shape), errors);
    if (!errors.empty() && (layers > 100'000 || shape.mtp_layers > 100)) errors.throw_if_any();
    layers += shape.mtp_layers;
  }
  plan::Degrees& d = reading.degrees;
  d.micro_batch = flags.whole("--micro-batch-size", 1, 1);
  read_axes(flags, request.devices, shape.experts > 0, d);
  const std::vector<int> blocks = megatron_stages(flags, layers, shape.mtp_layers, d, reading);
  d.schedule = d.interleave > 1 ? plan::Schedule::kInterleaved : plan::Schedule::k1f1b;
  if (flags.has("--global-batch-size")) {
    d.global_batch = flags.whole("--global-batch-size", 1, 1);
  } else {
    const double batch = double(d.micro_batch) * d.dp;
    d.global_batch = batch < 1e9 ? static_cast<int>(batch) : 1;
    note(reading.assumed,
         fmt::format("a global batch of {}: one micro-batch per replica", d.global_batch));
  }
  d.sequence_parallel = flags.has("--sequence-parallel") && d.tp > 1;
  d.tensor_overlap = flags.has("--tp-comm-overlap");
  read_recompute(flags, d, reading);
  read_state(flags, d, reading);
  if (const int offloaded = flags.whole("--cpu-offloading-num-layers", 0); offloaded > 0)
    d.offload.activations = std::min(1.0, double(offloaded) / std::max(1, layers));
  d.precision = read_precision(flags);
  read_types(flags, d.state_types, reading);
  for (const LeftOut& left : script.left_out)
    note(reading.not_understood, fmt::format("{}: its lines are ignored", left.what), left.line);
  errors.throw_if_any();
  if (!request.model) reading.model = model::build_transformer(shape);
  if (!blocks.empty() && !by_rule(blocks, reading.model)) reading.blocks = blocks;
  return reading;
}

}  // namespace nereus::exporting
