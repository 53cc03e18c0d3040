#include "cluster/catalogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cluster/cells.hpp"
#include "cluster/load_cluster.hpp"
#include "spec/csv.hpp"

namespace nereus::cluster::catalogue_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const Catalogue& known() { return builtin_catalogue(); }

const Device& device(std::string_view name) {
  const Device* found = known().find_device(name);
  EXPECT_NE(found, nullptr) << name;
  static const Device none;
  return found == nullptr ? none : *found;
}

const Node& node(std::string_view name) {
  const Node* found = known().find_node(name);
  EXPECT_NE(found, nullptr) << name;
  static const Node none;
  return found == nullptr ? none : *found;
}

TEST(Catalogue, HoldsDataSheetFigures) {
  const Device& a100 = device("A100 SXM4 80GB");
  EXPECT_EQ(a100.short_name, "A100-SXM-80GB");
  EXPECT_EQ(a100.memory, Bytes{80 * kGiB});
  EXPECT_LT(a100.capacity(), a100.memory);
  EXPECT_EQ(a100.memory_bandwidth, BytesPerSecond{2000e9});
  EXPECT_EQ(a100.peak_of(Precision::kBf16), FlopsPerSecond{312e12});
  EXPECT_EQ(a100.peak_of(Precision::kTf32), FlopsPerSecond{156e12});
  EXPECT_EQ(a100.peak_of(Precision::kFp64), FlopsPerSecond{19.5e12});
  EXPECT_FALSE(a100.has(Precision::kFp8));
  EXPECT_EQ(a100.num_units, 108);
  EXPECT_EQ(a100.host_link, BytesPerSecond{31.5e9});
  EXPECT_EQ(device("H100").peak_of(Precision::kFp8), FlopsPerSecond{1979e12});
  EXPECT_EQ(device("H100").num_units, 132);
  EXPECT_FALSE(device("V100").has(Precision::kBf16));
  EXPECT_EQ(device("V100").num_units, 80);
}

TEST(Catalogue, BlockFormatsNeedHardware) {
  for (const char* name : {"B200", "B300", "GB200", "GB300"}) {
    EXPECT_EQ(device(name).peak_of(Precision::kMxfp8), device(name).peak_of(Precision::kFp8));
    EXPECT_GT(device(name).peak_of(Precision::kNvfp4), device(name).peak_of(Precision::kFp8));
  }
  for (const char* name : {"H100", "A100", "H200"}) {
    EXPECT_FALSE(device(name).has(Precision::kMxfp8)) << name;
    EXPECT_FALSE(device(name).has(Precision::kNvfp4)) << name;
  }
  EXPECT_TRUE(device("MI355X").has(Precision::kMxfp8));
  EXPECT_FALSE(device("MI355X").has(Precision::kNvfp4));
}

void expect_not_slower(const Device& d, Precision narrow, Precision wide) {
  if (!d.has(narrow) || !d.has(wide)) return;
  EXPECT_GE(d.peak_of(narrow), d.peak_of(wide)) << d.name << ' ' << to_string(narrow);
}

TEST(Catalogue, EveryDeviceIsPlausible) {
  EXPECT_EQ(known().devices().size(), 58U);
  for (const Device& d : known().devices()) {
    EXPECT_GE(d.memory.value, 8 * kGiB) << d.name;
    EXPECT_LE(d.usable_memory, d.memory) << d.name;
    if (d.usable_memory.value > 0) {
      EXPECT_GT(d.usable_memory / d.memory, 0.9) << d.name;
    }
    EXPECT_GT(d.memory_bandwidth.value, 100e9) << d.name;
    EXPECT_FALSE(d.source.empty()) << d.name;
    EXPECT_TRUE(d.has(Precision::kFp32) || d.has(Precision::kBf16)) << d.name;
    // A narrower format is never slower. The P40 is the exception: its fp16 runs at 1/64.
    if (d.name == "P40") continue;
    expect_not_slower(d, Precision::kTf32, Precision::kFp32);
    expect_not_slower(d, Precision::kFp16, Precision::kFp32);
    expect_not_slower(d, Precision::kFp8, Precision::kBf16);
    // AMD's matrix units of that part reach in fp64 what they reach in fp32.
    if (!d.name.starts_with("MI250X")) expect_not_slower(d, Precision::kFp32, Precision::kFp64);
  }
}

