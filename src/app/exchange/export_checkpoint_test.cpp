// A small GPT-2 and a small LLaMA, saved by ranks that divide them, and read back by an independent
// reader.
#include "app/exchange/export_checkpoint.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "checkpoint/checkpoint_testing.hpp"
#include "model/read/load_model.hpp"
#include "spec/value.hpp"
#include "tests/source_dir.hpp"

namespace nereus::app::export_checkpoint_test {
namespace {

namespace fs = std::filesystem;
using namespace checkpoint;
using checkpoint::testing::numbered_bytes;
using checkpoint::testing::pick_elements;
using checkpoint::testing::read_bytes;
using ::nereus::testing::codes_of;
using ::testing::ElementsAre;

struct Weight {
  std::string name;
  Shape shape;
  int dim = -1;  // that tensor parallelism cuts
  int groups = 1;
};

model::Model small_gpt() {
  model::TransformerShape shape;
  shape.name = "small";
  shape.layers = 2;
  shape.hidden = 8;
  shape.heads = 2;
  shape.ffn = 32;
  shape.vocab = 11;  // no multiple of the slices
  shape.seq = 4;
  shape.max_positions = 6;
  shape.tied_embeddings = true;
  return model::build_transformer(shape);
}

std::vector<Weight> gpt_weights() {
  std::vector<Weight> list = {{"transformer.wte.weight", {11, 8}, 0},
                              {"transformer.wpe.weight", {6, 8}}};
  for (int i = 0; i < 2; ++i)
    for (const Weight& w : std::vector<Weight>{{"ln_1.weight", {8}},
                                               {"ln_1.bias", {8}},
                                               {"attn.c_attn.weight", {8, 24}, 1, 3},
                                               {"attn.c_attn.bias", {24}, 0, 3},
                                               {"attn.c_proj.weight", {8, 8}, 0},
                                               {"attn.c_proj.bias", {8}},
                                               {"ln_2.weight", {8}},
                                               {"ln_2.bias", {8}},
                                               {"mlp.c_fc.weight", {8, 32}, 1},
                                               {"mlp.c_fc.bias", {32}, 0},
                                               {"mlp.c_proj.weight", {32, 8}, 0},
                                               {"mlp.c_proj.bias", {8}}})
      list.push_back({fmt::format("transformer.h.{}.{}", i, w.name), w.shape, w.dim, w.groups});
  list.push_back({"transformer.ln_f.weight", {8}});
  list.push_back({"transformer.ln_f.bias", {8}});
  return list;
}

model::Model small_llama() {
  return model::load_model("llama3-8b", {{"layers", "1"},
                                         {"hidden", "8"},
                                         {"heads", "4"},
                                         {"kv_heads", "2"},
                                         {"head_dim", "2"},
                                         {"ffn", "12"},
                                         {"vocab", "10"},
                                         {"seq", "4"}});
}

std::vector<Weight> llama_weights() {
  return {{"model.embed_tokens.weight", {10, 8}, 0},
          {"model.layers.0.input_layernorm.weight", {8}},
          {"model.layers.0.self_attn.q_proj.weight", {8, 8}, 0},
          {"model.layers.0.self_attn.k_proj.weight", {4, 8}, 0},
          {"model.layers.0.self_attn.v_proj.weight", {4, 8}, 0},
          {"model.layers.0.self_attn.o_proj.weight", {8, 8}, 1},
          {"model.layers.0.post_attention_layernorm.weight", {8}},
          {"model.layers.0.mlp.gate_proj.weight", {12, 8}, 0},
          {"model.layers.0.mlp.up_proj.weight", {12, 8}, 0},
          {"model.layers.0.mlp.down_proj.weight", {8, 12}, 1},
          {"model.norm.weight", {8}},
          {"lm_head.weight", {10, 8}, 0}};
}

std::vector<std::byte> bytes_of(const Weight& weight, DType dtype) {
  return numbered_bytes(*num_bytes(dtype, weight.shape), std::hash<std::string>{}(weight.name));
}

// tp 2, each slice's buffer over two ranks, unevenly; Adam's state beside the weights.
void save(const std::string& folder, const model::Model& model, const std::vector<Weight>& weights,
          DType dtype, std::int64_t step = 3) {
  plan::Plan plan = checkpoint::testing::small_plan();
  plan.model = model;
  std::vector<Part> parts;
  for (const Weight& weight : weights) {
    const std::vector<std::byte> whole = bytes_of(weight, dtype);
    for (int slice = 0; slice < (weight.dim < 0 ? 1 : 2); ++slice) {
      const SliceSpec spec{slice, 2, weight.dim, weight.groups};
      const std::int64_t size = num_elements(slice_shape(weight.shape, spec));
      for (const auto& [begin, end] :
           {std::pair(std::int64_t{0}, size / 3), std::pair(size / 3, size)}) {
        const std::vector<std::byte> bytes =
            pick_elements(whole, weight.shape, spec, begin, end, element_size(dtype));
        parts.push_back(own_copy({weight.name, TensorKind::kWeight, dtype, weight.shape, spec,
                                  begin, end, static_cast<int>(parts.size()) / 8, bytes}));
        parts.push_back(parts.back());
        parts.back().kind = TensorKind::kAdamM;
      }
    }
  }
  Writer writer({.folder = folder});
  writer.save({.step = step}, plan, std::move(parts));
  writer.wait();
}

// What tests/tools/read_safetensors.py sees in a file.
std::vector<std::string> seen_by_python(const std::string& file, const std::string& out) {
  const std::string command = fmt::format("python3 '{}/tests/tools/read_safetensors.py' '{}' '{}'",
                                          source_dir(), file, out);
  FILE* pipe = popen(command.c_str(), "r");
  std::vector<std::string> lines(1);
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back().push_back(static_cast<char>(c));
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  lines.pop_back();
  return lines;
}

bool has_python() { return std::system("python3 -c 'import json, struct' 2>/dev/null") == 0; }

void expect_same(const std::vector<Weight>& weights, DType dtype, const std::string& file,
                 const std::string& out) {
  std::vector<std::string> expected;
  for (const Weight& weight : weights)
    expected.push_back(
        fmt::format("{} {} {}", weight.name, to_string(dtype), fmt::join(weight.shape, "x")));
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(seen_by_python(file, out), expected);
  for (const Weight& weight : weights)
    EXPECT_EQ(read_bytes(out + "/" + weight.name + ".bin"), bytes_of(weight, dtype)) << weight.name;
}

TEST(ExportCheckpoint, AnIndependentReaderSeesTheWeights) {
  if (!has_python()) GTEST_SKIP() << "no python3";
  const TemporaryFolder folder;
  save(folder / "gpt", small_gpt(), gpt_weights(), DType::kF32);
  const CheckpointExport gpt = export_checkpoint({folder / "gpt", folder / "hf-gpt"});
  EXPECT_EQ(gpt.step, 3);
  EXPECT_EQ(static_cast<double>(gpt.parameters), small_gpt().parameters());
  EXPECT_EQ(gpt.torch_dtype, "float32");
  ASSERT_EQ(gpt.files.size(), 2U);
  EXPECT_EQ(gpt.files[1].size, fs::file_size(folder / "hf-gpt/model.safetensors"));
  expect_same(gpt_weights(), DType::kF32, folder / "hf-gpt/model.safetensors", folder / "seen-gpt");

  save(folder / "llama", small_llama(), llama_weights(), DType::kBf16);
  const CheckpointExport llama =
      export_checkpoint({folder / "llama/step-000003", folder / "hf-llama"});
  EXPECT_EQ(llama.torch_dtype, "bfloat16");
  expect_same(llama_weights(), DType::kBf16, folder / "hf-llama/model.safetensors",
              folder / "seen-llama");
  // The folder is a model that the planner reads.
  EXPECT_EQ(model::load_model(folder / "hf-llama/config.json").parameters(),
            small_llama().parameters());
}

TEST(ExportCheckpoint, LargeModelsAreDividedAndIndexed) {
  const TemporaryFolder folder;
  save(folder / "gpt", small_gpt(), gpt_weights(), DType::kF32);
  const CheckpointExport done = export_checkpoint(
      {.checkpoint = folder / "gpt", .directory = folder / "hf", .most_file_bytes = 2500});
  ASSERT_GT(done.files.size(), 4U);
  EXPECT_EQ(done.files.back().name, "model.safetensors.index.json");
  const spec::Value index = spec::parse_file(folder / "hf/model.safetensors.index.json");
  const auto& map = std::get<spec::Table>(index.find("weight_map")->data);
  EXPECT_EQ(map.size(), gpt_weights().size());
  std::uint64_t total = 0;
  for (const Weight& weight : gpt_weights()) {
    const spec::Value* file = index.find("weight_map")->find(weight.name);
    ASSERT_NE(file, nullptr) << weight.name;
    const SafetensorsFile read(folder / "hf/" + std::get<std::string>(file->data));
    ASSERT_NE(read.find(weight.name), nullptr) << weight.name;
    const std::span<const std::byte> bytes = read.bytes(*read.find(weight.name));
    EXPECT_EQ(std::vector(bytes.begin(), bytes.end()), bytes_of(weight, DType::kF32));
    total += bytes.size();
  }
  EXPECT_EQ(std::get<std::int64_t>(index.find("metadata")->find("total_size")->data),
            static_cast<std::int64_t>(total));
}

TEST(ExportCheckpoint, TheTiedHeadIsNotWrittenTwice) {
  const TemporaryFolder folder;
  std::vector<Weight> weights = gpt_weights();
  weights.push_back({"lm_head.weight", {11, 8}, 0});
  save(folder / "gpt", small_gpt(), weights, DType::kF32);
  export_checkpoint({folder / "gpt", folder / "hf"});
  const SafetensorsFile file(folder / "hf/model.safetensors");
  EXPECT_EQ(file.find("lm_head.weight"), nullptr);
  EXPECT_NE(file.find("transformer.wte.weight"), nullptr);
}

TEST(ExportCheckpoint, RefusesWhatIsNoWholeModel) {
  const TemporaryFolder folder;
  const auto codes = [&](const std::string& from) {
    return codes_of([&] { export_checkpoint({folder / from, folder / "hf"}); });
  };
  EXPECT_THAT(codes("nowhere"), ElementsAre("checkpoint.none"));
  std::vector<Weight> weights = gpt_weights();
  weights.pop_back();
  save(folder / "part", small_gpt(), weights, DType::kF32);
  EXPECT_THAT(codes("part"), ElementsAre("export.incomplete"));
  model::TransformerShape experts = *small_gpt().transformer;
  experts.experts = 2;
  experts.top_k = 1;
  experts.expert_ffn = 4;
  save(folder / "experts", model::build_transformer(experts), weights, DType::kF32);
  EXPECT_THAT(codes("experts"), ElementsAre("export.cannot-express"));
  // Broken weights: found while it is joined, and nothing is left behind.
  save(folder / "broken", small_gpt(), gpt_weights(), DType::kF32);
  const std::string file = folder / "broken/step-000003/layer-0000.rank-0000.safetensors";
  std::vector<std::byte> bytes = read_bytes(file);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (std::size_t i = 8 + header; i < bytes.size(); ++i) bytes[i] ^= std::byte{1};
  checkpoint::testing::write_bytes(file, bytes);
  EXPECT_THAT(codes("broken"), ElementsAre("checkpoint.checksum"));
  EXPECT_FALSE(fs::exists(folder / "hf"));
}

}  // namespace
}  // namespace nereus::app::export_checkpoint_test
