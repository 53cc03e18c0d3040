#include "app/plan/plan_choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "search/regular/choice_fields.hpp"

namespace nereus::app {

namespace {

// What of the space says who works together and when, as the planners' own message puts it.
bool fixes_layout(const std::string& option) {
  static constexpr std::string_view kLayout[] = {
      "--tp",         "--pp",          "--dp",    "--cp",         "--ep",
      "--interleave", "--micro-batch", "--zero",  "--zero-group", "--recompute",
      "--schedule",   "--offload",     "--nodes", "--engine"};
  return std::find(std::begin(kLayout), std::end(kLayout), option) != std::end(kLayout);
}

}  // namespace

std::vector<std::string> unread_options(const PlanRequest& request, const OwnLayout& planner) {
  std::vector<std::string> options = search::given_options(request.choices);
  const auto add = [&](bool given, const char* option) {
    if (given) options.emplace_back(option);
  };
  add(!request.nodes.empty(), "--nodes");
  add(request.engine.has_value(), "--engine");
  if (planner.reads_goal) return options;
  add(request.options.headroom > 0, "--headroom");
  add(request.options.objectives != std::vector{search::Objective::kTime}, "--objective");
  return options;
}

Error unread_error(const std::vector<std::string>& options, const OwnLayout& planner) {
  Error error;
  error.code = fmt::format("plan.{}-option", planner.mode);
  if (std::all_of(options.begin(), options.end(), fixes_layout)) {
    error.message = planner.message;
    error.hint = "remove degrees, schedules, --nodes and --engine";
  } else {
    error.message =
        fmt::format("{} would have no effect with --{}", fmt::join(options, ", "), planner.mode);
    error.hint = fmt::format("remove it, or remove --{}", planner.mode);
  }
  return error;
}

void refuse_unread(const PlanRequest& request, const OwnLayout& planner, ErrorList& errors) {
  const std::vector<std::string> options = unread_options(request, planner);
  if (!options.empty()) errors.add(unread_error(options, planner));
}

}  // namespace nereus::app
