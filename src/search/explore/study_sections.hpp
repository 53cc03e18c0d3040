// The sections of a study file, each in a file of its own (workload_file.cpp, strategy_file.cpp,
// prices_file.cpp), and what is wrong with them together (study_checks.cpp). Inside search/explore
// only.
#pragma once

#include "search/explore/study.hpp"
#include "spec/reader.hpp"

namespace nereus::explore {

// Adds the variants of one workload: the product of its own axes. `machine` is the first of the
// study, which decides what is derived.
void read_workload(spec::Reader& table, int index, const cluster::Cluster& machine, Study& study,
                   ErrorList& errors);

void read_strategy(spec::Reader& table, StrategySpace& strategy, ErrorList& errors);

void read_prices(spec::Reader& table, Prices& prices, ErrorList& errors);
void read_power(spec::Reader& table, Prices& prices, ErrorList& errors);
void read_constraints(spec::Reader& table, Constraints& constraints, ErrorList& errors);

// Of a study that was read without an error.
void check_study(const Study& study, spec::Reader& file);

}  // namespace nereus::explore