TEST(Catalogue, FindsDevicesByAnyName) {
  EXPECT_EQ(device("a100-sxm-80gb").name, "A100 SXM4 80GB");
  EXPECT_EQ(device("NVIDIA A100-SXM4-80GB").name, "A100 SXM4 80GB");
  EXPECT_EQ(device("TPUv4").name, "TPU v4");
  EXPECT_EQ(known().find_device("Ampere GPU"), nullptr);  // says nothing, on purpose
  EXPECT_EQ(known().find_device("abacus"), nullptr);
  EXPECT_EQ(known().find_device(""), nullptr);
}

TEST(Catalogue, MemorySettlesAmbiguousNames) {
  EXPECT_EQ(device("V100").name, "V100 SXM2/SXM3 32GB");  // as published runs mean it
  EXPECT_EQ(known().find_device("V100", 16)->name, "V100 SXM2 16GB");
  EXPECT_EQ(known().find_device("A100", 40)->name, "A100 SXM4 40GB");
  EXPECT_EQ(known().find_device("A100", 80)->name, "A100 SXM4 80GB");
}

TEST(Catalogue, EveryAliasResolves) {
  int num_aliases = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path != "catalog/gpu_aliases.csv") continue;
    const Cells cells(file.text, std::string(file.path));
    for (const Cells::Row row : cells) {
      ++num_aliases;
      if (row.text("devices_csv_name").empty()) continue;
      const Device* found = known().find_device(row.text("name_in_runs"), row.number("memory_gb"));
      ASSERT_NE(found, nullptr) << row.text("name_in_runs");
      EXPECT_EQ(found->name, row.text("devices_csv_name"));
      EXPECT_EQ(found->short_name, row.text("canonical_name"));
    }
  }
  EXPECT_EQ(num_aliases, 175);
}

TEST(Catalogue, EveryPrecisionAliasResolves) {
  EXPECT_EQ(known().find_precision("bf16"), Precision::kBf16);
  EXPECT_EQ(known().find_precision("FP8-MX"), Precision::kMxfp8);
  EXPECT_EQ(known().find_precision("amp_bf16"), Precision::kBf16);
  EXPECT_EQ(known().find_precision("float8-rowwise"), Precision::kFp8);
  EXPECT_EQ(known().find_precision("NVFP4"), Precision::kNvfp4);
  EXPECT_EQ(known().find_precision(""), std::nullopt);
  EXPECT_EQ(known().find_precision("INT8"), Precision::kInt8);
  EXPECT_EQ(known().find_precision("int4"), std::nullopt);
  for (int i = 0; i < kNumPrecisions; ++i) {
    const auto precision = static_cast<Precision>(i);
    EXPECT_EQ(parse_precision(to_string(precision)), precision);
    EXPECT_EQ(known().find_precision(to_string(precision)), precision);
  }
}

