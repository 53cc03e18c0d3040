// The options that describe a model, a cluster and a regular plan.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/verbs/enum_choices.hpp"
#include "api/verbs/options.hpp"
#include "base/parse_number.hpp"
#include "plan/degree_fields.hpp"

namespace nereus::api {

namespace {

// Parses one "optimizer=0.5"; returns false if it is wrong.
bool parse_offload_part(const std::string& text, plan::Offload& offload, ErrorList& errors) {
  const size_t equals = text.find('=');
  const std::string part = text.substr(0, equals);
  double share = -1;
  if (equals != std::string::npos)
    share = parse_number<double>(std::string_view(text).substr(equals + 1)).value_or(-1);
  if (!(share >= 0 && share <= 1)) {
    errors.add("cli.bad-value",
               fmt::format("--offload takes PART=SHARE with a share from 0 to 1, not '{}'", text),
               {}, "--offload optimizer=1");
    return false;
  }
  if (part == "weights") {
    offload.weights = share;
  } else if (part == "optimizer") {
    offload.optimizer = share;
  } else if (part == "activations") {
    offload.activations = share;
  } else {
    errors.add(unknown_word("cli.bad-value", fmt::format("--offload has no part '{}'", part), part,
                            {"weights", "optimizer", "activations"}));
    return false;
  }
  return true;
}

// For the fields in plan/degree_fields.hpp, in the order of the help.
struct OptionHelp {
  std::string_view option;
  const char* help;
};
constexpr OptionHelp kHelp[] = {
    {"--tp", "tensor-parallel degree"},
    {"--pp", "pipeline stages"},
    {"--dp", "data-parallel degree"},
    {"--cp", "context-parallel degree"},
    {"--ep", "ranks that share the experts, or the embedding tables"},
    {"--interleave", "virtual stages per pipeline rank"},
    {"--micro-batch", "samples per micro-batch"},
    {"--global-batch", "samples per step"},
    {"--seq", "tokens per sample"},
    {"--recompute", "activations to recompute in the backward pass"},
    {"--recompute-blocks",
     "with --recompute full: recompute only this many blocks of each "
     "virtual stage"},
    {"--zero",
     "state sharded over the data-parallel group: 1 optimizer, 2 also gradients, 3 also "
     "weights"},
    {"--sequence-parallel",
     "shard norms and residuals over the tensor-parallel group (=off to "
     "forbid)"},
    {"--tensor-overlap",
     "split tensor-parallel collectives into pieces that overlap with the "
     "GEMMs that feed them"},
    {"--data-overlap",
     "overlap gradient and sharded-weight collectives with the passes (on "
     "unless =off)"},
    {"--zero-group",
     "ranks that share one copy of sharded state (HSDP) (default: the whole data-parallel group)"},
    {"--offload",
     "share of each part to offload, such as weights=1, optimizer=0.5 or activations=0.25; TIER "
     "is host (default), expanded or nvme"},
    {"--state-types",
     "number formats that differ from the stack's: gradients and reduced (fp32, bf16, fp16), "
     "gathered (fp32, bf16, fp16, fp8), moments (fp32, bf16, fp16, fp8, int8), master (fp32, "
     "bf16, fp16, none)"},
    {"--precision", "precision of matrix products"},
    {"--context", "context-parallel scheme (default: zigzag for a causal mask, else ring)"},
    {"--table-split",
     "how ep ranks share embedding tables: whole tables balanced by bytes (table) or by lookups, "
     "or the rows or columns of every table"},
    {"--schedule", "pipeline schedule"},
};

constexpr std::size_t count_options() {
  std::size_t count = 0;
  plan::for_each_request([&](const auto& field) { count += field.option != nullptr ? 1 : 0; });
  return count;
}
static_assert(count_options() == std::size(kHelp), "an option of a plan's degrees has no help");

void add_number(Command& command, const plan::RequestField<int>& field, std::optional<int>& target,
                const char* help) {
  if (field.most == plan::kNoLimit) return command.whole(field.option, target, 1, help);
  std::vector<Choice> choices;
  for (int i = field.least; i <= field.most; ++i)
    choices.push_back({std::to_string(i), [&target, i] { target = i; }});
  command.choice(field.option, std::move(choices), help);
}

template <class T>
void add_degree(Command& command, const plan::RequestField<T>& field, std::optional<T>& target,
                const char* help, app::DegreesRequest& degrees) {
  if constexpr (std::is_same_v<T, plan::Offload>)
    command.pairs(
        field.option, "[TIER:]PART=SHARE[,...]",
        [&degrees](const std::string& text, ErrorList& errors) {
          parse_offload(text, degrees, errors);
        },
        help);
  else if constexpr (std::is_same_v<T, plan::StateTypes>)
    command.pairs(
        field.option, "PART=TYPE[,...]",
        [&degrees](const std::string& text, ErrorList& errors) {
          if (!degrees.state_types) degrees.state_types.emplace();
          parse_state_types(text, *degrees.state_types, errors);
        },
        help);
  else if constexpr (std::is_same_v<T, bool>)
    command.toggle(field.option, target, help);
  else if constexpr (std::is_same_v<T, int>)
    add_number(command, field, target, help);
  else
    command.choice(field.option, choices_of(target), help);
}

}  // namespace

void parse_offload(const std::string& text, app::DegreesRequest& degrees, ErrorList& errors) {
  plan::Offload offload = degrees.offload.value_or(plan::Offload{});
  const size_t colon = text.find(':');
  const std::string name = colon == std::string::npos ? "host" : text.substr(0, colon);
  const std::optional<plan::Tier> tier = plan::parse_tier(name);
  bool right = true;
  if (!tier || *tier == plan::Tier::kDevice) {
    errors.add(unknown_word("cli.bad-value", fmt::format("--offload has no tier '{}'", name), name,
                            {"host", "expanded", "nvme"}));
    right = false;
  } else if (degrees.offload && offload.tier != *tier) {
    errors.add("cli.bad-value",
               fmt::format("--offload to {} follows --offload to {}, but a plan offloads to one "
                           "tier only",
                           name, to_string(offload.tier)),
               {}, fmt::format("--offload {}:optimizer=1,activations=0.5", name));
    right = false;
  } else {
    offload.tier = *tier;
  }
  size_t begin = colon == std::string::npos ? 0 : colon + 1;
  while (begin <= text.size()) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    right &= parse_offload_part(text.substr(begin, comma - begin), offload, errors);
    begin = comma + 1;
  }
  if (right) degrees.offload = offload;
}

