#include "model/dlrm.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "model/model.hpp"

namespace nereus::model {
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
  EXPECT_EQ(m.num_layers(), 2 + 2 + 1 + 2);
  const double macs = 13 * 64 + 64 * 16 + 3 * 3 * 16 + top_in * 32 + 32;
  EXPECT_EQ(m.training_flops(), 3 * 2 * macs);
}

TEST(Dlrm, TablesAreBranchesIntoTheInteraction) {
  const Model m = build_dlrm(small());
  const std::vector<Edge> expected = {{0, 1, 64}, {1, 4, 16}, {2, 4, 16},
                                      {3, 4, 16}, {4, 5, 19}, {5, 6, 32}};
  EXPECT_EQ(m.edges, expected);
  EXPECT_EQ(m.layer(4).input_elements, 48);
}

TEST(Dlrm, LookupsScaleTheTablesReads) {
  DlrmShape shape = small();
  shape.lookups = {20};
  EXPECT_EQ(build_dlrm(shape).layer(2).operators[0].read_elements, 20 * 16);
  shape.lookups = {20, 3};
  EXPECT_EQ(build_dlrm(shape).layer(3).operators[0].read_elements, 3 * 16);
}

TEST(Dlrm, ImpossibleShapesAreRefusedAllAtOnce) {
  try {
    build_dlrm({.name = "bad",
                .rows = {0},
                .lookups = {1, 2},
                .dim = 16,
                .dense_features = 0,
                .bottom = {8},
                .top = {}});
    FAIL();
  } catch (const Errors& e) {
    EXPECT_EQ(e.list().size(), 5U) << e.what();
  }
}

}  // namespace
}  // namespace nereus::model
