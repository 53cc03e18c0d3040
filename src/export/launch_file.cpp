#include "export/launch_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/format.hpp"
#include "base/trimmed.hpp"
#include "cluster/load_cluster.hpp"
#include "cluster/write_cluster.hpp"
#include "plan/expand.hpp"

namespace nereus::exporting {

namespace {

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

int number_in(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value > 0 && value <= (1 << 20) ? value : 0;
}

// "--nodes=4", "-N 4", "--gres=gpu:h100:8", "--gpus-per-node=8".
void read_slurm_comment(std::string_view line, Hints& hints) {
  if (!line.starts_with("SBATCH")) return;
  std::string text(trimmed(line.substr(6)));
  if (const std::size_t comment = text.find(" #"); comment != std::string::npos)
    text.resize(comment);
  const std::size_t split = text.find_first_of("= ");
  if (split == std::string::npos) return;
  const std::string key = text.substr(0, split);
  const std::string value(trimmed(std::string_view(text).substr(split + 1)));
  if (key == "--nodes" || key == "-N") {
    if (hints.nodes == 0) hints.nodes = number_in(value);
  } else if (key == "--gpus-per-node" || key == "--gres") {
    const std::size_t gpu = value.find("gpu:");
    std::string rest =
        key == "--gres" ? (gpu == std::string::npos ? "" : value.substr(gpu + 4)) : value;
    if (const std::size_t comma = rest.find(','); comma != std::string::npos) rest.resize(comma);
    if (const std::size_t colon = rest.find(':'); colon != std::string::npos) {
      hints.device = rest.substr(0, colon);
      rest = rest.substr(colon + 1);
    }
    if (hints.devices_per_node == 0) hints.devices_per_node = number_in(rest);
  } else if (key == "--constraint" || key == "-C") {
    if (hints.device.empty()) hints.device = value;
  }
}

}  // namespace

void cannot_offload_elsewhere(ErrorList& errors, Engine engine, const plan::Degrees& d) {
  if (d.offload.none() || d.offload.tier == plan::Tier::kHost) return;
  cannot(errors, engine, fmt::format("offload to {} memory", to_string(d.offload.tier)),
         "offload to host memory");
}

void cannot_set_types(ErrorList& errors, Engine engine, const plan::StateTypes& types,
                      std::initializer_list<std::string_view> parts) {
  for (const plan::StateTypePart& part : plan::kStateTypeParts)
    if (types.*part.type != plan::NumberType::kStack &&
        std::find(parts.begin(), parts.end(), part.name) == parts.end())
      cannot(errors, engine,
             fmt::format("{} in {} in its configuration", part.name, to_string(types.*part.type)),
             fmt::format("leave {} to the stack", part.name));
}

void cannot_offload_parts(ErrorList& errors, Engine engine, const plan::Degrees& d) {
  const bool all = d.offload.weights == 1 && d.offload.optimizer == 1;
  const bool none = d.offload.weights == 0 && d.offload.optimizer == 0;
  cannot_offload_elsewhere(errors, engine, d);
  if ((all || none) && d.offload.activations == 0 && !(all && d.zero < 2)) return;
  cannot(errors, engine,
         fmt::format("{:g} of the weights, {:g} of the optimizer and {:g} of the activations in "
                     "host memory: FSDP offloads all sharded state or none",
                     d.offload.weights, d.offload.optimizer, d.offload.activations),
         "weights = 1 and optimizer = 1 under zero 2 or 3");
}

void cannot(ErrorList& errors, Engine engine, const std::string& what, const std::string& hint) {
  errors.add("export.cannot-express", fmt::format("{} cannot express {}", title(engine), what), {},
             hint);
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string script_header(Engine engine, const plan::Plan& plan, const RegularPlan& regular) {
  const plan::Degrees& d = regular.degrees;
  std::string axes = fmt::format("tp {}, pp {}, dp {}", d.tp, d.pp, d.dp);
  if (d.cp > 1) axes += fmt::format(", cp {}", d.cp);
  if (d.ep > 1) axes += fmt::format(", ep {}", d.ep);
  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "# {} on {}: {}. For {}.\n"
      "# Written by nereus export; nereus import reads it back. The lines below are facts that\n"
      "# {}'s own files have no place for.\n"
      "# nereus: engine={}\n"
      "# nereus: cluster={}\n",
      one_line(plan.model.name), one_line(plan.cluster.name), axes, title(engine), title(engine),
      to_string(engine), one_line(plan.cluster.name));
  if (!plan.stack.empty()) text += fmt::format("# nereus: stack={}\n", one_line(plan.stack));
  text += fmt::format("# nereus: model={}\n# nereus: family={}\n", one_line(plan.model.name),
                      one_line(plan.model.family));
  return text + "set -euo pipefail\n";
}

std::string torchrun_arguments(const plan::Plan& plan) {
  const int nodes = plan.cluster.num_nodes();
  const int devices = plan.cluster.groups.front().node.num_devices;
  return fmt::format(
      "NNODES=${{NNODES:-{}}}\n"
      "LAUNCH_ARGS=(\n"
      "  --nnodes \"$NNODES\"\n"
      "  --nproc-per-node {}\n"
      "  --node-rank \"${{NODE_RANK:-0}}\"\n"
      "  --master-addr \"${{MASTER_ADDR:-localhost}}\"\n"
      "  --master-port \"${{MASTER_PORT:-29500}}\"\n"
      ")\n",
      nodes, devices);
}

std::string slurm_script(Engine engine, const plan::Plan& plan) {
  const int nodes = plan.cluster.num_nodes();
  const int devices = plan.cluster.groups.front().node.num_devices;
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "#SBATCH --job-name={}-{}\n"
      "#SBATCH --nodes={}\n"
      "#SBATCH --ntasks-per-node=1\n"
      "#SBATCH --gpus-per-node={}\n"
      "#SBATCH --exclusive\n"
      "# One launch.sh on each node; it starts {}. Submit from the folder of launch.sh.\n"
      "set -euo pipefail\n"
      "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
      "export MASTER_PORT=29500\n"
      "export NNODES=$SLURM_JOB_NUM_NODES\n"
      "srun --kill-on-bad-exit=1 bash -c 'NODE_RANK=$SLURM_NODEID bash launch.sh'\n",
      to_string(engine),
      plan.model.name.find_first_of(" \n/") == std::string::npos ? plan.model.name
                                                                 : std::string("model"),
      nodes, devices, counted(devices, "process", "processes"));
}

