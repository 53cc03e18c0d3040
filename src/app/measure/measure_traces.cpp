#include "app/measure/measure_traces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/parse_number.hpp"
#include "measure/trace_file.hpp"
#include "measure/trace_stalls.hpp"

namespace nereus::app {

namespace fs = std::filesystem;

namespace {

struct Named {
  std::string file;
  int rank = -1;  // given as RANK=FILE
};

Named named(const std::string& text) {
  std::error_code error;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || fs::exists(text, error)) return {text};
  const std::optional<int> rank = parse_number<int>(std::string_view(text).substr(0, equals));
  if (!rank || *rank < 0) return {text};
  return {text.substr(equals + 1), *rank};
}

std::vector<Named> files_of(const std::vector<std::string>& names) {
  std::vector<Named> files;
  for (const std::string& name : names) {
    std::error_code error;
    if (!fs::is_directory(name, error)) {
      files.push_back(named(name));
      continue;
    }
    std::vector<std::string> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(name))
      if (const std::string file = entry.path().string();
          file.ends_with(".json") || file.ends_with(".json.gz"))
        inside.push_back(file);
    if (inside.empty())
      throw_input_error("measure.no-trace", "the folder has no .json or .json.gz", {name});
    std::sort(inside.begin(), inside.end());
    for (const std::string& file : inside) files.push_back({file});
  }
  return files;
}

measure::Trace read(const Named& name) {
  measure::TraceFile file(name.file);
  std::istream in(&file);
  try {
    measure::Trace trace = measure::read_kineto(in, name.file);
    file.throw_if_broken();
    if (name.rank >= 0) trace.rank = name.rank;
    return trace;
  } catch (const Errors&) {
    file.throw_if_broken();  // what the text lacks, the gzip lacks
    throw;
  }
}

// A single rank need not say that it is rank 0, unless it communicates with others.
void check_ranks(std::vector<measure::Trace>& traces) {
  if (traces.size() == 1 && traces[0].rank < 0 && traces[0].collectives.empty()) traces[0].rank = 0;
  ErrorList errors;
  for (const measure::Trace& trace : traces)
    if (trace.rank < 0)
      errors.add("measure.trace-rank",
                 "the trace does not name its rank (distributedInfo), but its job has several "
                 "ranks",
                 {trace.file}, "RANK=FILE, as in --kineto 0=first.json 1=second.json");
  errors.throw_if_any();
  std::sort(traces.begin(), traces.end(),
            [](const measure::Trace& a, const measure::Trace& b) { return a.rank < b.rank; });
  int stated = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (i > 0 && traces[i].rank == traces[i - 1].rank)
      errors.add("measure.trace-rank",
                 fmt::format("two traces belong to rank {}: the other is {}", traces[i].rank,
                             traces[i - 1].file),
                 {traces[i].file}, "give one trace per rank, all of the same run");
    if (stated > 0 && traces[i].num_ranks > 0 && traces[i].num_ranks != stated)
      errors.add("measure.trace-rank",
                 fmt::format("the trace belongs to a job of {}, but another trace to a job of {}",
                             counted(traces[i].num_ranks, "rank"), counted(stated, "rank")),
                 {traces[i].file}, "give one trace per rank, all of the same run");
    if (traces[i].num_ranks > 0) stated = traces[i].num_ranks;
  }
  if (stated > 0 && traces.back().rank >= stated)
    errors.add("measure.trace-rank",
               fmt::format("rank {} of a job of {}", traces.back().rank, counted(stated, "rank")),
               {traces.back().file}, "give one trace per rank, all of the same run");
  errors.throw_if_any();
  // If no trace has the number of ranks, the largest rank decides; one trace with communication is
  // of several.
  if (stated == 0) {
    const bool talks = !traces.back().collectives.empty();
    traces.back().num_ranks = std::max(traces.back().rank + 1, talks ? 2 : 1);
  }
}

}  // namespace

StallAnswer measure_traces(const std::vector<std::string>& names) {
  std::vector<measure::Trace> traces;
  for (const Named& name : files_of(names)) traces.push_back(read(name));
  check_ranks(traces);
  StallAnswer answer;
  answer.report = measure::stalls_of(traces);
  answer.model = traces.size() == 1 ? fs::path(traces[0].file).filename().string()
                                    : fmt::format("{} traces", traces.size());
  answer.library =
      traces[0].backend.empty() ? "PyTorch's profiler" : "PyTorch's profiler, " + traces[0].backend;
  answer.counts_tokens = false;
  answer.how = "From the parts of steps in the traces; means over {} steps";
  return answer;
}

}  // namespace nereus::app
