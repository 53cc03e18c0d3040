// `nereus measure`: measures this machine, or the machines of a launcher's ranks, and returns a
// profile.
//
//   MeasureAnswer a = measure_machine({.train = {..}, .quick = true}, watch);
//   profile::profile_to_json(a.profile);
//
// One worker per rank is started (`nereus-worker --measure`, job/measure.hpp), as in `train`: all
// ranks of this machine, or under torchrun, mpirun or srun the rank of this process. This is
// repeated with new processes, so that intervals include the variation between processes
// (app/measure/measure_processes.hpp). With a model, its layers are measured too, in a copy of it
// with few blocks, because equal blocks take the same time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/train/train.hpp"
#include "measure/machine_compare.hpp"
#include "measure/machine_links.hpp"
#include "profile/profile.hpp"

namespace nereus::app {

struct MeasureRequest {
  // Model, degrees and --seq; --cluster for the expected rates of links; device, comm, threads;
  // worker and launcher.
  TrainRequest train{};
  bool quick = false;
  std::optional<int> ranks{};        // none: those of the degrees, or all devices of this machine
  std::vector<int> samples{};        // per micro-batch; none: 1, 2, 4, 8 (quick: 1, 2, 4)
  std::vector<std::string> parts{};  // none: all
  std::optional<int> processes{};    // runs with new processes; none: as many as the time allows
  std::string folder{};  // the folder whose disk is read; empty: that of temporary files
};

struct MeasureWatch {
  std::function<void(const std::string& what)> say{};           // what is being measured
  std::function<void(int rank, std::string_view line)> text{};  // output of a worker
};

struct MeasureAnswer {
  profile::Profile profile{};
  std::vector<measure::SlowLink> slow_links{};
  double seconds = 0;
  int exit_code = 0;  // 0, 2, 5, 10
  std::optional<Error> failure{};
  std::vector<Error> more{};
  bool speaks = true;  // this call reports for the whole job: rank 0, or all ranks of one machine
};

// Throws Errors with all errors of the request. Codes: measure.ranks, measure.part, measure.folder,
// measure.samples, measure.processes, and those of `train`.
MeasureAnswer measure_machine(const MeasureRequest& request, const MeasureWatch& watch);

// Compares two profiles that `measure` wrote. Throws Errors if one of the files is not a profile.
measure::Comparison compare_profiles(const std::string& first, const std::string& second);

}  // namespace nereus::app
