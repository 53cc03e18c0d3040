#include "model/dlrm.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "model/model.hpp"
#include "model/model_io.hpp"
#include "model/read/load_model.hpp"

namespace nereus::model::dlrm_test {
namespace {

DlrmShape small() {
  return {.name = "small",
          .rows = {1000, 40},
          .lookups = {},
          .dim = 16,
          .dense_features = 13,
          .bottom = {64, 16},
          .top = {32, 1}};
}

TEST(Dlrm, ParametersAndInteractionBelongTogether) {
  const Model m = build_dlrm(small());
  const double tables = 1040 * 16;
  const double bottom = 13 * 64 + 64 + 64 * 16 + 16;
  const double top_in = 3 * 2 / 2 + 16;
  EXPECT_EQ(m.parameters(), tables + bottom + top_in * 32 + 32 + 32 + 1);
  EXPECT_EQ(m.num_layers(), 2 + 1 + 1 + 2);
  const double macs = 13 * 64 + 64 * 16 + 3 * 3 * 16 + top_in * 32 + 32;
  EXPECT_EQ(m.training_flops(), 3 * 2 * macs);
}

TEST(Dlrm, TablesAreOneLayerBesideTheBottomMlp) {
  const Model m = build_dlrm(small());
  const std::vector<Edge> expected = {{1, 2, 64}, {0, 3, 32}, {2, 3, 16}, {3, 4, 19}, {4, 5, 32}};
  EXPECT_EQ(m.edges, expected);
  EXPECT_EQ(m.table_layer(), 0);
  EXPECT_EQ(m.layer(0).operators.size(), 2U);
  EXPECT_EQ(m.layer(0).table_parameters(), 1040 * 16);
  EXPECT_EQ(m.layer(0).expert_parameters(), 0);
  EXPECT_EQ(m.layer(3).input_elements, 48);
}

TEST(Dlrm, LookupsScaleTheTablesReads) {
  DlrmShape shape = small();
  shape.lookups = {20};
  EXPECT_EQ(build_dlrm(shape).layer(0).operators[0].read_elements, 20 * 16);
  shape.lookups = {20, 3};
  EXPECT_EQ(build_dlrm(shape).layer(0).operators[1].read_elements, 3 * 16);
}

TEST(Dlrm, EachOptimizerKeepsItsOwnState) {
  const auto state = [](TableOptimizer optimizer) {
    DlrmShape shape = small();
    shape.table_optimizer = optimizer;
    const Operator table = build_dlrm(shape).layer(0).operators[0];
    return table.parameters * table.state_bytes + table.k * table.row_state_bytes;
  };
  EXPECT_EQ(state(TableOptimizer::kSgd), 0);
  EXPECT_EQ(state(TableOptimizer::kRowwiseAdagrad), 4 * 1000);
  EXPECT_EQ(state(TableOptimizer::kAdagrad), 4 * 1000 * 16);
  EXPECT_EQ(state(TableOptimizer::kAdam), 8 * 1000 * 16);
}

// LIBRA's DLRM workload (astra-sim/libra, inputs/workload): its layer times are to one another as
// 1600 x 1024, five of 1024 x 1024 and 1024 x 64 below, 4160 x 2048, ten of 2048 x 2048 and 2048 x
// 1 above, and its all-reduce of 114,823,168 bytes is just those weights in 16 bit. 4160 = 65 x 64:
// 64 tables and the dense vector, one after the other.
TEST(Dlrm, LibrasAllReduceIsTheWeightsOfItsMlps) {
  DlrmShape shape;
  shape.rows.assign(64, 1000);
  shape.dim = 64;
  shape.dense_features = 1600;
  shape.bottom = {1024, 1024, 1024, 1024, 1024, 1024, 64};
  shape.top.assign(11, 2048);
  shape.top.push_back(1);
  shape.interaction = Interaction::kCat;
  const Model m = build_dlrm(shape);
  double weights = 0;
  for (int i = 0; i < m.num_layers(); ++i)
    for (const Operator& op : m.layer(i).operators)
      if (op.kind == OpKind::kGemm) weights += op.n * op.k;
  EXPECT_EQ(2 * weights, 114'823'168);
}

TEST(Dlrm, CrossLayersAreLowRank) {
  DlrmShape shape = small();
  shape.interaction = Interaction::kCross;
  shape.cross_layers = 3;
  shape.cross_rank = 8;
  const double width = 3 * 16;
  const Model m = build_dlrm(shape);
  const double mlps = 13 * 64 + 64 + 64 * 16 + 16 + width * 32 + 32 + 32 + 1;
  EXPECT_EQ(m.parameters(), 1040 * 16 + mlps + 3 * (2 * width * 8 + width));
  EXPECT_EQ(m.num_layers(), 2 + 1 + 1 + 3 + 2);
}

// mlcommons/training recommendation_v2: 204,184,588 rows of 128, and its dense layers by hand.
TEST(Dlrm, TheCatalogueHasMlperfsShapes) {
  const Model one = load_model("dlrm");
  const Model multi = load_model("dlrm-dcnv2");
  const double tables = 204'184'588.0 * 128;
  EXPECT_EQ(one.layer(one.table_layer()).table_parameters(), tables);
  const double bottom = 13 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128;
  const double cross = 3 * (2 * 3456.0 * 512 + 3456);
  const double top =
      3456.0 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 512 + 512 + 512 * 256 + 256 + 256 + 1;
  EXPECT_EQ(multi.parameters(), tables + bottom + cross + top);
  double lookups = 0;
  for (const Operator& op : multi.layer(multi.table_layer()).operators) lookups += op.rows;
  EXPECT_EQ(lookups, 214);
  EXPECT_NEAR(load_model("dlrm-1t").parameters(), 1e12, 1e9);
}

TEST(Dlrm, ImpossibleShapesAreRefusedAllAtOnce) {
  try {
    build_dlrm({.name = "bad",
                .rows = {0},
                .lookups = {1, 2},
                .dim = 16,
                .dense_features = 0,
                .bottom = {8},
                .top = {},
                .cross_layers = 2,
                .table_bytes = 3});
    FAIL();
  } catch (const Errors& e) {
    EXPECT_EQ(e.list().size(), 7U) << e.what();
  }
}

TEST(Dlrm, LayersWithOddTablesAreNotRead) {
  const auto codes_of = [](Model m) {
    m.dlrm.reset();
    ErrorList errors;
    model_from_value(layers_to_value(m), errors);
    std::vector<std::string> codes;
    for (const Error& error : errors.list()) codes.push_back(error.code);
    return codes;
  };
  const Model good = build_dlrm(small());
  EXPECT_TRUE(codes_of(good).empty());
  const std::vector<std::string> refused = {"model.tables"};
  Model twice = good;
  twice.layers.push_back(twice.layers[0]);
  EXPECT_EQ(codes_of(twice), refused);
  Model mixed = good;
  mixed.kinds[0].operators.push_back(mixed.kinds[1].operators.front());
  EXPECT_EQ(codes_of(mixed), refused);
  Model torn = good;
  torn.kinds[0].operators[0].k = 1e30;
  EXPECT_EQ(codes_of(torn), refused);
}

}  // namespace
}  // namespace nereus::model::dlrm_test
