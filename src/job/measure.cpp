#include "job/measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "base/error.hpp"
#include "base/write_file.hpp"
#include "job/job.hpp"
#include "spec/fields.hpp"
#include "spec/source.hpp"

namespace nereus::job {

template <class V>
void visit_fields(V& v, spec::Like<MeasureJob> auto& job) {
  v.always("build", job.build);
  v.always("parts", job.parts);
  v.always("device", job.device, kDevices);
  v.always("comm", job.comm, kComms);
  v.always("threads", job.threads, 1);
  v.always("pin", job.pin);
  v.always("timeout_s", job.timeout_s, 1, 1e6);
  v.always("quick", job.quick);
  v.always("folder", job.folder);
  v.always("data", job.data);
  v.always("scratch", job.scratch);
  v.always("num_jobs", job.num_jobs);
  v.always("team", job.team, 1);
  v.always("ports", job.ports);
  v.always("output", job.output);
  v.check([&](spec::Reader& r) {
    std::istringstream words(job.parts);
    for (std::string word; words >> word;)
      if (std::find(std::begin(kMeasureParts), std::end(kMeasureParts), word) ==
          std::end(kMeasureParts))
        r.fail("parts", "measure.part", fmt::format("there is no part '{}' to measure", word),
               fmt::format("{}", fmt::join(kMeasureParts, ", ")));
  });
}

std::string measure_job_to_json(const MeasureJob& job) {
  return spec::to_json(spec::put_value(job)) + "\n";
}

MeasureJob parse_measure_job(std::string_view text, const std::string& file) {
  MeasureJob job;
  spec::parse_fields(text, file, job);
  return job;
}

void save_measure_job(const std::string& path, const MeasureJob& job) {
  write_file(path, measure_job_to_json(job));
}

MeasureJob load_measure_job(const std::string& path) {
  return parse_measure_job(spec::read_text_file(path), path);
}

}  // namespace nereus::job
