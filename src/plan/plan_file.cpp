// Plans as files on disk, and whether their parts agree.

#include "base/write_file.hpp"
#include "plan/check.hpp"
#include "plan/expand.hpp"
#include "plan/plan_json.hpp"
#include "plan/rules.hpp"
#include "spec/source.hpp"

namespace nereus::plan {

std::vector<Error> check_plan(const Plan& plan) {
  std::vector<Error> errors = check(plan.placement, plan.model, plan.cluster);
  if (!plan.degrees || !errors.empty()) return errors;
  // The rules come first: expansion needs degrees that can be built.
  errors = check_degrees(*plan.degrees, plan.model, plan.cluster).list();
  if (!errors.empty()) return errors;
  const std::optional<Degrees> placed = as_regular_with_own_stages(plan.placement, plan.model);
  if (placed == canonical(*plan.degrees, plan.model)) return {};
  Error error;
  error.code = "plan.degrees-disagree";
  error.message = "the degrees of this plan do not describe its placement";
  error.hint = "leave \"degrees\" out; the placement is what counts";
  return {error};
}

Plan load_plan(const std::string& path) {
  Plan plan = parse_plan(spec::read_text_file(path), path);
  std::vector<Error> errors = check_plan(plan);
  for (Error& error : errors) error.where.file = path;
  if (!errors.empty()) throw Errors(std::move(errors));
  return plan;
}

void save_plan(const std::string& path, const Plan& plan) { write_file(path, plan_to_json(plan)); }

}  // namespace nereus::plan
