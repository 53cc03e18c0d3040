#include "job/measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "base/error.hpp"
#include "base/write_file.hpp"
#include "job/fields.hpp"
#include "job/job.hpp"
#include "spec/source.hpp"

namespace nereus::job {

namespace {

template <class V, class T>
void visit_measure(V& v, T& job) {
  v.text("build", job.build);
  v.text("parts", job.parts);
  v.word("device", job.device, kDevices);
  v.word("comm", job.comm, kComms);
  v.whole("threads", job.threads, 1);
  v.truth("pin", job.pin);
  v.real("timeout_s", job.timeout_s, 1, 1e6);
  v.truth("quick", job.quick);
  v.text("folder", job.folder);
  v.text("data", job.data);
  v.text("scratch", job.scratch);
  v.whole("num_jobs", job.num_jobs);
  v.whole("team", job.team, 1);
  v.text("ports", job.ports);
  v.text("output", job.output);
}

void check_parts(const MeasureJob& job, spec::Reader& r) {
  std::istringstream words(job.parts);
  for (std::string word; words >> word;)
    if (std::find(std::begin(kMeasureParts), std::end(kMeasureParts), word) ==
        std::end(kMeasureParts))
      r.fail("parts", "measure.part", fmt::format("there is no part '{}' to measure", word),
             fmt::format("{}", fmt::join(kMeasureParts, ", ")));
}

}  // namespace

std::string measure_job_to_json(const MeasureJob& job) {
  PutFields put;
  visit_measure(put, job);
  return spec::to_json(put.take()) + "\n";
}

MeasureJob parse_measure_job(std::string_view text, const std::string& file) {
  MeasureJob job;
  parse_fields(text, file.c_str(), [&](spec::Reader& r, TakeFields& take) {
    visit_measure(take, job);
    check_parts(job, r);
  });
  return job;
}

void save_measure_job(const std::string& path, const MeasureJob& job) {
  write_file(path, measure_job_to_json(job));
}

MeasureJob load_measure_job(const std::string& path) {
  return parse_measure_job(spec::read_text_file(path), path);
}

}  // namespace nereus::job