void parse_state_types(const std::string& text, plan::StateTypes& types, ErrorList& errors) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string one = text.substr(begin, comma - begin);
    begin = comma + 1;
    const std::size_t equals = one.find('=');
    const std::string name = one.substr(0, equals);
    const auto* part =
        std::find_if(std::begin(plan::kStateTypeParts), std::end(plan::kStateTypeParts),
                     [&](const plan::StateTypePart& own) { return own.name == name; });
    if (part == std::end(plan::kStateTypeParts)) {
      std::vector<std::string> names;
      for (const plan::StateTypePart& own : plan::kStateTypeParts) names.emplace_back(own.name);
      errors.add(unknown_word("cli.bad-value", fmt::format("--state-types has no part '{}'", name),
                              name, names));
      continue;
    }
    const auto type = equals == std::string::npos
                          ? std::nullopt
                          : plan::parse_number_type(std::string_view(one).substr(equals + 1));
    if (!type || !plan::allows(*part, *type))
      errors.add("cli.bad-value", fmt::format("--state-types takes PART=TYPE, not '{}'", one), {},
                 fmt::format("{}: {}", name, plan::allowed_words(*part)));
    else
      types.*part->type = *type;
  }
}

void add_model_options(Command& command, app::ModelRequest& model) {
  command.group("Inputs");
  command.text(
      "--model", "NAME|FILE", model.model,
      "a catalogue name (nereus catalog models), or a file: Nereus TOML or YAML, Hugging Face "
      "config.json, ONNX");
}

void add_cluster_options(Command& command, app::ClusterRequest& cluster) {
  command.group("Inputs");
  command.text("--cluster", "SPEC|FILE", cluster.cluster,
               "COUNTxNODE[+COUNTxNODE...] with nodes of the catalogue, such as 16xdgx-h100, or a "
               "file");
}

void add_set_option(Command& command, app::ModelRequest* model, app::ClusterRequest* cluster) {
  command.group("Inputs");
  command.pairs(
      "--set", "PATH=VALUE",
      [model, cluster](const std::string& text, ErrorList& errors) {
        const size_t equals = text.find('=');
        const size_t dot = text.find('.');
        if (equals == std::string::npos || dot == std::string::npos || dot > equals ||
            dot + 1 == equals) {
          errors.add("cli.bad-value", fmt::format("--set takes PATH=VALUE, not '{}'", text), {},
                     "--set model.layers=4");
          return;
        }
        const std::string root = text.substr(0, dot);
        app::Override override{text.substr(dot + 1, equals - dot - 1), text.substr(equals + 1)};
        if (root == "model" && model != nullptr) {
          model->overrides.push_back(std::move(override));
        } else if (root == "cluster" && cluster != nullptr) {
          cluster->overrides.push_back(std::move(override));
        } else {
          std::vector<std::string> roots;
          if (model != nullptr) roots.push_back("model");
          if (cluster != nullptr) roots.push_back("cluster");
          errors.add(unknown_word(
              "cli.bad-value",
              fmt::format("--set cannot change '{}': there is no such input", root), root, roots));
        }
      },
      "override a field of an input, such as model.layers=4 or cluster.name=lab");
}

void add_degrees_options(Command& command, app::DegreesRequest& degrees) {
  command.group("Plan (options that are not given are derived)");
  for (const auto& [option, help] : kHelp)
    plan::for_each_request([&, option = option, help = help](const auto& field) {
      if (field.option != nullptr && field.option == option)
        add_degree(command, field, degrees.*field.request, help, degrees);
    });
}

void add_calibration_options(Command& command, app::CalibrationRequest& calibration) {
  command.group("Calibration");
  command.text("--stack", "NAME|FILE", calibration.stack,
               "software stack: a name, or a file written by nereus calibrate");
  command.texts("--profile", "FILE", calibration.profiles,
                "measured times of a machine, from nereus measure or nereus import");
  command.flag("--force-profile", calibration.force_profile,
               "accept profiles of another device or library too");
}

}  // namespace nereus::api
