// The replay of Oobleck's artifact (github.com/SymbioticLab/Oobleck, branch sosp23-artifact):
// compares the output of its simulator with ours under these rules.
//
//   varuna    steps at the table's rate; a checkpoint every 10 steps. When a machine leaves or
//             joins: back to the last checkpoint, restart + 10 s to meet; further changes in that
//             time become part of the same restart. On spot traces a checkpoint that fits into the
//             notice is saved before a machine leaves, and one is always saved before growing.
//   free      the same, but checkpoints cost nothing, so there is one after every step
//   oobleck   the current step is lost, plus the reconfiguration's seconds
//   ours      detection + state of a machine over its link; the current step is lost; grows at the
//             end of a step if that pays off; saves asynchronously: training only waits for the
//             copy to the host's memory
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "reproduce/reproduce_varuna.hpp"
#include "simulate/job/availability_file.hpp"
#include "simulate/job/job_checkpoints.hpp"
#include "simulate/job/job_play.hpp"
#include "spec/csv.hpp"

namespace nereus::app {

namespace {

using simulate::Activity;
using simulate::JobPlay;
using simulate::Policy;

// Constants of the artifact, by model (data/varuna/SOURCES.md), and parameters of the models.
struct ArtifactModel {
  const char* name;       // in its table of rates
  const char* in_replay;  // in its replay
  double samples, checkpoint, restart, reconfigure, parameters;
};
constexpr ArtifactModel kModels[] = {
    {"BERT-large", "BERT-large", 8192, 15.8, 71.3, 2, 0.34e9},
    {"GPT-2", "GPT-2-ours", 1024, 11.5, 83, 2, 0.35e9},
    {"GPT-3-medium", "GPT-3-medium", 819, 11.2, 78.7, 3, 0.35e9},
    {"GPT-3-2.7B", "GPT-3-2_7b", 512, 50, 515, 6, 2.7e9},
    {"GPT-3-6.7B", "GPT-3-6_7b", 1024, 120, 701, 10, 6.7e9},
};

spec::Csv table(const char* name) {
  const std::string path = std::string("varuna/") + name;
  return spec::parse_csv(embedded_text(path), "data/" + path);
}

struct Replay {
  double average = 0, steps = 0, effective = 0, restart = 0, lost = 0;
};

class Artifact {
 public:
  Artifact() : rates_(table("oobleck_throughput.csv")), replays_(table("oobleck_replay.csv")) {}

  simulate::JobRates rates(const ArtifactModel& model, const std::string& system, int stages,
                           double state_bytes) const {
    simulate::JobRates out;
    out.samples_per_step = model.samples;
    const int column = rates_.find(system + "_samples_per_s");
    for (const spec::CsvRow& row : rates_.rows) {
      if (rates_.cell(row, rates_.find("model")) != model.name) continue;
      const auto n = static_cast<std::size_t>(std::stoi(rates_.cell(row, rates_.find("nodes"))));
      if (out.by_machines.size() <= n) out.by_machines.resize(n + 1);
      const std::string& text = rates_.cell(row, column);
      out.by_machines[n] = {text.empty() ? 0 : std::stod(text), static_cast<int>(n), stages,
                            state_bytes, ""};
    }
    return out;
  }

  Replay replay(const std::string& system, const ArtifactModel& model,
                const std::string& trace) const {
    for (const spec::CsvRow& row : replays_.rows)
      if (replays_.cell(row, replays_.find("system")) == system &&
          replays_.cell(row, replays_.find("model")) == model.in_replay &&
          replays_.cell(row, replays_.find("trace")) == trace + ".csv")
        return {std::stod(replays_.cell(row, replays_.find("avg_samples_per_s"))),
                std::stod(replays_.cell(row, replays_.find("steps"))),
                std::stod(replays_.cell(row, replays_.find("frac_effective"))),
                std::stod(replays_.cell(row, replays_.find("frac_restart"))),
                std::stod(replays_.cell(row, replays_.find("frac_lost_work_fallback")))};
    NEREUS_CHECK(false, "every system, model and trace has a row");
    return {};
  }

