#include "reproduce/reproduce_stash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/format.hpp"
#include "reproduce/stash_claims.hpp"

namespace nereus::app {

namespace {

constexpr ReproduceField kStashFields[] = {
    {"part", "", 0, 0, true},   // one of kStashParts alone
    {"model", "", 0, 0, true},  // one network alone
    {"sums", "", 0, 0, true},   // buckets or tensor alone
    {"links", "", 0, 0, true},  // best or shared alone
    {"first_bucket_mb", "1", 1e-6, 1e5},
    {"bucket_mb", "25", 1e-6, 1e5},
    {"gradient_bytes", "4", 1, 8},           // of one gradient on the wire; apex may send 2
    {"network_efficiency", "0.7", 0.01, 1},  // of all-reduces between machines
    {"pcie_gb_s", "10", 0.1, 100},           // between devices of p3 without NVLink
    {"host_copy_gb_s", "10", 0.1, 100},      // to one device
    {"launch_us", "10", 0, 1e3},             // of the host, for one kernel
    {"images", "1281166", 1, 1e12},          // of an epoch
    {"disk_mb_s", "250", 0.1, 1e6},          // that one machine reads
    {"prepare_ms", "8", 0, 1e4},             // of a core, for one image
};
constexpr const char* kStashParts[] = {"models",  "buckets", "steps",  "interconnect",
                                       "network", "cost",    "dearer", "collectives",
                                       "layers",  "formulas"};

constexpr double kPublishedInterconnect = 90;  // per cent of the step, arXiv 2208.14344 abstract
constexpr double kPublishedNetwork = 5;        // times one machine, there

// github.com/pytorch/pytorch issue 48880.
constexpr double kResnet18Buckets[] = {2052000, 28852224, 15853824};

std::string scenario(Sums sums, Links links) {
  return fmt::format("{}, {}", sums == Sums::kBuckets ? "buckets" : "one all-reduce per tensor",
                     links == Links::kBest ? "best links" : "shared links");
}

std::string chosen(Sums sums, Links links) {
  return fmt::format(" --set all.sums={} --set all.links={}", to_string(sums), to_string(links));
}

void add_models(StashClaims& claims) {
  for (const StashModelRow& row : stash_model_rows()) {
    const std::string name = row.name.starts_with("bert") ? "bert-large" : row.name;
    if (!claims.settings.wants("model", name)) continue;
    const StashNetwork& net = claims.network(name);
    Claim& claim =
        claims.add(fmt::format("{}: parameters", row.name), "models", " --set all.model=" + name);
    claim.kind = ClaimKind::kDerived;
    claim.published = row.parameters;
    claim.ours = net.parameters();
    claim.note = fmt::format("{} tensors, there {}", net.tensors.size(), row.tensors);
  }
  for (const int depth : {10, 12, 16, 18, 34, 50, 101, 152}) {
    const std::string name = fmt::format("resnet{}", depth);
    if (!claims.settings.wants("model", name)) continue;
    const StashNetwork& none = claims.network(name, Norms::kNone);
    const StashNetwork& coded = claims.network(name, Norms::kAsCoded);
    Claim& claim =
        claims.add(name + " without batch norm: tensors", "models", " --set all.model=" + name);
    claim.kind = ClaimKind::kDerived;
    claim.ours = static_cast<double>(none.tensors.size());
    claim.note = fmt::format(
        "{} parameters; as in its code, only in the stem and basic blocks: {} tensors",
        format_count(static_cast<std::int64_t>(none.parameters())), coded.tensors.size());
  }
}

void add_buckets(StashClaims& claims) {
  if (!claims.settings.wants("model", "resnet18")) return;
  const StashOptions options = claims.options(Sums::kBuckets, Links::kBest);
  std::vector<double> bytes;
  for (const StashTensor& own : claims.network("resnet18").tensors)
    bytes.push_back(own.elements * options.gradient_bytes);
  const std::vector<cost::Bucket> buckets = cost::bucket_gradients(bytes, options.buckets);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    Claim& claim = claims.add(fmt::format("resnet18, bucket {}: bytes", i + 1), "buckets");
    claim.kind = ClaimKind::kDerived;
    if (i < std::size(kResnet18Buckets)) claim.published = kResnet18Buckets[i];
    claim.ours = buckets[i].bytes;
    claim.note = fmt::format(
        "{} tensors; published: a log of github.com/pytorch/pytorch issue 48880", buckets[i].count);
  }
}

// A single device: checks the steps that stalls are compared with.
void add_steps(StashClaims& claims) {
  if (!claims.settings.wants("model", "resnet50")) return;
  constexpr int kBatch = 128;
  constexpr double kAmpMilliseconds = 152.20;
  const StashStep own = stash_step(claims.network("resnet50"), stash_machine("p3.2xlarge"),
                                   claims.options(Sums::kBuckets, Links::kBest), kBatch);
  const double seconds = own.one() - own.copy;
  Claim& claim =
      claims.add(fmt::format("resnet50, {} samples on one V100: ms per step", kBatch), "steps");
  claim.published = kAmpMilliseconds;
  claim.ours = seconds * 1e3;
  claim.note = fmt::format(
      "{:+.0f} %; published: torchvision under AMP, NCHW, "
      "github.com/sandeepkumar-skb/pytorch_experiments; NVIDIA's own script with channels last "
      "reaches 1,200 images/s on one GPU and 6.93 times as many on eight "
      "(github.com/NVIDIA/DeepLearningExamples); here one GPU reaches {:.0f}",
      100 * (seconds * 1e3 / kAmpMilliseconds - 1), kBatch / seconds);
}

// The maximum over all runs, and where it occurs.
struct Most {
  double value = -1;
  std::string where{};
  void take(double own, const std::string& place) {
    if (own > value) *this = {own, place};
  }
};

void add_interconnect(StashClaims& claims) {
  for (const Sums sums : claims.wanted_sums())
    for (const Links links : claims.wanted_links()) {
      Most most;
      for (const StashMachine& machine : claims.machines) {
        if (machine.count > 1 || machine.devices() == 1) continue;
        for (const StashRun& run : claims.runs(machine.name.substr(0, 2))) {
          if (run.model == "bert-large" && machine.name != "p3dn.24xlarge") continue;
          if (run.model != "bert-large" && machine.name == "p3dn.24xlarge") continue;
          const StashStep& own = claims.step(run, machine, sums, links);
          most.take(100 * own.interconnect_share(),
                    fmt::format("{}, {} samples per device, {}: {} of {} ms, {}", run.model,
                                run.batch, machine.name, format_significant(own.stall * 1e3),
                                format_significant(own.all() * 1e3),
                                counted(own.num_sums, "all-reduce")));
        }
      }
      if (most.value < 0) continue;
      Claim& claim = claims.add(
          fmt::format("interconnect stall at most, {}: % of the step", scenario(sums, links)),
          "interconnect", chosen(sums, links));
      claim.published = kPublishedInterconnect;
      claim.ours = most.value;
      claim.note = most.where;
    }
}

void add_network(StashClaims& claims) {
  struct Pair {
    const char *two, *one, *family;
  };
  constexpr Pair kPairs[] = {{"2xp2.8xlarge", "p2.16xlarge", "p2"},
                             {"2xp3.8xlarge", "p3.16xlarge", "p3"}};
  for (const Pair& pair : kPairs)
    for (const Sums sums : claims.wanted_sums())
      for (const Links links : claims.wanted_links()) {
        Most most;
        std::vector<double> all;
        for (const StashRun& run : claims.runs(pair.family)) {
          const double two = claims.step(run, stash_machine(pair.two), sums, links).all();
          const double one = claims.step(run, stash_machine(pair.one), sums, links).all();
          all.push_back(two / one);
          most.take(two / one,
                    fmt::format("{}, {} samples per device: {} and {} ms", run.model, run.batch,
                                format_significant(two * 1e3), format_significant(one * 1e3)));
        }
        if (all.empty()) continue;
        std::sort(all.begin(), all.end());
        Claim& claim = claims.add(fmt::format("{} against {} at most, {}: times as long", pair.two,
                                              pair.one, scenario(sums, links)),
                                  "network", chosen(sums, links));
        claim.published = kPublishedNetwork;
        claim.ours = most.value;
        claim.note = fmt::format("{}; median of {} {:.2f}", most.where, counted(all.size(), "run"),
                                 all[all.size() / 2]);
      }
}

void check_settings(const ReproduceSettings& settings) {
  ErrorList errors;
  settings.require_one_of("part", {std::begin(kStashParts), std::end(kStashParts)}, errors);
  settings.require_one_of("sums", {"buckets", "tensor"}, errors);
  settings.require_one_of("links", {"best", "shared"}, errors);
  std::vector<std::string> models;
  for (const StashModelRow& row : stash_model_rows())
    models.push_back(row.name.starts_with("bert") ? "bert-large" : row.name);
  settings.require_one_of("model", models, errors);
  errors.throw_if_any();
}

}  // namespace

