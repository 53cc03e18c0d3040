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
  command.group("Job (with --availability or --mtbf, simulate a whole job instead of one step)");
  command.text("--availability", "FILE|TRACE", request.availability,
               "when machines are available: a file, a built-in trace such as "
               "bamboo/p3-trace.csv, or a generated one: regular:30:1h:15, "
               "poisson:64:100h:30min:7d");
  command.texts("--policy", "NAME", request.policies,
                "recovery policy: varuna, oobleck, ours or restart");
  command.text("--rates", "FILE.csv", request.rates_file,
               "table of rates, used instead of model and cluster; columns "
               "machines,samples_per_s[,uses,stages,state_bytes,planned_samples_per_s]");
  const auto seconds = [&](const char* name, double least, std::function<void(double)> take,
                           const char* help) {
    add_quantity<Seconds>(command, name, "TIME", least, std::move(take), help);
  };
  app::JobRequest* const r = &request;
  seconds(
      "--mtbf", 1, [r](double v) { r->mtbf = v; },
      "mean time between failures of one node; simulates a dedicated cluster");
  seconds(
      "--repair", 1e-3, [r](double v) { r->repair = v; },
      "time until a failed node returns "
      "(default: 1h)");
  command.whole("--spares", request.spares, 0,
                "spare nodes in addition to those of the plan "
                "(default: tries 0 to 4)");
  seconds(
      "--duration", 1, [r](double v) { r->duration = v; },
      "simulated time (default: the length of the trace; 30 d for a dedicated cluster)");
  seconds(
      "--checkpoint-time", 0, [r](double v) { r->checkpoint = v; },
      "time that training stops for one checkpoint (default: from bytes and bandwidth)");
  command.custom("--checkpoint-every", "TIME|N steps", interval(request),
                 "interval between two checkpoints (default: 10 steps for varuna, else from "
                 "failure rate and checkpoint cost)");
  seconds(
      "--restart-time", 0, [r](double v) { r->restart = v; },
      "varuna and restart: time from a loss until training resumes");
  seconds(
      "--reconfigure-time", 0, [r](double v) { r->reconfigure = v; },
      "oobleck: time from a loss "
      "until training resumes");
  seconds(
      "--detect-time", 0, [r](double v) { r->detect = v; },
      "ours: time from a loss until it is detected (default: 2s)");
  seconds(
      "--morph-time", 0, [r](double v) { r->morph = v; },
      "ours: time to plan, rendezvous and agree, in addition to detection and moving state "
      "(default: 0s)");
  seconds(
      "--notice", 0, [r](double v) { r->notice = v; },
      "advance notice before a machine is taken away (default: 0s)");
  seconds(
      "--look-ahead", 0, [r](double v) { r->look_ahead = v; },
      "ours: changes within this time are known in advance (default: 0s)");
  add_quantity<BytesPerSecond>(
      command, "--link-bandwidth", "RATE", 1, [r](double v) { r->bandwidth = v; },
      "bandwidth over which one machine receives state (default: its network)");
  add_quantity<UsdPerHour>(
      command, "--price", "USD/h", 0, [r](double v) { r->usd_per_hour = v; },
      "price of one machine (default: its spot price; the on-demand price with --mtbf)");
}

bool asks_for_job(const app::JobRequest& request) {
  return !request.availability.empty() || request.mtbf.has_value() || !request.rates_file.empty();
}

}  // namespace nereus::api
