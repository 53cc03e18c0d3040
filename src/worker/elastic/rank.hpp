// A worker that lives through generations: it trains as whatever rank it is told to be, and keeps
// its state in memory between one generation and the next.
//
//   nereus-worker --elastic --command-fd 5 --report-fd 6
//
// Two threads. One reads commands (job/elastic.hpp): it alone hears that a generation is over, and
// frees the other from whatever it waits in (Comm::abort). The other trains:
//
//   generation   the state that was held is brought to the step that all survivors agreed on
//                (Executor::commit), a Comm is opened, state exchanged (exchange.hpp), or read from
//                the newest checkpoint that all ranks can read, or begun afresh
//   started      all ranks have all they need: only now what was held before is let go
//   steps        until the last, or one after which the ranks agree to end, or the end of the
//                generation
//   ended        what is held now
//
// The process ends when the pipe of commands does: an agent and its worker live together.
#pragma once

namespace nereus::worker {

struct ElasticOptions {
  int command_fd = -1;
  int report_fd = -1;
};

int run_elastic(const ElasticOptions& options);  // the exit code, as of run_rank()

}  // namespace nereus::worker