 private:
  spec::Csv rates_, replays_;
};

std::string shares(const JobPlay& play) {
  return fmt::format(
      "useful {:.1f} %, checkpoints {:.1f}, restart {:.1f}, lost {:.1f}, idle {:.1f}",
      100 * play.share(Activity::kUseful), 100 * play.share(Activity::kCheckpoint),
      100 * play.share(Activity::kRestart), 100 * play.share(Activity::kLost),
      100 * play.share(Activity::kIdle));
}

// Why a number differs by more than 10 %, from the artifact's own columns.
std::string why_not(const Replay& known, const JobPlay& ours, const simulate::JobRates& rates,
                    const simulate::AvailabilitySummary& machines, bool spot, bool oobleck) {
  if (known.average == 0)
    return "; the artifact gives 0 here: its plotting code forces this curve to zero";
  if (std::abs(ours.samples_per_s() / known.average - 1) <= 0.1) return "";
  if (spot && oobleck) {
    // The number of machines whose rate it ran at while it ran.
    int like = 0;
    for (int n = 1; n < static_cast<int>(rates.by_machines.size()); ++n)
      if (rates.of(n).samples_per_s <= known.average / known.effective) like = n;
    return fmt::format(
        "; in the {:.1f} % that it calls effective the artifact runs at the rate of about {} "
        "machines, but the trace has {:.1f}, because machines that return do not count at once in "
        "the artifact",
        100 * known.effective, like, machines.mean);
  }
  if (spot)
    return fmt::format(
        "; the artifact restarts for {:.1f} % of the time and loses {:.1f} %, ours {:.1f} and "
        "{:.1f}; it seems that in the artifact machines that join cause no restart, and no "
        "checkpoint is written before growing",
        100 * known.restart, 100 * known.lost, 100 * ours.share(Activity::kRestart),
        100 * ours.share(Activity::kLost));
  return fmt::format(
      "; the artifact's own steps give {:.3g} samples/s, but it prints {:.3g} and calls {:.1f} % "
      "effective; it counts work since the last checkpoint both before the work is lost and after "
      "it is repeated",
      known.steps * rates.samples_per_step / ours.seconds, known.average, 100 * known.effective);
}

}  // namespace

void add_replay_claims(const VarunaSettings& settings, const ReproduceRequest& request,
                       ReproduceAnswer& answer) {
  const Artifact artifact;
  for (const ArtifactModel& model : kModels) {
    if (!settings.wants("model", model.name)) continue;
    for (const char* trace_name :
         {"6h", "3h", "1h", "30m", "10m", "scale_gcp-trace", "scale_p3-trace"}) {
      if (!settings.wants("trace", trace_name)) continue;
      if (request.stop && request.stop()) {
        answer.complete = false;
        return;
      }
      const bool spot = std::string(trace_name).starts_with("scale");
      const simulate::Availability trace =
          simulate::read_availability(fmt::format("oobleck/{}.csv", trace_name));
      const simulate::AvailabilitySummary machines = simulate::summary_of(trace);
      const double notice = spot ? settings.number("notice_s") : 0;
      const auto begin = std::chrono::steady_clock::now();
      const auto add = [&](const std::string& what, std::optional<double> published, double ours,
                           std::string note) {
        Claim claim;
        claim.name = fmt::format("{}, {}: {}", model.name, trace_name, what);
        claim.published = published;
        claim.ours = ours;
        claim.kind = ClaimKind::kSimulated;
        claim.note = "samples/s; " + std::move(note);
        claim.inputs = fmt::format("data/varuna/oobleck_*.csv, data/traces/oobleck/{}.csv{}",
                                   trace_name, settings.options);
        claim.command = fmt::format(
            "nereus reproduce varuna --set all.part=replay --set all.model={} --set all.trace={}{}",
            model.name, trace_name, settings.options);
        claim.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        answer.claims.push_back(std::move(claim));
      };

      const simulate::JobRates varuna_rates = artifact.rates(model, "varuna", 0, 0);
      const simulate::JobRates oobleck_rates = artifact.rates(model, "oobleck", 0, 0);
      Policy varuna =
          simulate::varuna_policy(model.checkpoint, model.restart + simulate::kArtifactRendezvous);
      varuna.notice = notice;
      Policy free = varuna;
      free.checkpoint = 0;
      free.checkpoint_steps = 1;
      const Policy oobleck = simulate::oobleck_policy(model.reconfigure);
      struct Row {
        const char* system;
        const char* what;
        const Policy& policy;
        const simulate::JobRates& rates;
        double ours;
        Replay known;
      };
      Row rows[] = {{"varuna", "Varuna", varuna, varuna_rates, 0, {}},
                    {"varuna_no_ckpt_cost", "Varuna, free checkpoints", free, varuna_rates, 0, {}},
                    {"oobleck", "Oobleck", oobleck, oobleck_rates, 0, {}}};
      const Row* best = nullptr;
      for (Row& row : rows) {
        const JobPlay play = simulate::play_job(trace, row.rates, row.policy);
        row.ours = play.samples_per_s();
        row.known = artifact.replay(row.system, model, trace_name);
        const double off = row.known.average > 0 ? row.ours / row.known.average - 1 : 0;
        add(row.what, row.known.average, row.ours,
            fmt::format("{:+.1f} %; {}{}", 100 * off, shares(play),
                        why_not(row.known, play, row.rates, machines, spot,
                                std::string(row.system) == "oobleck")));
        // Checkpoints are never free: that one is a bound, not a system.
        if (row.what != rows[1].what && (!best || row.known.average > best->known.average))
          best = &row;
      }

      const double bytes = settings.number("state_bytes_per_parameter") * model.parameters /
                           settings.number("stages");
      const double bandwidth = settings.number("bandwidth_gbit_s") * 1e9 / 8;
      const simulate::JobRates rates =
          artifact.rates(model, best->system, static_cast<int>(settings.number("stages")), bytes);
      Policy ours = simulate::our_policy(settings.number("detect_s"), bandwidth);
      ours.notice = notice;
      ours.look_ahead = settings.number("look_ahead_s");
      ours.checkpoint = std::min(bytes / simulate::kSnapshotRate, model.checkpoint);
      ours.write = model.checkpoint;
      ours.load = bytes / bandwidth;
      const int rollbacks = simulate::play_job(trace, rates, ours).rollbacks;
      ours.checkpoint_every = std::max(
          ours.write, daly_interval(ours.checkpoint, trace.duration() / std::max(1, rollbacks)));
      const JobPlay play = simulate::play_job(trace, rates, ours);
      const double published = best->known.average;
      std::string note = fmt::format(
          "published: the best of the other systems, {}, whose table of rates our policy uses "
          "(our simulation of that system gives {:.4g}); recovery {:.1f} s; {}",
          best->what, best->ours, ours.detect + bytes / bandwidth, shares(play));
      const double best_known = std::max(published, best->ours);
      if (play.samples_per_s() < best_known)
        note += fmt::format(
            "; ours is {:.1f} % lower: its recovery takes {:.1f} s at {} Gbit/s instead of a "
            "constant {:.0f} s, it writes a checkpoint every {}, and only complete steps count, "
            "of which there are about {:.0f} between two failures",
            100 * (1 - play.samples_per_s() / best_known), ours.detect + bytes / bandwidth,
            settings.text.at("bandwidth_gbit_s"), model.reconfigure,
            format_seconds(Seconds{ours.checkpoint_every}), play.steps / machines.changes);
      add("ours compared with the best of them", published, play.samples_per_s(), std::move(note));
    }
  }
}

}  // namespace nereus::app
