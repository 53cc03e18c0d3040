// `nereus measure`: what this machine, or the machines of a launcher's ranks, can do, as a profile.
//
//   MeasureAnswer a = measure_machine({.train = {..}, .quick = true}, watch);
//   profile::profile_to_json(a.profile);
//
// One worker a rank is started (`nereus-worker --measure`, job/measure.hpp), as `train` starts
// them: all ranks of this machine, or under torchrun, mpirun or srun the rank of this process; and
// that several times, so that intervals hold what differs from process to process
// (app/measure/measure_processes.hpp). With a model its layers are measured too, in a copy of it
// with few blocks: equal ones take the same.
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
  // Model, degrees and --seq; --cluster for what links should do; device, comm, threads; worker and
  // launcher.
  TrainRequest train{};
  bool quick = false;
  std::optional<int> ranks{};        // none: those of the degrees, or all devices of this machine
  std::vector<int> samples{};        // of a micro-batch; none: 1, 2, 4, 8 (quick: 1, 2, 4)
  std::vector<std::string> parts{};  // none: all
  std::optional<int> processes{};    // one after the other; none: as many as time allows
  std::string folder{};              // whose disk is read; empty: the one of temporary files
};

struct MeasureWatch {
  std::function<void(const std::string& what)> say{};           // what is measured now
  std::function<void(int rank, std::string_view line)> text{};  // what a worker printed
};

struct MeasureAnswer {
  profile::Profile profile{};
  std::vector<measure::SlowLink> slow_links{};
  double seconds = 0;
  int exit_code = 0;  // 0, 2, 5, 10
  std::optional<Error> failure{};
  std::vector<Error> more{};
  bool speaks = true;  // for the whole job: rank 0, or all ranks of one machine
};

// Throws Errors with all that is wrong with the request. Codes: measure.ranks, measure.part,
// measure.folder, measure.samples, measure.processes, and those of `train`.
MeasureAnswer measure_machine(const MeasureRequest& request, const MeasureWatch& watch);

// Two profiles that `measure` wrote. Throws Errors where one of them is none.
measure::Comparison compare_profiles(const std::string& first, const std::string& second);

}  // namespace nereus::app
