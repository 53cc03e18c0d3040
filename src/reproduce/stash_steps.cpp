#include "reproduce/stash_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "cluster/catalogue.hpp"
#include "cost/data_parallel.hpp"
#include "cost/kernel_time.hpp"
#include "reproduce/stash_files.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app {

namespace {

constexpr const char* kStack = "pytorch";
constexpr double kPcie3 = 15.75e9;  // x16, one way

// "p2.8xlarge_2" is two of them; the label p3.24xlarge was a p3dn.24xlarge.
struct Label {
  std::string node;
  int count = 1;
};
Label read_label(const std::string& text) {
  if (text.starts_with("p3.24xlarge")) return {"p3dn.24xlarge", 1};
  const std::size_t cut = text.find('_');
  if (cut == std::string::npos) return {text, 1};
  return {text.substr(0, cut), text.substr(cut) == "_2" ? 2 : 0};
}

// Kernels of a layer forward and backward, at least as long as their launches.
struct LayerSeconds {
  double forward = 0;
  double backward = 0;
};

LayerSeconds layer_seconds(const model::LayerKind& kind, const cost::KernelModel& kernels,
                           int batch, double launch) {
  const cost::LayerSplit split{.samples = static_cast<double>(batch)};
  const cost::LayerCost cost = cost::layer_cost(kind, kernels, split);
  return {std::max(cost.forward, cost.num_kernels * launch),
          std::max(cost.backward, 2 * cost.num_kernels * launch)};
}

bool has_attention(const StashNetwork& net) {
  for (const model::LayerKind& kind : net.layers)
    for (const model::Operator& op : kind.operators)
      if (op.kind == model::OpKind::kAttention) return true;
  return false;
}

// Convolutional networks ran under mixed precision, which a K80 has no units for; BERT in fp32.
cluster::Precision precision_of(const StashNetwork& net, const cluster::Device& device) {
  return !has_attention(net) && device.has(cluster::Precision::kFp16) ? cluster::Precision::kFp16
                                                                      : cluster::Precision::kFp32;
}

// Momentum reads the gradient, and reads and writes moment and weight, in fp32; AdamW has a second
// moment.
double update_seconds(const StashNetwork& net, const cost::KernelModel& kernels, double launch) {
  const double bytes = has_attention(net) ? 28 : 20;
  return std::max(net.parameters() * bytes / kernels.memory_rate,
                  static_cast<double>(net.tensors.size()) * launch);
}

}  // namespace

std::vector<StashMachine> stash_machines() {
  std::vector<StashMachine> out;
  const StashTable table("instances.csv");
  for (const spec::CsvRow& row : table.rows()) {
    const Label label = read_label(table.text(row, "instance_label"));
    if (label.count == 0) continue;  // the same machine under another label
    const cluster::Node* node = cluster::builtin_catalogue().find_node(label.node);
    NEREUS_CHECK(node != nullptr, "Stash's machines are in the catalogue");
    StashMachine own;
    own.name = label.count > 1 ? fmt::format("{}x{}", label.count, label.node) : label.node;
    own.node = *node;
    own.count = label.count;
    own.usd_per_hour = table.number(row, "usd_per_hour").value_or(0);
    if (const auto gbps = table.number(row, "network_gbps"))
      own.node.network = BytesPerSecond{*gbps * 1e9 / 8};
    out.push_back(std::move(own));
  }
  return out;
}

StashMachine stash_machine(const std::string& name) {
  for (const StashMachine& own : stash_machines())
    if (own.name == name) return own;
  NEREUS_CHECK(false, "a machine of data/stash/instances.csv");
  return {};
}

simulate::NcclSite stash_site(const StashMachine& machine, const StashOptions& options) {
  const cluster::Node& node = machine.node;
  simulate::NcclSite site;
  site.num_ranks = machine.devices();
  site.per_node = node.num_devices;
  site.link = node.inside.bandwidth.value;
  if (options.links == Links::kShared)
    site.link =
        node.inside.kind == cluster::LinkKind::kPcie ? kPcie3 / node.num_devices : options.pcie;
  site.network = node.network.value;
  site.network_step = node.network_latency.value;
  return site;
}

StashStep stash_step(const StashNetwork& net, const StashMachine& machine,
                     const StashOptions& options, int batch) {
  const cluster::Device& device = machine.node.device;
  const cost::Stack stack = cost::load_stack(kStack);
  // Attention of its time was written out.
  const cost::KernelModel kernels(device, stack.parameters_for(device), precision_of(net, device),
                                  plan::Attention::kUnfused);
  StashStep step;
  step.copy = batch * net.sample_bytes / options.host_copy;
  std::vector<double> backward;
  for (const model::LayerKind& kind : net.layers) {
    const LayerSeconds own = layer_seconds(kind, kernels, batch, options.launch);
    step.forward += own.forward;
    backward.push_back(own.backward);
  }
  // When the backward of each layer is done, the last first.
  std::vector<double> done(backward.size());
  for (std::size_t i = backward.size(); i-- > 0;) {
    step.backward += backward[i];
    done[i] = step.backward;
  }
  step.update = update_seconds(net, kernels, options.launch);
  if (machine.devices() == 1) return step;

  std::vector<double> bytes, ready, seconds;
  for (const StashTensor& own : net.tensors) bytes.push_back(own.elements * options.gradient_bytes);
  const simulate::NcclSite site = stash_site(machine, options);
  for (const cost::Bucket& own : cost::bucket_gradients(bytes, options.buckets)) {
    double latest = 0;
    for (int i = 0; i < own.count; ++i) {
      const StashTensor& tensor = net.tensors[own.first + i];
      latest = std::max(latest, done[tensor.layer]);
    }
    ready.push_back(latest);
    seconds.push_back(simulate::all_reduce_seconds(options.nccl, site, own.bytes));
  }
  const cost::ExposedSums sums = cost::exposed_sums(ready, seconds, step.backward);
  step.stall = sums.stall;
  step.sums = sums.busy;
  step.num_sums = static_cast<int>(ready.size());
  return step;
}

}  // namespace nereus::app
