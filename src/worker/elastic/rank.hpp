// A worker that survives several generations: it trains as whichever rank it is told to be, and
// keeps its state in memory between generations.
//
//   nereus-worker --elastic --command-fd 5 --report-fd 6
//
// It has two threads. One reads commands (job/elastic.hpp): it learns that a generation has ended,
// and then aborts any wait of the other thread (Comm::abort). The other thread trains:
//
//   generation   the held state is brought to the step that all survivors agreed on
//                (Executor::commit), a Comm is opened, and state is exchanged (exchange.hpp), read
//                from the newest checkpoint that all ranks can read, or initialized
//   started      all ranks have all they need: only now the previous state is freed
//   steps        until the last step, or one after which the ranks agree to end, or the end of the
//                generation
//   ended        reports what is held now
//
// The process ends when the command pipe is closed, so a worker does not outlive its agent.
#pragma once

namespace nereus::worker {

struct ElasticOptions {
  int command_fd = -1;
  int report_fd = -1;
};

int run_elastic(const ElasticOptions& options);  // returns the exit code, as run_rank()

}  // namespace nereus::worker
