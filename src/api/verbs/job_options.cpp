#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "api/reports/job_report.hpp"
#include "api/verbs/quantity_option.hpp"

namespace nereus::api {

namespace {

// "10 steps", or a time.
Take interval(app::JobRequest& request) {
  app::JobRequest* const r = &request;
  return [r](const std::string& text, ErrorList& errors) {
    int steps = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, steps);
    std::string_view unit(at, static_cast<std::size_t>(end - at));
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    if (error == std::errc() && (unit == "steps" || unit == "step") && steps > 0)
      r->checkpoint_steps = steps;
    else
      quantity<Seconds>("--checkpoint-every", 1e-3, [r](double v) { r->checkpoint_every = v; })(
          text, errors);
  };
}

}  // namespace

void add_job_options(Command& command, app::JobRequest& request) {
  command.group("Job (--availability or --mtbf: a whole job instead of one step)");
  command.text("--availability", "FILE|TRACE", request.availability,
               "machines that come and go: a file, bamboo/p3-trace.csv and others of the program, "
               "regular:30:1h:15, poisson:64:100h:30min:7d");
  command.texts("--policy", "NAME", request.policies,
                "varuna, oobleck, ours, restart; may be repeated");
  command.text("--rates", "FILE.csv", request.rates_file,
               "machines,samples_per_s[,uses,stages,state_bytes,planned_samples_per_s] instead of "
               "model and cluster");
  const auto seconds = [&](const char* name, double least, std::function<void(double)> take,
                           const char* help) {
    add_quantity<Seconds>(command, name, "TIME", least, std::move(take), help);
  };
  app::JobRequest* const r = &request;
  seconds(
      "--mtbf", 1, [r](double v) { r->mtbf = v; },
      "mean time between failures of a node: a dedicated cluster");
  seconds(
      "--repair", 1e-3, [r](double v) { r->repair = v; }, "until a failed node is back (1h)");
  command.whole("--spares", request.spares, 0, "nodes beside those of the plan (0 to 4 are tried)");
  seconds(
      "--duration", 1, [r](double v) { r->duration = v; },
      "how long to play (the trace; 30 d of a dedicated cluster)");
  seconds(
      "--checkpoint-time", 0, [r](double v) { r->checkpoint = v; },
      "that training stops for one (from bytes and bandwidth)");
  command.custom("--checkpoint-every", "TIME|N steps", interval(request),
                 "training between two (varuna: 10 steps; else from failures and cost)");
  seconds(
      "--restart-time", 0, [r](double v) { r->restart = v; },
      "of varuna and restart, from a loss until training goes on");
  seconds(
      "--reconfigure-time", 0, [r](double v) { r->reconfigure = v; }, "the same of oobleck");
  seconds(
      "--detect-time", 0, [r](double v) { r->detect = v; },
      "of ours, from a loss until it is known (2s)");
  seconds(
      "--morph-time", 0, [r](double v) { r->morph = v; },
      "of ours, more than detection and moving state: to plan, meet and agree (0s)");
  seconds(
      "--notice", 0, [r](double v) { r->notice = v; },
      "before a machine goes that this is known (0s)");
  seconds(
      "--look-ahead", 0, [r](double v) { r->look_ahead = v; },
      "changes within this time are foreseen by ours (0s)");
  add_quantity<BytesPerSecond>(
      command, "--link-bandwidth", "RATE", 1, [r](double v) { r->bandwidth = v; },
      "of a machine, over which it receives state (its network)");
  add_quantity<UsdPerHour>(
      command, "--price", "USD/h", 0, [r](double v) { r->usd_per_hour = v; },
      "of a machine (its spot price; on demand with --mtbf)");
}

bool asks_for_job(const app::JobRequest& request) {
  return !request.availability.empty() || request.mtbf.has_value() || !request.rates_file.empty();
}

}  // namespace nereus::api
