// The sections of a study file, each in a separate source file (workload_file.cpp,
// strategy_file.cpp, prices_file.cpp), and checks across sections (study_checks.cpp). Only for use
// inside search/explore.
#pragma once

#include "search/explore/study.hpp"
#include "spec/reader.hpp"

namespace nereus::explore {

// Adds the variants of one workload: the product of its axes. `machine` is the first machine of the
// study, on which derived values depend.
void read_workload(spec::Reader& table, int index, const cluster::Cluster& machine, Study& study,
                   ErrorList& errors);

void read_strategy(spec::Reader& table, StrategySpace& strategy, ErrorList& errors);

void read_prices(spec::Reader& table, Prices& prices, ErrorList& errors);
void read_power(spec::Reader& table, Prices& prices, ErrorList& errors);
void read_constraints(spec::Reader& table, Constraints& constraints, ErrorList& errors);

// Checks a study that was read without errors.
void check_study(const Study& study, spec::Reader& file);

}  // namespace nereus::explore