TEST(Catalogue, OwnMachines) {
  for (const char* name : {"dgx-1-v100",
                           "dgx-2",
                           "dgx-a100-40",
                           "dgx-a100-80",
                           "dgx-h100",
                           "dgx-h200",
                           "dgx-b200",
                           "dgx-b300",
                           "gb200-nvl72",
                           "gb300-nvl72",
                           "mi300x-8",
                           "mi325x-8",
                           "mi355x-8",
                           "tpu-v4",
                           "tpu-v5e",
                           "tpu-v5p",
                           "tpu-v6e",
                           "tpu7x",
                           "trn1-chips",
                           "trn1-cores",
                           "trn2-chips",
                           "gaudi3-8",
                           "server-8x-t4",
                           "server-8x-rtx-5090",
                           "workstation-rtx-4090"}) {
    const Node& n = node(name);
    EXPECT_TRUE(load_cluster("1x" + n.name).num_devices() == n.num_devices) << name;
    EXPECT_FALSE(n.source.empty()) << name;
    EXPECT_GE(n.nvlink_domain, n.num_devices) << name;
    EXPECT_EQ(n.price, Price{}) << name;  // owned
    for (const MemoryTier& tier : n.tiers)
      if (tier.name == "host" && n.device.host_link.value > 0) {
        EXPECT_EQ(tier.bandwidth, n.device.host_link) << name;
      }
  }
  EXPECT_EQ(node("dgx-a100-80").inside.bandwidth, BytesPerSecond{300e9});  // 600 GB/s both ways
  EXPECT_EQ(node("dgx-a100-80").network, BytesPerSecond{200e9});           // 8 x 200 Gbit/s
  EXPECT_EQ(node("dgx-h100").inside.bandwidth, BytesPerSecond{450e9});
  EXPECT_EQ(node("dgx-h100").network, BytesPerSecond{400e9});  // 8 x 400 Gbit/s
  EXPECT_EQ(node("DGX-H100").network_kind, LinkKind::kInfiniband);
  EXPECT_EQ(node("dgx-h100").network_latency, *known().usual_latency(LinkKind::kInfiniband));
  EXPECT_EQ(node("gb200-nvl72").domain(), 72);
  EXPECT_EQ(node("dgx-2").num_devices, 16);
  EXPECT_EQ(node("dgx-h100").tier("host")->capacity, Bytes{2 * kTiB});
}

TEST(Catalogue, OwnMachinesLinkAsTheirDevices) {
  // The device table states each device's fast link: the node must agree with it.
  int compared = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path != "catalog/devices.csv") continue;
    const Cells cells(file.text, std::string(file.path));
    for (const Cells::Row row : cells)
      for (const Node& n : known().nodes())
        if (n.device.name == row.text("gpu") && n.num_devices > 1) {
          // Of cards in a server, a bridge joins two at most: what joins all is PCIe.
          const char* column = n.inside.kind == LinkKind::kPcie ? "host_link_GBps_one_way"
                                                                : "nvlink_or_equiv_GBps_one_way";
          EXPECT_EQ(n.inside.bandwidth.value, row.number(column) * 1e9) << n.name;
          ++compared;
        }
  }
  EXPECT_GE(compared, 10);
}

TEST(Catalogue, EveryOfferIsListed) {
  EXPECT_EQ(known().offers().size(), 165U);
  int num_no_price = 0, num_no_network = 0, num_why_not = 0, num_many = 0;
  std::set<std::string> names;
  for (const Offer& offer : known().offers()) {
    const Node& n = offer.node;
    EXPECT_TRUE(names.insert(lower(n.name)).second) << n.name;
    EXPECT_EQ(known().find_node(n.name), &n);
    EXPECT_EQ(known().find_offer(n.name), &offer);
    EXPECT_GT(n.num_devices, 0) << n.name;
    EXPECT_FALSE(n.provider.empty());
    num_no_price += n.price.on_demand.value == 0;
    num_no_network += n.network.value == 0;
    num_why_not += !offer.why_not.empty();
    num_many += !offer.why_not_many.empty();
    if (n.price.on_demand.value > 0) {
      EXPECT_EQ(n.price.date.size(), 10U) << n.name;
    }
    EXPECT_TRUE(offer.why_not.empty() || offer.why_not.starts_with("cannot be predicted: "));
    if (offer.why_not.empty()) {
      EXPECT_EQ(offer.why_not_many.empty(), n.network.value > 0) << n.name;
    }
  }
  EXPECT_EQ(num_no_price, 3);
  EXPECT_EQ(num_no_network, 86);
  EXPECT_EQ(num_why_not, 16);  // several devices, and nothing said about the link between them
  EXPECT_EQ(num_many, 74);
}

