// Goodput and dollars of every policy on public traces of spot machines: the calls of
// `nereus simulate --availability`, with Varuna's 2.5 B and 8.3 B models.
#include <fmt/format.h>

#include "app/simulate/simulate_job.hpp"
#include "base/error.hpp"
#include "reproduce/reproduce_varuna.hpp"

namespace nereus::app {

namespace {

struct Spot {
  const char* trace;
  const char* model;    // of Varuna's scripts
  const char* machine;  // of the trace, or the offer nearest to it
  int layers, hidden, heads, batch;
};
// Parcae's and Sailor's traces say no more than p3 and A100.
constexpr Spot kSpots[] = {
    {"bamboo/p3-trace.csv", "2.5B", "p3.2xlarge", 54, 1920, 20, 8192},
    {"bamboo/g4dn-trace.csv", "2.5B", "g4dn.xlarge", 54, 1920, 20, 8192},
    {"bamboo/gcloud_a100x1-east1b.txt", "8.3B", "a2-highgpu-1g", 72, 3072, 32, 8192},
    {"bamboo/gcloud_v100x1-east1c.txt", "8.3B", "\"n1-standard-8 + 1xV100\"", 72, 3072, 32, 8192},
    {"parcae/gpt-6.7b_trace_hh_55_65.txt", "2.5B", "p3.2xlarge", 54, 1920, 20, 8192},
    {"parcae/gpt-6.7b_trace_hl_15_25.txt", "2.5B", "p3.2xlarge", 54, 1920, 20, 8192},
    {"parcae/gpt-6.7b_trace_lh_80_90.txt", "2.5B", "p3.2xlarge", 54, 1920, 20, 8192},
    {"parcae/gpt-6.7b_trace_ll_10_11.txt", "2.5B", "p3.2xlarge", 54, 1920, 20, 8192},
    {"sailor/a100_trace_16.json", "2.5B", "a2-highgpu-1g", 54, 1920, 20, 8192},
    {"sailor/a100_trace_original.json", "2.5B", "a2-highgpu-1g", 54, 1920, 20, 8192},
};

}  // namespace

void add_spot_claims(const VarunaSettings& settings, const ReproduceRequest& request,
                     ReproduceAnswer& answer) {
  for (const Spot& own : kSpots) {
    if (!settings.wants("model", own.model) || !settings.wants("trace", own.trace)) continue;
    if (request.stop && request.stop()) {
      answer.complete = false;
      return;
    }
    JobRequest job;
    const std::string network = settings.text.at("bandwidth_gbit_s") + " Gbit/s";
    job.availability = own.trace;
    job.predict.model = {"gpt2-xl",
                         {{"layers", std::to_string(own.layers)},
                          {"hidden", std::to_string(own.hidden)},
                          {"heads", std::to_string(own.heads)}}};
    job.predict.cluster = {fmt::format("1x{}", own.machine), {{"groups.0.node.network", network}}};
    job.predict.degrees.global_batch = own.batch;
    job.notice = settings.number("notice_s");
    job.detect = settings.number("detect_s");
    job.look_ahead = settings.number("look_ahead_s");
    const JobAnswer played = simulate_job(job);
    for (const simulate::JobPlay& play : played.plays) {
      Claim claim;
      claim.name = fmt::format("{}, {}: goodput of {}", own.trace, own.model, play.policy);
      claim.ours = play.goodput();
      claim.kind = ClaimKind::kSimulated;
      claim.note = fmt::format("{:.4g} samples/s; {:.1f} machines on average, {} were lost",
                               play.samples_per_s(), played.summary.mean, played.summary.removed);
      if (const auto usd = played.usd(play)) {
        claim.note += fmt::format("; ${:.2f}", *usd);
        if (play.samples > 0)
          claim.note += fmt::format(", ${:.2f} per million samples", *usd / play.samples * 1e6);
        else
          claim.note += "; nothing was kept";
      }
      claim.inputs = fmt::format("data/traces/{}{}", own.trace, settings.options);
      claim.command = fmt::format(
          "nereus simulate --availability {} --model gpt2-xl --set model.layers={} --set "
          "model.hidden={} --set model.heads={} --cluster '1x{}' --set "
          "'cluster.groups.0.node.network={}' --global-batch {} --notice {}s --detect-time {}s "
          "--look-ahead {}s --policy {}",
          own.trace, own.layers, own.hidden, own.heads, own.machine, network, own.batch,
          settings.text.at("notice_s"), settings.text.at("detect_s"),
          settings.text.at("look_ahead_s"), play.policy);
      claim.seconds = played.seconds;
      answer.claims.push_back(std::move(claim));
    }
  }
}

}  // namespace nereus::app
