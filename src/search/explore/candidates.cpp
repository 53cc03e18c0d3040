#include "search/explore/candidates.hpp"

namespace nereus::explore {

using search::Family;
using search::Space;

namespace {

// The lists of one family, in the order of the search.
struct FamilyLists {
  std::vector<search::ScheduleSetting> schedules;
  std::vector<search::RecomputeSetting> recomputes;
  std::vector<search::ZeroSetting> zeros;
  std::vector<bool> tensor;
  std::vector<bool> data;
};

void add_family(const Space& space, const Family& family, FamilyLists& lists,
                std::vector<plan::Degrees>& out) {
  space.schedules(family, lists.schedules);
  space.zeros(family, lists.zeros);
  space.tensor_overlaps(family, lists.tensor);
  space.data_overlaps(family, lists.data);
  plan::Degrees d = family.degrees;
  for (const bool tensor : lists.tensor)
    for (const bool data : lists.data)
      for (const search::ScheduleSetting& schedule : lists.schedules) {
        space.recomputes(family, schedule, lists.recomputes);
        for (const search::ZeroSetting& zero : lists.zeros)
          for (const plan::Offload& offload : space.offloads())
            for (const search::RecomputeSetting& recompute : lists.recomputes) {
              d.tensor_overlap = tensor;
              d.data_overlap = data;
              d.schedule = schedule.schedule;
              d.interleave = schedule.interleave;
              d.zero = zero.zero;
              d.zero_group = zero.group;
              d.offload = offload;
              d.recompute = recompute.kind;
              d.recompute_blocks = recompute.blocks;
              out.push_back(d);
            }
      }
}

}  // namespace

std::int64_t count_candidates(const Space& space) {
  std::int64_t count = 0;
  for (const Family& family : space.families()) count += space.count(family);
  return count;
}

std::vector<plan::Degrees> list_candidates(const Space& space) {
  std::vector<plan::Degrees> out;
  FamilyLists lists;
  for (const Family& family : space.families()) add_family(space, family, lists, out);
  return out;
}

}  // namespace nereus::explore