ReproduceAnswer reproduce_stash(const ReproduceRequest& request) {
  const ReproduceSettings settings = read_settings(kStashFields, request);
  check_settings(settings);
  StashClaims claims(request, settings);
  struct Part {
    const char* name;
    void (*add)(StashClaims&);
  };
  constexpr Part kAll[] = {{"models", add_models},       {"buckets", add_buckets},
                           {"steps", add_steps},         {"interconnect", add_interconnect},
                           {"network", add_network},     {"cost", add_stash_cost},
                           {"dearer", add_stash_dearer}, {"collectives", add_stash_collectives},
                           {"layers", add_stash_layers}, {"formulas", add_stash_formulas}};
  for (const Part& part : kAll) {
    if (!claims.wants(part.name) || claims.stopped()) continue;
    const std::size_t first = claims.out.claims.size();
    const auto begin = std::chrono::steady_clock::now();
    part.add(claims);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    for (std::size_t i = first; i < claims.out.claims.size(); ++i)
      claims.out.claims[i].seconds =
          took.count() / static_cast<double>(claims.out.claims.size() - first);
  }
  claims.out.notes.emplace_back(
      "published: abstract of arXiv 2208.14344; the models, batches and machines of its 90 % and "
      "5x are only shown in figures");
  claims.out.notes.emplace_back(fmt::format(
      "steps are predicted: V100 in fp16, K80 and BERT in fp32, gradients of {} bytes, {} us to "
      "launch a kernel, samples copied at {} GB/s before each step, nothing else shared between "
      "devices",
      settings.text.at("gradient_bytes"), settings.text.at("launch_us"),
      settings.text.at("host_copy_gb_s")));
  return std::move(claims.out);
}

}  // namespace nereus::app
