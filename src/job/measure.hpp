// The instructions for a measurement (`nereus-worker --measure FILE`): which parts of the machine
// to measure, for how long, and the file for the profile. A JSON file that every rank reads.
//
//   {"build": "0.1.0 <commit>", "parts": "kernels memory", "device": "cpu", "comm": "shared", ..}
//
// A model's layers are measured by training it: `num_jobs` files job-0.json, job-1.json .. in
// `scratch` are jobs (job/job.hpp) for one tensor team each, with the same model and increasing
// samples per micro-batch. All teams run them at the same time, each separately.
//
//   save_measure_job(path, job);
//   MeasureJob job = load_measure_job(path);       // throws Errors with all errors
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
  int threads = 1;  // for computation, per rank
  bool pin = false;
  double timeout_s = 600;  // for any single wait for another rank
  bool quick = false;
  std::string folder = {};  // the folder whose disk is read
  std::string data = {};    // source of samples; empty: generated files
  std::string scratch = {};
  int num_jobs = 0;
  int team = 1;             // ranks per tensor team
  std::string ports = {};   // one per team, where its ranks meet
  std::string output = {};  // file for the profile, written by rank 0

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
