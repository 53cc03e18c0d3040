// Connects the ranks that an Open MPI launcher has started: mpirun, or srun --mpi=pmix.
//
//   const Launch launch = ...;               // from the environment: api/verbs/open_ranks.hpp
//   const auto ranks = open_ranks(launch, {.build = build_id()});    // alone() for one rank
//
// Loads the module in the program's folder (mpi_module.hpp). If several ranks were started and the
// module is missing, cannot be loaded or is of another build, an environment error explains how to
// get it: the ranks must never run as independent programs that write the same files.
#pragma once

#include <string>

#include "spread/ranks.hpp"

namespace nereus::spread {

// The launcher that started this process.
struct Launch {
  enum class Kind {
    kAlone,    // a shell, or a launcher of one process
    kOpenMpi,  // several ranks, by Open MPI's mpirun or through PMIx
    kOther,    // several ranks, in a way that the module does not support
  };
  Kind kind = Kind::kAlone;
  int size = 1;
  std::string by = {};  // "mpirun", "srun without PMIx"
  bool operator==(const Launch&) const = default;
};

std::unique_ptr<Ranks> open_ranks(const Launch& launch, Settings settings);

// Connects to the ranks through the module at a given path, with any launcher.
std::unique_ptr<Link> open_mpi_link(const std::string& module_path, const std::string& build);

std::string mpi_module_path();  // nereus_mpi.so in the program's folder

}  // namespace nereus::spread