TEST(Catalogue, OffersLoadOrSayWhyNot) {
  for (const Offer& offer : known().offers()) {
    const std::string spec = "1x\"" + offer.node.name + "\"";
    if (offer.why_not.empty())
      EXPECT_EQ(load_cluster(spec).num_devices(), offer.node.num_devices) << spec;
    else
      EXPECT_THROW(load_cluster(spec), Errors) << spec;
    const std::string two = "2x\"" + offer.node.name + "\"";
    if (offer.why_not.empty() && offer.why_not_many.empty())
      EXPECT_EQ(load_cluster(two).num_nodes(), 2) << two;
    else
      EXPECT_THROW(load_cluster(two), Errors) << two;
  }
}

TEST(Catalogue, OffersCarryWhatTheirProviderSays) {
  const Node& p4d = node("p4d.24xlarge");
  EXPECT_EQ(p4d.device.name, "A100 SXM4 40GB");
  EXPECT_EQ(p4d.network, BytesPerSecond{50e9});  // 400 Gbit/s
  EXPECT_EQ(p4d.inside.bandwidth, BytesPerSecond{300e9});
  EXPECT_EQ(p4d.inside.kind, LinkKind::kNvswitch);
  EXPECT_EQ(p4d.price.date, "2026-08-22");
  EXPECT_EQ(p4d.price.region, "us-east-1");
  EXPECT_GT(p4d.price.on_demand, p4d.price.spot);
  EXPECT_EQ(p4d.tier("host")->capacity, Bytes{1152 * kGiB});
  EXPECT_EQ(node("p3.16xlarge").device.name, "V100 SXM2 16GB");
  EXPECT_EQ(node("p3dn.24xlarge").device.name, "V100 SXM2/SXM3 32GB");
  EXPECT_EQ(node("Standard_NC24s_v3").device.name, "V100 PCIe 16GB");
  EXPECT_EQ(node("gpu_1x_h100_pcie").device.name, "H100 PCIe 80GB");
  EXPECT_EQ(node("g5.48xlarge").device.peak_of(Precision::kBf16), FlopsPerSecond{70e12});
  EXPECT_EQ(node("p2.16xlarge").device.short_name, "K80");
  // Training uses the InfiniBand of these sizes, not the 80 Gbit/s Ethernet of the same row.
  EXPECT_EQ(node("Standard_ND96isr_H100_v5").network, BytesPerSecond{400e9});
  EXPECT_EQ(node("Standard_ND96isr_H100_v5").network_kind, LinkKind::kInfiniband);
}

TEST(Catalogue, OffersSayWhatIsAssumed) {
  EXPECT_THAT(known().find_offer("gpu_1x_gh200")->assumptions.at(0), HasSubstr("memory"));
  EXPECT_THAT(known().find_offer("gpu_8x_a100")->why_not, HasSubstr("how fast its 8 devices"));
  EXPECT_THAT(known().find_offer("gpu_8x_h100_sxm5")->why_not_many,
              StartsWith("cannot be predicted on more than one node"));
}

TEST(Catalogue, UnknownNamesGetTheNearest) {
  const Error e = known().unknown_node("dgx-h10");
  EXPECT_EQ(e.code, "cluster.unknown-node");
  EXPECT_THAT(e.hint, HasSubstr("dgx-h100"));
  EXPECT_EQ(known().unknown_device("A100-SXM-80").code, "cluster.unknown-device");
  EXPECT_THAT(known().unknown_device("A100-SXM-80").hint, HasSubstr("A100-SXM-80GB"));
}

TEST(Catalogue, BrokenFilesAreErrors) {
  EXPECT_THROW(Catalogue::load({}), Errors);
  std::vector<EmbeddedFile> files = embedded_files();
  for (EmbeddedFile& file : files) {
    const std::string_view text = file.text;
    if (!file.path.starts_with("catalog/") || file.path.find('/', 8) != std::string_view::npos)
      continue;
    if (!file.path.ends_with(".csv") && file.path != "catalog/nodes.toml") continue;
    file.text = "a,b\n1,2\n";
    EXPECT_THROW(Catalogue::load(files), Errors) << file.path;
    file.text = text;
  }
}

}  // namespace
}  // namespace nereus::cluster::catalogue_test
