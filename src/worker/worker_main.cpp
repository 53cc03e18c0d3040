// nereus-worker: one rank of a job. `nereus train` or `nereus measure` start it, with one process
// per rank.
//
//   nereus-worker --job FILE --rank R [--report-fd N]     MASTER_ADDR, MASTER_PORT, WORLD_SIZE
//   nereus-worker --measure FILE --rank R [--report-fd N]
//   nereus-worker --elastic --command-fd N --report-fd N     started by `nereus agent`
//   nereus-worker --version
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/build_info.hpp"
#include "worker/device/torch_compat.hpp"
#include "worker/elastic/rank.hpp"
#include "worker/measure/run_measure.hpp"
#include "worker/run/run_job.hpp"

namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace nereus;
  worker::RankOptions options;
  worker::ElasticOptions elastic;
  bool is_elastic = false, measures = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--version") {
      std::puts(job::to_line(worker::worker_info()).c_str());
      return 0;
    }
    if (option == "--elastic") {
      is_elastic = true;
      continue;
    }
    if (i + 1 == argc || (option != "--job" && option != "--measure" && option != "--rank" &&
                          option != "--report-fd" && option != "--command-fd")) {
      std::fprintf(stderr, "nereus-worker: started by nereus train, or with --version\n");
      return 2;
    }
    const char* value = argv[++i];
    if (option == "--job" || option == "--measure") options.job_file = value;
    measures |= option == "--measure";
    if (option == "--rank") options.rank = std::atoi(value);
    if (option == "--report-fd") options.report_fd = elastic.report_fd = std::atoi(value);
    if (option == "--command-fd") elastic.command_fd = std::atoi(value);
  }
  options.num_ranks = std::atoi(environment("WORLD_SIZE", "1").c_str());
  options.local_rank = std::atoi(environment("LOCAL_RANK", "0").c_str());
  options.address = environment("MASTER_ADDR", "127.0.0.1");
  options.port = std::atoi(environment("MASTER_PORT", "0").c_str());
  const int status = is_elastic ? worker::run_elastic(elastic)
                     : measures ? worker::run_measure(options)
                                : worker::run_rank(options);
  // Static destructors of libraries whose threads still run are not worth waiting for.
  std::fflush(nullptr);
  std::_Exit(status);
}
