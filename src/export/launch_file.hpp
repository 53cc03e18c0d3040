// Shared by all exports: the comment header with the facts that no engine's file has, the torchrun
// line, and a Slurm script.
//
//   # nereus: engine=megatron
//   # nereus: cluster=16xdgx-h100
//
// launch.sh runs on every node. NNODES, NODE_RANK, MASTER_ADDR and MASTER_PORT come from the
// environment, with defaults for one node. job.slurm starts one launch.sh per node.
#pragma once

#include <map>
#include <string>

#include "export/bundle.hpp"
#include "export/shell.hpp"

namespace nereus::exporting {

// The first lines of launch.sh: shebang, one sentence, the facts.
std::string script_header(Engine engine, const plan::Plan& plan, const RegularPlan& regular);
// The variables of nodes, and torchrun's arguments as one array.
std::string torchrun_arguments(const plan::Plan& plan);
std::string slurm_script(Engine engine, const plan::Plan& plan);
// Adds errors if torchrun cannot start the same number of processes on every node.
void check_nodes(Engine engine, const plan::Plan& plan, ErrorList& errors);

// The facts in the header: key -> value.
std::map<std::string, std::string> read_facts(const Script& script);
// Reads nodes and devices from torchrun's arguments and Slurm's comments; other hints stay
// unchanged.
void read_nodes(const Script& script, Hints& hints);

// Adds an error export.cannot-express.
void cannot(ErrorList& errors, Engine engine, const std::string& what,
            const std::string& hint = {});
// Adds an error if a plan offloads to another memory than the host's, the only one that engines
// support.
void cannot_offload_elsewhere(ErrorList& errors, Engine engine, const plan::Degrees& degrees);
// Like cannot_offload_elsewhere(), with additional errors for FSDP (in accelerate and torchtitan),
// which offloads either all sharded state or none.
void cannot_offload_parts(ErrorList& errors, Engine engine, const plan::Degrees& degrees);

// Adds an error for every number format of state that the plan sets, except for these parts.
void cannot_set_types(ErrorList& errors, Engine engine, const plan::StateTypes& types,
                      std::initializer_list<std::string_view> parts = {});

// Quotes a word so that a shell reads it back unchanged.
std::string shell_word(const std::string& text);

}  // namespace nereus::exporting
