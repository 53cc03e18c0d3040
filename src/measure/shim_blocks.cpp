#include "measure/shim_blocks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "spec/reader.hpp"
#include "spec/value.hpp"

namespace nereus::measure {

namespace {

constexpr int kMostShimRanks = 1 << 20;
constexpr int kMostRounds = 1 << 20;

ShimJob job_of(spec::Reader reader) {
  ShimJob job;
  job.torch = reader.required_string("torch");
  job.backend = reader.optional_string("backend");
  job.parameters = reader.required_double("parameters", 0);
  job.samples = reader.required_double("samples", 0);
  job.num_ranks = reader.required_int("ranks", 1, kMostShimRanks);
  job.on_gpu = reader.required_bool("gpu");
  job.loaders = reader.required_int("loaders", 0);
  job.counted = reader.required_bool("counted");
  job.unswitchable = reader.optional_strings("unswitchable");
  reader.skip("files");
  reader.finish();
  return job;
}

BlockTime time_of(spec::Reader& reader) {
  spec::Choices<job::Block> blocks;
  for (const job::Block block : job::kBlocks) blocks.emplace_back(to_string(block), block);
  BlockTime time;
  time.block = reader.required_enum<job::Block>("block", blocks);
  time.round = reader.required_int("round", 0, kMostRounds);
  time.rank = reader.required_int("rank", 0, kMostShimRanks);
  time.host = reader.required_int("host", 0, kMostShimRanks);
  time.seconds = reader.required_double("seconds", 0);
  time.slowest = reader.optional_double("slowest", 0, 0);
  time.bytes = reader.optional_double("bytes", 0, 0);
  time.count = reader.optional_int64("count", 0, 0);
  return time;
}

std::string why_not(StallKind kind, const ShimJob& job) {
  const bool stuck = job.num_ranks > 1 && !job.unswitchable.empty();
  switch (kind) {
    case StallKind::kLaunch:
      return job.on_gpu || job.counted ? "" : "the script runs its own profiler";
    case StallKind::kContention:
    case StallKind::kStraggler:
    case StallKind::kInterconnect:
    case StallKind::kNetwork:
      return stuck ? "ranks communicate in a way that cannot be turned off" : "";
    case StallKind::kHostCopy:
      return job.on_gpu ? "the script copies batches itself" : "";
    case StallKind::kPrepare:
    case StallKind::kFetch:
      return job.loaders == 0 ? "no torch DataLoader feeds the steps" : "";
  }
  return {};
}

}  // namespace

ShimBlocks read_shim_blocks(std::string_view text, const std::string& file) {
  ShimBlocks result;
  bool has_job = false;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos;) {
    const spec::Value line = spec::parse_json(text.substr(0, end), file);
    text.remove_prefix(end + 1);
    ErrorList errors;
    spec::Reader reader(line, errors);
    if (reader.has("job")) {
      result.job = job_of(reader.required_table("job"));
      has_job = true;
    } else {
      result.times.push_back(time_of(reader));
    }
    reader.finish();
    errors.throw_if_any();
    if (!result.times.empty() && has_job && result.times.back().rank >= result.job.num_ranks)
      throw_input_error(
          "measure.blocks",
          fmt::format("a block of rank {} of {}", result.times.back().rank, result.job.num_ranks),
          {file});
  }
  if (!has_job) throw_input_error("measure.blocks", "no line describes the job", {file});
  return result;
}

void explain_missing(StallReport& report, const ShimJob& job) {
  for (Stall& stall : report.stalls)
    if (!stall.measured)
      if (std::string reason = why_not(stall.kind, job); !reason.empty())
        stall.note = std::move(reason);
  if (job.num_ranks > 1 && !job.unswitchable.empty())
    report.notes.push_back(
        fmt::format("the script calls torch.distributed.{}, which cannot be turned off, so "
                    "waiting for ranks counts as one device's work",
                    fmt::join(job.unswitchable, ", ")));
  if (job.loaders == 0)
    report.notes.push_back("what the script reads and prepares itself counts as one device's work");
  if (job.on_gpu) report.notes.push_back("copies to the device count as one device's work");
}

}  // namespace nereus::measure
