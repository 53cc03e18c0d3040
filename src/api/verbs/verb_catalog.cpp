#include "api/form/exit_codes.hpp"
#include "api/verbs/verbs.hpp"
#include "app/catalog.hpp"

namespace nereus::api {

namespace {

// In the catalogs, 0 means not stated.
template <class Tag>
Cell known(Quantity<Tag> quantity) {
  return quantity.value > 0 ? Cell{quantity.value} : Cell{};
}
Cell known(int count) { return count > 0 ? Cell{count} : Cell{}; }
Cell known(double value) { return value > 0 ? Cell{value} : Cell{}; }
Cell known(const std::string& text) { return text.empty() ? Cell{} : Cell{text}; }

Table models_table(const std::vector<app::ModelEntry>& models) {
  Table table{.name = "models",
              .columns = {{"name", "model"},
                          {"family", "family"},
                          {"parameters", "parameters", Unit::kParameters},
                          {"layers", "layers"},
                          {"hidden", "hidden"},
                          {"heads", "heads", Unit::kNone, false, false, 2},
                          {"kv_heads", "kv heads", Unit::kNone, false, false, 3},
                          {"experts", "experts", Unit::kNone, false, false, 1},
                          {"vocab", "vocabulary", Unit::kCount, false, false, 2},
                          {"tokens_per_sample", "tokens/sample", Unit::kCount},
                          {"training_flops_per_sample", "work/sample", Unit::kFlops},
                          {"source", "source", Unit::kNone, false, false, 4}}};
  for (const app::ModelEntry& model : models) {
    table.rows.push_back({model.name, model.family, model.parameters, model.num_layers,
                          known(model.hidden), known(model.heads), known(model.kv_heads),
                          known(model.experts), known(model.vocab), known(model.tokens_per_sample),
                          model.training_flops, known(model.source)});
  }
  return table;
}

Table devices_table(const std::vector<cluster::Device>& devices) {
  Table table{.name = "devices",
              .columns = {{"name", "device"},
                          {"data_sheet_name", "data sheet", Unit::kNone, false, false, 2},
                          {"memory_bytes", "memory", Unit::kBytes},
                          {"memory_bandwidth_bytes_per_s", "bandwidth", Unit::kBytesPerSecond}}};
  // The precisions training uses most stay longest in a narrow terminal.
  const int ranks[cluster::kNumPrecisions] = {5, 3, 4, 3, 0, 1, 4, 4, 5};
  for (int i = 0; i < cluster::kNumPrecisions; ++i) {
    const std::string name(to_string(static_cast<cluster::Precision>(i)));
    table.columns.push_back(
        {name + "_flops_per_s", name, Unit::kFlopsPerSecond, false, false, ranks[i]});
  }
  table.columns.push_back(
      {"host_link_bytes_per_s", "host link", Unit::kBytesPerSecond, false, false, 4});
  table.columns.push_back({"power_w", "power", Unit::kWatts, false, false, 3});
  table.columns.push_back({"source", "source", Unit::kNone, false, false, 6});
  for (const cluster::Device& device : devices) {
    auto& row = table.rows.emplace_back(std::vector<Cell>{
        device.short_name, device.name, known(device.memory), known(device.memory_bandwidth)});
    for (const FlopsPerSecond peak : device.peak) row.push_back(known(peak));
    row.insert(row.end(), {known(device.host_link), known(device.power), known(device.source)});
  }
  table.notes.push_back(
      "Peak rates are dense (without structured sparsity) and come from data "
      "sheets.");
  return table;
}

Table nodes_table(const std::vector<cluster::Node>& nodes) {
  Table table{.name = "nodes",
              .columns = {{"name", "node"},
                          {"device", "device"},
                          {"devices", "devices"},
                          {"link", "inside"},
                          {"link_bytes_per_s", "per device", Unit::kBytesPerSecond},
                          {"fast_domain_devices", "domain", Unit::kNone, false, false, 2},
                          {"network", "network"},
                          {"network_bytes_per_s", "per node", Unit::kBytesPerSecond},
                          {"host_memory_bytes", "host memory", Unit::kBytes, false, false, 3},
                          {"source", "source", Unit::kNone, false, false, 4}}};
  for (const cluster::Node& node : nodes) {
    const cluster::MemoryTier* host = node.tier("host");
    table.rows.push_back({node.name, node.device.short_name, node.num_devices,
                          std::string(to_string(node.inside.kind)), known(node.inside.bandwidth),
                          node.domain(), std::string(to_string(node.network_kind)),
                          known(node.network), host != nullptr ? known(host->capacity) : Cell{},
                          known(node.source)});
  }
  table.notes.push_back(
      "Bandwidths are for one direction. Cloud offers are nodes too: see nereus catalog offers.");
  return table;
}

Table offers_table(const std::vector<cluster::Offer>& offers) {
  Table table{
      .name = "offers",
      .columns = {{"name", "offer"},
                  {"provider", "provider"},
                  {"device", "device"},
                  {"devices", "devices"},
                  {"on_demand_usd_per_hour", "on demand", Unit::kUsdPerHour},
                  {"spot_usd_per_hour", "spot", Unit::kUsdPerHour},
                  {"price_date", "priced on"},
                  {"region", "region", Unit::kNone, false, false, 3},
                  {"link_bytes_per_s", "link", Unit::kBytesPerSecond, false, false, 2},
                  {"network_bytes_per_s", "network", Unit::kBytesPerSecond, false, false, 1},
                  {"vcpus", "vCPUs", Unit::kNone, false, false, 4},
                  {"host_memory_bytes", "host memory", Unit::kBytes, false, false, 4},
                  {"why_not", "not predictable because", Unit::kNone, false, false, 5},
                  {"source", "price source", Unit::kNone, false, false, 6}}};
  for (const cluster::Offer& offer : offers) {
    const cluster::Node& node = offer.node;
    const cluster::MemoryTier* host = node.tier("host");
    table.rows.push_back({node.name, node.provider,
                          node.device.short_name.empty() ? offer.gpu_model : node.device.short_name,
                          node.num_devices, known(node.price.on_demand), known(node.price.spot),
                          known(node.price.date), known(node.price.region),
                          known(node.inside.bandwidth), known(node.network), known(node.vcpus),
                          host != nullptr ? known(host->capacity) : Cell{}, known(offer.why_not),
                          known(node.price.source)});
  }
  table.notes.push_back(
      "Prices are per node and hour, as of their date. The spot price is a "
      "median.");
  return table;
}

}  // namespace

Verb catalog_verb(Caller& caller) {
  struct Request {
    std::string kind;
    std::string filter;
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>(
      "catalog", "list models, devices, nodes and cloud offers that are known by name");
  command->argument("KIND", request->kind, "models, devices, nodes or offers",
                    {"models", "devices", "nodes", "offers"});
  command->optional_argument("FILTER", request->filter,
                             "show only entries whose name, family, provider or device contains "
                             "this");
  add_output_options(*command, request->output);
  command->about(
      "The names can be used as --model NAME and --cluster COUNTxNODE with every verb. Every "
      "entry has a source and every price a date; --format csv shows all columns.");
  command->example("nereus catalog models llama", "the LLaMA models");
  command->example("nereus catalog offers h100 --format csv", "offers of H100s, for a spreadsheet");
  command->run = [&caller, request] {
    const auto table = [&] {
      if (request->kind == "models") return models_table(app::catalog_models(request->filter));
      if (request->kind == "devices") return devices_table(app::catalog_devices(request->filter));
      if (request->kind == "nodes") return nodes_table(app::catalog_nodes(request->filter));
      return offers_table(app::catalog_offers(request->filter));
    };
    caller.answer({.tables = {table()}}, request->output);
    return kDone;
  };
  return command;
}

}  // namespace nereus::api
