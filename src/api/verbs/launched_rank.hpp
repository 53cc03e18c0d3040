// Reads from the environment which rank of a launcher's job this process must start.
//
//   torchrun, or by hand   RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT
//   mpirun (Open MPI)      OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
//   srun                   SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, SLURM_STEP_NUM_NODES
//
// The ranks meet at MASTER_ADDR:MASTER_PORT, where rank 0 listens. If these are not set and mpirun
// or srun runs all ranks on one host, the address is 127.0.0.1 and the port is derived from the
// job's number. Torchrun's agent itself listens at MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE), so
// we use the next port. Slurm also sets SLURM_PROCID in a batch script outside srun, but not
// SLURM_STEP_NUM_TASKS.
//
//   const auto launched = launched_rank();       // empty: this process starts all ranks
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/train/train.hpp"

namespace nereus::api {

// Throws Errors ("train.environment") if only some of the variables are set.
std::optional<app::LaunchedRank> launched_rank();

// Like launched_rank(), with any environment; an unset variable is empty.
std::optional<app::LaunchedRank> launched_rank_of(
    const std::function<std::string(const char*)>& variable);

// Path of the program that runs a rank: it is built into the folder of this program.
std::string worker_beside_this();

}  // namespace nereus::api
