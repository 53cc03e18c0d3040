// Detects from the environment what started this process: a shell, or a launcher with several
// ranks.
//
//   const auto ranks = spread::open_ranks(detect_launch(), {.build = build_id()});
//
// Open MPI's mpirun sets OMPI_COMM_WORLD_SIZE. Slurm's srun sets SLURM_STEP_NUM_TASKS, and with
// --mpi=pmix also PMIX_RANK. Without PMIX_RANK, every task would be a separate MPI program with one
// rank (github.com/open-mpi/ompi/issues/13523). MPICH and its derivatives set PMI_SIZE.
#pragma once

#include <functional>
#include <string>

#include "spread/mpi_link.hpp"

namespace nereus::api {

spread::Launch detect_launch();

// Like detect_launch(), with any environment; an unset variable is empty.
spread::Launch launch_of(const std::function<std::string(const char*)>& variable);

}  // namespace nereus::api
