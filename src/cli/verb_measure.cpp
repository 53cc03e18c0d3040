#include "cli/cli.hpp"
#include "cli/machine_options.hpp"
#include "cli/prediction_report.hpp"
#include "cli/run_stalls.hpp"
#include "cli/verbs.hpp"

namespace nereus::cli {

Verb measure_verb(const Session& session) {
  struct Request {
    app::TrainRequest train;
    StepOptions step;
    MachineOptions machine;
    StallOptions stalls;
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  request->train.machine.comm.clear();
  auto command = std::make_unique<Command>("measure", "what a step of training waits for");
  add_prediction_options(*command, request->train.plan);
  add_stall_options(*command, request->stalls);
  add_data_options(*command, request->train, request->machine);
  add_step_options(*command, request->train, request->step);
  add_machine_options(*command, request->train, request->machine);
  add_output_options(*command, request->output);
  command->about(
      "Runs a job as nereus train would, in short blocks of steps that differ in one thing each: a "
      "rank alone, all ranks without talking, talking within hosts, between them, with samples "
      "from files in the page cache, and from files that are not. What each costs is the "
      "difference of two blocks, with an interval. Across machines, start it once a rank under "
      "torchrun --no-python, mpirun or srun, as nereus train.");
  command->example(
      "nereus measure --stalls --model resnet50 --dp 2 --global-batch 32 --data photos/ "
      "--loaders 4",
      "is it the disk, the cores or the ranks?");
  command->run = [&session, request] {
    ErrorList errors;
    if (!request->stalls.stalls)
      errors.add("cli.missing-option", "nothing to measure is named", {},
                 "--stalls: what a step of a job waits for");
    take_step_options(request->step, request->train, errors);
    take_machine_options(request->machine, request->train, errors);
    errors.throw_if_any();
    return run_stalls(session, request->train, request->stalls, request->output);
  };
  return command;
}

}  // namespace nereus::cli
