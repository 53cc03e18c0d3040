// Which rank of a job this process is to start, by the environment that a launcher gave it.
//
//   torchrun, or by hand   RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT
//   mpirun (Open MPI)      OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
//   srun                   SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, SLURM_STEP_NUM_NODES
//
// The ranks meet at MASTER_ADDR:MASTER_PORT, where rank 0 listens. Where mpirun or srun keeps all
// ranks on one host and nobody says where, that is 127.0.0.1 and a port made of the job's number.
// Torchrun's agent listens at MASTER_PORT itself (TORCHELASTIC_USE_AGENT_STORE), so ours is the
// next one. In a batch script of Slurm outside srun SLURM_PROCID is set too; SLURM_STEP_NUM_TASKS
// is not.
//
//   const auto launched = launched_rank();       // nothing: this process starts all ranks
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/train/train.hpp"

namespace nereus::api {

// Throws Errors ("train.environment") where the environment says half of it.
std::optional<app::LaunchedRank> launched_rank();

// The same of any environment; an unset variable is empty.
std::optional<app::LaunchedRank> launched_rank_of(
    const std::function<std::string(const char*)>& variable);

// Where the program that runs a rank is built: in the folder of this one.
std::string worker_beside_this();

}  // namespace nereus::api
