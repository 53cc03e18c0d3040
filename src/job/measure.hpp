// What a worker is told to measure (`nereus-worker --measure FILE`): which parts of the machine,
// for how long, and where the profile goes. One JSON file that every rank reads.
//
//   {"build": "0.1.0 <commit>", "parts": "kernels memory", "device": "cpu", "comm": "shared", ..}
//
// Layers of a model are measured by training it: `num_jobs` files job-0.json, job-1.json .. in
// `scratch` are jobs (job/job.hpp) of one tensor team each, the same model with more and more
// samples a micro-batch. All teams run them at the same time, each for itself.
//
//   save_measure_job(path, job);
//   MeasureJob job = load_measure_job(path);       // throws Errors with all that is wrong
#pragma once

#include <string>
#include <string_view>

namespace nereus::job {

// In the order in which they are measured.
inline constexpr const char* kMeasureParts[] = {"kernels", "memory", "jitter",      "disk",
                                                "prepare", "links",  "collectives", "layers"};

struct MeasureJob {
  std::string build = {};  // build_id() of the program that wrote it
  std::string parts = {};  // words of kMeasureParts
  std::string device = "cpu";
  std::string comm = "shared";
  int threads = 1;  // of computation, a rank
  bool pin = false;
  double timeout_s = 600;  // of any one wait for another rank
  bool quick = false;
  std::string folder = {};  // whose disk is read
  std::string data = {};    // what samples are prepared from; empty: files made for it
  std::string scratch = {};
  int num_jobs = 0;
  int team = 1;             // ranks of a tensor team
  std::string ports = {};   // one a team, where each meets
  std::string output = {};  // the profile, which rank 0 writes

  bool wants(std::string_view part) const {
    return (" " + parts + " ").find(" " + std::string(part) + " ") != std::string::npos;
  }
  bool operator==(const MeasureJob&) const = default;
};

std::string measure_job_to_json(const MeasureJob& job);
MeasureJob parse_measure_job(std::string_view text, const std::string& file);  // throws Errors
void save_measure_job(const std::string& path, const MeasureJob& job);
MeasureJob load_measure_job(const std::string& path);

}  // namespace nereus::job
