#include "api/verbs/run_what_if.hpp"

#include "api/form/exit_codes.hpp"
#include "api/reports/what_if_report.hpp"
#include "base/write_file.hpp"
#include "spec/source.hpp"

namespace nereus::api {

void add_what_if_options(Command& command, WhatIfOptions& given) {
  command.group("What-ifs");
  command.files("--what-if", "FILE", given.files,
                "measure nothing; estimate the step time after a change, from the JSON output of "
                "--stalls, -- COMMAND or --kineto");
  command.texts("--change", "NAME=VALUE", given.changes,
                "a change: cores=2 (twice the cores for samples), disk=2, cached=0.5 (share of "
                "samples in memory), links=2, bucket=4MiB (gradient buckets), device=1.5; may be "
                "repeated (default: doubles each measured quantity)");
}

int run_what_if(Caller& caller, const WhatIfOptions& given, const StallOptions& pictures,
                const OutputOptions& output) {
  if (given.files.empty())
    throw_input_error("measure.change", "--change needs --what-if with a file", {},
                      "nereus measure --what-if stalls.json --change cores=2");
  std::vector<measure::Change> changes;
  for (const std::string& text : given.changes) changes.push_back(measure::parse_change(text));
  std::vector<WhatIf> runs;
  for (const std::string& file : given.files) {
    WhatIf run;
    run.file = file;
    run.now = measure::read_stall_file(spec::read_text_file(file), file);
    for (const measure::Change& own : changes.empty() ? usual_changes(run.now) : changes)
      run.changes.push_back({own});
    if (changes.size() > 1) run.changes.push_back(changes);
    for (const std::vector<measure::Change>& own : run.changes)
      run.steps.push_back(measure::what_if(run.now, own));
    runs.push_back(std::move(run));
  }
  caller.answer(what_if_report(runs), output);
  if (!pictures.svg_file.empty()) write_file(pictures.svg_file, what_if_picture(runs));
  if (!pictures.html_file.empty()) write_file(pictures.html_file, what_if_page(runs));
  return kDone;
}

}  // namespace nereus::api