void check_nodes(Engine engine, const plan::Plan& plan, ErrorList& errors) {
  const int devices = plan.cluster.groups.front().node.num_devices;
  for (const cluster::NodeGroup& group : plan.cluster.groups)
    if (group.node.num_devices != devices)
      cannot(errors, engine,
             fmt::format("nodes of {} ({}) mixed with nodes of {} ({}): its launcher starts the "
                         "same number of processes on each",
                         counted(devices, "device"), plan.cluster.groups.front().node.name,
                         group.node.num_devices, group.node.name),
             "nodes of one size");
}

std::map<std::string, std::string> read_facts(const Script& script) {
  std::map<std::string, std::string> facts;
  for (const std::string& comment : script.comments) {
    const std::string line(trimmed(comment));
    constexpr std::string_view kMark = "nereus:";
    if (!line.starts_with(kMark)) continue;
    const std::string fact(trimmed(std::string_view(line).substr(kMark.size())));
    const std::size_t equals = fact.find('=');
    if (equals != std::string::npos) facts[fact.substr(0, equals)] = fact.substr(equals + 1);
  }
  return facts;
}

void read_nodes(const Script& script, Hints& hints) {
  for (const Command& command : script.commands) {
    for (std::size_t i = 0; i < command.words.size(); ++i) {
      std::string key = command.words[i].text;
      for (char& c : key)
        if (c == '_') c = '-';
      std::string value = i + 1 < command.words.size() ? command.words[i + 1].text : "";
      if (const std::size_t equals = key.find('='); equals != std::string::npos) {
        value = key.substr(equals + 1);
        key.resize(equals);
      }
      if (key == "--nnodes" || key == "--num-nodes" || key == "--num-machines") {
        if (const int n = number_in(value); n > 0 && hints.nodes == 0) hints.nodes = n;
      } else if (key == "--nproc-per-node" || key == "--num-gpus") {
        if (const int n = number_in(value); n > 0 && hints.devices_per_node == 0)
          hints.devices_per_node = n;
      }
    }
  }
  for (const std::string& comment : script.comments) read_slurm_comment(comment, hints);
}

}  // namespace nereus::exporting
