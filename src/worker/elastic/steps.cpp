#include "worker/elastic/steps.hpp"

#include <chrono>
#include <cmath>

#include "base/error.hpp"
#include "worker/run/rank_messages.hpp"

namespace nereus::worker {

namespace {

using Clock = std::chrono::steady_clock;

// Signals of ranks, summed: to end, to end and save, to save and continue (only from rank 0).
constexpr double kEnd = 1, kSave = 1e6, kSaveOnly = 1e12;

double signal_of(Commands::Ending ending) {
  return ending == Commands::Ending::kSave ? kSave : ending == Commands::Ending::kEnd ? kEnd : 0;
}

void finish_saving(Life& life, const Remark& remark) {
  try {
    life.saver->finish();
  } catch (const Errors& errors) {
    remark("checkpoint: " + errors.list().front().message);
  }
}

// A checkpoint that fails is told and done without: the state is in memory.
void save(Life& life, const Remark& remark) {
  if (!life.saver->saves()) return;
  finish_saving(life, remark);  // what went wrong with the one before is no reason to give this up
  try {
    life.saver->save(life.done, *life.executor);
  } catch (const Errors& errors) {
    remark("checkpoint: " + errors.list().front().message);
  }
}

void tell_saved(Life& life, const Say& say) {
  for (const checkpoint::Writer::Complete& complete : life.saver->take_completed()) {
    job::Message saved;
    saved.kind = job::MessageKind::kCheckpoint;
    saved.step = complete.step;
    saved.folder = complete.folder;
    say(saved);
  }
}

}  // namespace

void run_steps(Life& life, Commands& commands, std::int64_t generation, const Say& say,
               const Remark& remark) {
  const job::Job& job = life.job;
  // Ranks were lost after the last step, and with them perhaps its checkpoint.
  if (life.done >= job.training.steps) {
    life.complete = true;
    save(life, remark);
    finish_saving(life, remark);
  }
  while (life.done < job.training.steps) {
    const std::int64_t step = life.done;
    const Clock::time_point start = Clock::now();
    const double signal = signal_of(commands.ends_after_step(generation)) +
                          (commands.take_save(generation) ? kSaveOnly : 0);
    const StepResult result = life.executor->run(step, signal);
    const double ending = std::fmod(result.signals, kSaveOnly);
    life.done = step + 1;
    life.gradient_norm = result.gradient_norm;
    life.complete = life.done == job.training.steps;
    const Clock::time_point before_save = Clock::now();
    if (life.complete || ending >= kSave || result.signals >= kSaveOnly ||
        (job.checkpoint.every > 0 && life.done % job.checkpoint.every == 0))
      save(life, remark);
    const double copied = since(before_save);
    job::Message message = message_of_step(job, step, result, since(start));
    message.waits.checkpoint = copied;
    say(message);
    if (life.complete) finish_saving(life, remark);
    tell_saved(life, say);
    if (ending > 0) break;
  }
  if (!life.complete) finish_saving(life, remark);
  tell_saved(life, say);
}

}  // namespace nereus::worker
