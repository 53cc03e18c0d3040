#include "model/script_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/base_testing.hpp"
#include "base/remove_tree.hpp"
#include "base/temporary_folder.hpp"
#include "model/model_io.hpp"
#include "model/read/load_model.hpp"
#include "spec/source.hpp"

namespace nereus::model::script_model_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// A stem that two layers read, and a head that reads both.
constexpr const char* kDiamond = R"({
 "nereus_export": 1, "name": "diamond", "id": "abc", "torch": "1.13", "loss_sha256": "0",
 "input": {"shape": [8], "integer": false, "vocabulary": 0},
 "target": {"shape": [], "integer": true},
 "layers": [
  {"name": "stem", "inputs": [], "parameters": [{"name": "weight", "shape": [32, 8]},
   {"name": "bias", "shape": [32]}], "output": [32], "products": [{"rows": 1, "n": 32, "k": 8}],
   "saved_elements": 8},
  {"name": "left", "inputs": ["stem"], "output": [32], "read_elements": 32,
   "written_elements": 32, "kernels": 1, "saved_elements": 32},
  {"name": "right", "inputs": ["stem"], "parameters": [{"name": "w", "shape": [5]}],
   "output": [16], "kernels": 2},
  {"name": "head", "inputs": ["left", "right", "left"], "parameters": [],
   "output": [4], "products": [{"rows": 1, "n": 4, "k": 48}]}]})";

ScriptModel read(const std::string& text) {
  return script_from_value(spec::parse_json(text, "x/model.json"), "x");
}

std::vector<std::string> codes_of(const std::string& text) {
  return ::nereus::testing::codes_of([&] { read(text); });
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kDiamond;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Script, LayersHaveTheCountsThatWereMeasured) {
  const Model m = build_script(read(kDiamond));
  EXPECT_EQ(m.name, "diamond");
  EXPECT_EQ(m.family, "script");
  ASSERT_EQ(m.num_layers(), 4);
  EXPECT_EQ(m.parameters(), 32 * 8 + 32 + 5);
  EXPECT_EQ(m.layer(0).parameters(), 32 * 8 + 32);
  EXPECT_EQ(m.layer(0).forward_flops(), 2 * 32 * 8);
  EXPECT_EQ(m.layer(0).input_elements, 8);
  EXPECT_EQ(m.layer(3).input_elements, 48) << "what is read twice comes once";
  EXPECT_EQ(m.layer(3).role, LayerRole::kHead);
  EXPECT_EQ(m.tokens_per_sample, 0);
  EXPECT_THAT(m.edges, ElementsAre(Edge{0, 1, 32}, Edge{0, 2, 32}, Edge{1, 3, 32}, Edge{2, 3, 16}));
}

TEST(Script, AChainHasNoEdges) {
  const std::string text = R"({"nereus_export": 1, "name": "c", "id": "1",
    "input": {"shape": [6], "integer": true, "vocabulary": 16},
    "target": {"shape": [6], "integer": true},
    "layers": [{"name": "a", "output": [6, 4]}, {"name": "b", "inputs": ["a"], "output": [6, 16]}]})";
  const ScriptModel script = read(text);
  EXPECT_TRUE(script.reads_tokens());
  const Model m = build_script(script);
  EXPECT_TRUE(m.edges.empty());
  EXPECT_EQ(m.tokens_per_sample, 6);
  EXPECT_EQ(m.layer(0).output_elements, 24);
}

TEST(Script, APlansModelComesBackWithItsFolder) {
  const Model m = build_script(read(kDiamond));
  ErrorList errors;
  const Model again = model_from_value(spec::parse_json(model_to_json(m), "plan"), errors);
  ASSERT_TRUE(errors.empty());
  EXPECT_EQ(again, m);
  ASSERT_TRUE(again.script);
  EXPECT_EQ(again.script->path, m.script->path);
  EXPECT_TRUE(fs::path(m.script->path).is_absolute());
  Model moved = m, other = m;
  moved.script->path = "/elsewhere";
  other.script->id = "abd";
  EXPECT_EQ(moved, m);
  EXPECT_FALSE(other == m);
}

TEST(Script, BadFilesAreRefused) {
  EXPECT_THAT(codes_of(with(R"("nereus_export": 1)", R"("nereus_export": 2)")),
              ElementsAre("spec.range"));
  EXPECT_THAT(codes_of(with(R"(["stem"])", R"(["stern"])")),
              ElementsAre("model.graph", "model.graph"));
  EXPECT_THAT(codes_of(with(R"("name": "left")", R"("name": "stem")")),
              ::testing::Contains("model.graph"));
  EXPECT_THAT(codes_of(with(R"("left", "right", "left")", R"("right")")),
              ElementsAre("model.graph"));
  EXPECT_THAT(codes_of(with(R"("id": "abc", )", "")), ElementsAre("spec.missing-key"));
}

TEST(Script, AFolderIsAModelAndItsIdIsHeld) {
  const TemporaryFolder folder;
  folder.write("model.json", kDiamond);
  const Model m = load_model(folder.path());
  EXPECT_EQ(m.family, "script");
  EXPECT_EQ(open_script(*m.script).layers.size(), 4);
  ScriptFolder other = *m.script;
  other.id = "other";
  EXPECT_THROW(open_script(other), Errors);
  EXPECT_THROW(load_model(folder.path(), {{"seq", "4"}}), Errors);
  remove_tree(folder.path());
  EXPECT_THROW(open_script(*m.script), Errors);
}

}  // namespace
}  // namespace nereus::model::script_model_test
