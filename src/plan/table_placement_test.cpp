// Dealing tables out, and plans that share them.
#include "plan/table_placement.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "plan/check.hpp"
#include "plan/expand.hpp"
#include "plan/plan_json.hpp"
#include "plan/rules.hpp"
#include "plan/test_plans.hpp"

namespace nereus::plan::table_placement_test {
namespace {

model::Model make_dlrm(std::vector<std::int64_t> rows, std::vector<int> lookups, int dim = 16) {
  model::DlrmShape shape;
  shape.name = "tables";
  shape.rows = std::move(rows);
  shape.lookups = std::move(lookups);
  shape.dim = dim;
  shape.bottom = {8, dim};
  shape.top = {8, 1};
  return model::build_dlrm(shape);
}

model::Model any_dlrm(int most_tables) {
  const int tables = *rc::gen::inRange(1, most_tables + 1);
  std::vector<std::int64_t> rows;
  std::vector<int> lookups;
  for (int i = 0; i < tables; ++i) {
    rows.push_back(*rc::gen::element(1, 3, 10, 100, 1000, 5000, 1'000'000));
    lookups.push_back(*rc::gen::inRange(1, 20));
  }
  return make_dlrm(std::move(rows), std::move(lookups), *rc::gen::element(4, 16, 32, 96));
}

const model::LayerKind& tables_of(const model::Model& model) {
  return model.layer(model.table_layer());
}

double looked_up(const model::Operator& table) { return table.rows * table.n; }

using LoadOf = double (*)(const model::Operator&);

double fullest(const model::LayerKind& layer, LoadOf load_of, const std::vector<int>& slice_of,
               int slices) {
  std::vector<double> loads(static_cast<std::size_t>(slices));
  for (std::size_t i = 0; i < slice_of.size(); ++i)
    loads[slice_of[i]] += load_of(layer.operators[i]);
  return *std::max_element(loads.begin(), loads.end());
}

// The best of all slices^tables deals.
double best_deal(const model::LayerKind& layer, LoadOf load_of, int slices) {
  std::vector<int> deal(layer.operators.size(), 0);
  double best = fullest(layer, load_of, deal, slices);
  while (true) {
    std::size_t i = 0;
    while (i < deal.size() && ++deal[i] == slices) deal[i++] = 0;
    if (i == deal.size()) return best;
    best = std::min(best, fullest(layer, load_of, deal, slices));
  }
}

// The next largest table goes to the slice with the fewest bytes.
std::vector<int> deal_by_bytes(const model::LayerKind& layer, int slices) {
  std::vector<std::size_t> order(layer.operators.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size = [&](std::size_t i) {
    return std::pair(table_bytes(layer.operators[i]), looked_up(layer.operators[i]));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  std::vector<std::pair<double, double>> held(static_cast<std::size_t>(slices));
  std::vector<int> slice_of(order.size());
  for (const std::size_t i : order) {
    const auto least = std::min_element(held.begin(), held.end());
    least->first += size(i).first;
    least->second += size(i).second;
    slice_of[i] = static_cast<int>(least - held.begin());
  }
  return slice_of;
}

RC_GTEST_PROP(Tables, GreedyIsWithinGrahamsFactorOfTheBestDeal, ()) {
  const model::Model model = any_dlrm(7);
  const model::LayerKind& layer = tables_of(model);
  const int slices = *rc::gen::inRange(1, 4);
  const std::vector<int> deal = deal_tables(layer, TableSplit::kLookups, slices);
  RC_ASSERT(deal.size() == layer.operators.size());
  const double factor = 4.0 / 3 - 1.0 / (3 * slices);
  RC_ASSERT(fullest(layer, looked_up, deal, slices) <=
            factor * best_deal(layer, looked_up, slices) * (1 + 1e-12));
}

// Balanced by time, the busiest rank is never busier than if bytes are balanced, and the fullest
// has room.
RC_GTEST_PROP(Tables, TimeIsBalancedWithinTheRoom, ()) {
  const model::Model model = any_dlrm(30);
  const model::LayerKind& layer = tables_of(model);
  const int slices = *rc::gen::inRange(1, 17);
  const std::vector<int> deal = deal_tables(layer, TableSplit::kTable, slices);
  RC_ASSERT(deal.size() == layer.operators.size());
  for (const int slice : deal) RC_ASSERT(slice >= 0 && slice < slices);
  const std::vector<int> by_bytes = deal_by_bytes(layer, slices);
  RC_ASSERT(fullest(layer, table_load, deal, slices) <=
            fullest(layer, table_load, by_bytes, slices) * (1 + 1e-12));
  RC_ASSERT(fullest(layer, table_bytes, deal, slices) <=
            kTableRoom * fullest(layer, table_bytes, by_bytes, slices) * (1 + 1e-12));
}

// The large tables of DeepLearningExamples' DLRM: by bytes, one of 8 ranks has 12 of 26 tables.
TEST(Tables, AsManyTablesOnEveryRankIfAllAreLookedUpOnce) {
  const model::Model model =
      make_dlrm({45833188, 36747, 1572176,  345139, 11,       2209,     11268,  128,     4,
                 975,      15,    48937457, 17246,  11316796, 40094537, 452104, 12607,   105,
                 36,       7414,  20244,    4,      7115,     1442,     63,     29275261},
                {1}, 128);
  const model::LayerKind& layer = tables_of(model);
  const auto most = [&](const std::vector<int>& deal) {
    std::vector<int> count(8);
    for (const int slice : deal) ++count[slice];
    return *std::max_element(count.begin(), count.end());
  };
  EXPECT_EQ(most(deal_by_bytes(layer, 8)), 12);
  EXPECT_EQ(most(deal_tables(layer, TableSplit::kTable, 8)), 4);
}

TEST(Tables, RanksThatAreTooManyForTheColumnsShareRowsToo) {
  EXPECT_EQ(column_parts(128, 8), 8);
  EXPECT_EQ(column_parts(128, 32), 32);  // four columns each
  EXPECT_EQ(column_parts(128, 64), 8);   // sixteen columns and an eighth of the rows
  EXPECT_EQ(column_parts(128, 128), 8);
  EXPECT_EQ(column_parts(128, 24), 8);
  EXPECT_EQ(column_parts(16, 8), 4);
  EXPECT_EQ(column_parts(128, 7), 0);
  EXPECT_EQ(column_parts(6, 2), 0);
}

TEST(Tables, EqualTablesAreDealtEvenly) {
  const model::Model model = make_dlrm(std::vector<std::int64_t>(12, 100), {3});
  const std::vector<int> deal = deal_tables(tables_of(model), TableSplit::kTable, 4);
  for (int slice = 0; slice < 4; ++slice) EXPECT_EQ(std::count(deal.begin(), deal.end(), slice), 3);
}

RC_GTEST_PROP(Tables, BlocksOfRowsMakeTheTable, ()) {
  const double rows = *rc::gen::inRange(1, 1000);
  const int slices = *rc::gen::inRange(1, 20);
  double sum = 0;
  for (int s = 0; s < slices; ++s) {
    RC_ASSERT(held_rows(rows, slices, s) <= held_rows(rows, slices, 0));
    sum += held_rows(rows, slices, s);
  }
  RC_ASSERT(sum == rows);
}

// Degrees that can be built on a random model with tables, and the cluster of that size.
testing::RandomPlan any_table_plan() {
  testing::RandomPlan plan;
  plan.model = any_dlrm(12);
  Degrees& d = plan.degrees;
  do {
    d = {};
    d.dp = *rc::gen::inRange(1, 13);
    d.ep = *rc::gen::inRange(1, d.dp + 1);
    d.table_split = static_cast<TableSplit>(*rc::gen::inRange(0, 4));
    d.micro_batch = *rc::gen::inRange(1, 5);
    d.global_batch = d.dp * d.micro_batch * *rc::gen::inRange(1, 4);
    d.zero = *rc::gen::inRange(0, 4);
    d.zero_group = testing::pick({0, 0, 1, 2, 3});
    d.recompute = static_cast<Recompute>(*rc::gen::inRange(0, 3));
    d.data_overlap = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>())
      d.offload = {*rc::gen::inRange(0, 5) / 4.0, *rc::gen::inRange(0, 5) / 4.0, 0};
    plan.cluster = testing::make_cluster(d.dp);
  } while (violated_rules(d, degree_limits(plan.model, plan.cluster)) != 0);
  return plan;
}

RC_GTEST_PROP(TablePlans, ExpandToSoundPlacementsAndComeBack, ()) {
  const testing::RandomPlan random = any_table_plan();
  Plan plan;
  plan.model = random.model;
  plan.cluster = random.cluster;
  plan.degrees = random.degrees;
  plan.placement = expand(random.degrees, random.model);
  for (const Error& error : check(plan.placement, plan.model, plan.cluster)) RC_FAIL(error.message);
  RC_ASSERT(as_regular(plan.placement, plan.model) == canonical(random.degrees, plan.model));
  RC_ASSERT(parse_plan(plan_to_json(plan), "t.plan") == plan);
  RC_ASSERT(check_plan(plan).empty());
}

// Every slice of every table is on exactly dp / ep ranks, whatever ZeRO says.
RC_GTEST_PROP(TablePlans, TablesHaveWholeCopiesOnly, ()) {
  const testing::RandomPlan random = any_table_plan();
  const Placement placement = expand(random.degrees, random.model);
  for (const StateShare& share : placement.runs.front().state) {
    if (!share.experts) continue;
    RC_ASSERT(share.pieces == 1);
    RC_ASSERT(share.cut == random.degrees.ep);
    RC_ASSERT(num_ranks(share.ranks) == random.degrees.dp / random.degrees.ep);
  }
}

std::vector<std::string> codes_of(const Placement& placement, const model::Model& model,
                                  int devices) {
  std::vector<std::string> codes;
  for (const Error& error : check(placement, model, testing::make_cluster(devices)))
    codes.push_back(error.code);
  return codes;
}

TEST(TablePlans, TheCheckerSeesTablesWithoutAPlace) {
  const model::Model model = make_dlrm({100, 50, 20, 10}, {1});
  Degrees d;
  d.dp = 4;
  d.ep = 2;
  d.global_batch = 4;
  const Placement good = expand(d, model);
  EXPECT_TRUE(codes_of(good, model, 4).empty());
  const auto with = [&](auto change) {
    Placement p = good;
    change(p.runs.front());
    return codes_of(p, model, 4);
  };
  const std::vector<std::string> split = {"plan.split"};
  const std::vector<std::string> cut(3, "plan.cut");
  EXPECT_EQ(with([](LayerRun& r) { r.table_slices.pop_back(); }), split);
  EXPECT_EQ(with([](LayerRun& r) { r.table_slices[1] = 2; }), split);
  EXPECT_EQ(with([](LayerRun& r) { r.table_slices[1] = -1; }), split);
  EXPECT_EQ(with([](LayerRun& r) { r.table_split = TableSplit::kRow; }), split);
  EXPECT_EQ(with([](LayerRun& r) { r.expert_tp = 2; }), split);
  EXPECT_EQ(with([](LayerRun& r) {
              for (StateShare& s : r.state)
                if (s.experts) s.pieces = 2;
            }),
            cut);
  EXPECT_EQ(with([](LayerRun& r) {
              for (StateShare& s : r.state)
                if (s.experts) s.num_slices = 1;
            }),
            std::vector<std::string>(3, "plan.state-missing"));
  // Another deal is as sound as ours.
  EXPECT_TRUE(with([](LayerRun& r) { r.table_slices = {0, 0, 0, 1}; }).empty());
  const model::Model dense = testing::make_dense(2);
  Placement strange = expand({}, dense);
  strange.runs.front().table_slices = {0};
  EXPECT_EQ(codes_of(strange, dense, 1), split);
}

TEST(TablePlans, RulesNameWhatCannotBe) {
  const model::Model model = make_dlrm({100, 50, 20}, {1}, 16);
  const auto broken = [&](auto change) {
    Degrees d;
    d.dp = d.global_batch = 8;
    change(d);
    const cluster::Cluster cluster = testing::make_cluster(8);
    std::vector<std::string> codes;
    const ErrorList errors = check_degrees(d, model, cluster);
    for (const Error& error : errors.list()) codes.push_back(error.code);
    return codes;
  };
  using Codes = std::vector<std::string>;
  EXPECT_EQ(broken([](Degrees& d) { d.ep = 2; }), Codes{});
  EXPECT_EQ(broken([](Degrees& d) { d.ep = 4; }), Codes{"plan.tables"});
  EXPECT_EQ(broken([](Degrees& d) { d.ep = 3; }), Codes{"plan.expert-ranks"});
  const model::Model narrow = make_dlrm({100}, {1}, 6);
  Degrees two;
  two.dp = two.global_batch = two.ep = 2;
  two.table_split = TableSplit::kColumn;
  const ErrorList errors = check_degrees(two, narrow, testing::make_cluster(2));
  ASSERT_EQ(errors.list().size(), 1U);
  EXPECT_EQ(errors.list().front().code, "plan.tables");
  const auto column = [](int ep) {
    return [ep](Degrees& d) {
      d.ep = ep;
      d.table_split = TableSplit::kColumn;
    };
  };
  EXPECT_EQ(broken(column(4)), Codes{});  // four columns each
  EXPECT_EQ(broken(column(8)), Codes{});  // and half of the rows
  EXPECT_EQ(broken([](Degrees& d) {
              d.ep = 8;
              d.table_split = TableSplit::kRow;
            }),
            Codes{});
  EXPECT_EQ(broken([](Degrees& d) {
              d.pp = 2;
              d.dp = 4;
            }),
            Codes{"plan.tables"});
  EXPECT_EQ(broken([](Degrees& d) {
              d.tp = 2;
              d.dp = 4;
            }),
            (Codes{"plan.tensor"}));
  EXPECT_EQ(broken([](Degrees& d) {
              d.cp = 2;
              d.dp = 4;
            }),
            Codes{"plan.context"});
}

}  // namespace
}  // namespace nereus::plan::table_placement_test
