#include "plan/placement.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace nereus::plan::placement_test {
namespace {

RC_GTEST_PROP(Placement, PiecesOfAShareMeetExactly, ()) {
  StateShare share;
  share.begin = *rc::gen::inRange<std::int64_t>(0, kStateUnits + 1);
  share.end = *rc::gen::inRange<std::int64_t>(share.begin, kStateUnits + 1);
  share.pieces = *rc::gen::inRange(1, 200);
  const auto length = *rc::gen::inRange<std::int64_t>(1, 3'000'000'000'000);
  StateShare whole = share;
  whole.pieces = 1;
  std::int64_t at = elements_of_piece(whole, 0, length).begin;
  for (int piece = 0; piece < share.pieces; ++piece) {
    const ElementRange range = elements_of_piece(share, piece, length);
    RC_ASSERT(range.begin == at);
    RC_ASSERT(range.end >= range.begin);
    at = range.end;
  }
  RC_ASSERT(at == elements_of_piece(whole, 0, length).end);
}

RC_GTEST_PROP(Placement, EveryElementBoundaryCanBeWritten, ()) {
  const auto length = *rc::gen::inRange<std::int64_t>(1, 3'000'000'000'000);
  const auto element = *rc::gen::inRange<std::int64_t>(0, length + 1);
  StateShare share;
  share.begin = unit_of_element(element, length);
  RC_ASSERT(share.begin <= kStateUnits);
  RC_ASSERT(elements_of_piece(share, 0, length).begin == element);
}

TEST(Placement, EqualSharesOfUsualCountsAreExact) {
  for (int n = 1; n <= 16; ++n) EXPECT_EQ(kStateUnits % n, 0) << n;
  EXPECT_EQ(kStateUnits % (1LL << 36), 0);
  EXPECT_EQ(static_cast<std::int64_t>(static_cast<double>(kStateUnits - 1)), kStateUnits - 1);
}

TEST(Placement, SamplesOfATeam) {
  const Replicas r{.count = 2, .micro_batch = 4, .num_micro_batches = 3, .last_micro_batch = 1};
  EXPECT_EQ(r.samples_per_team(), 9);
  EXPECT_EQ(r.team_step(), 9);
  EXPECT_EQ(r.micro_batch_step(), 4);
  EXPECT_EQ(r.samples_in(1), 4);
  EXPECT_EQ(r.samples_in(2), 1);
  EXPECT_EQ(r.first_sample_of(1, 2), 9 + 8);
}

}  // namespace
}  // namespace nereus::plan::placement_test
