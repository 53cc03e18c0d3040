// A plan file. What reads must be written and read back equal, sound or not; what is sound must
// still be sound after it, and agree with its degrees where it says it is regular.
#include "fuzz.hpp"
#include "plan/check.hpp"
#include "plan/expand.hpp"
#include "plan/plan_json.hpp"

NEREUS_FUZZER(plan_json)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size, [](std::string_view text) {
    const plan::Plan plan = plan::parse_plan(text, "fuzz.plan");
    const std::vector<Error> errors = plan::check_plan(plan);
    check_errors(errors);
    const std::string written = plan::plan_to_json(plan);
    const plan::Plan back = plan::parse_plan(written, "back.plan");
    NEREUS_CHECK(back == plan, "a plan changes on its way through JSON");
    NEREUS_CHECK(plan::plan_to_json(back) == written, "a plan is written in two ways");
    NEREUS_CHECK(plan::check_plan(back) == errors, "a plan is judged in two ways");
    const auto regular = plan::as_regular(plan.placement, plan.model);
    if (regular)
      NEREUS_CHECK(plan::expand(*regular, plan.model) == plan.placement, "not that regular plan");
  });
}
