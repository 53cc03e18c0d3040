#include "app/simulate/simulate_job.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "plan/degree_testing.hpp"

namespace nereus::app::simulate_job_test {
namespace {

// The error code of simulate_job for a job that gives only this degree; empty if it gets further,
// to the trace that does not exist.
template <class Field>
std::string refused(const Field& field, const std::string& rates) {
  JobRequest request;
  request.availability = "no-such-trace.csv";
  request.rates_file = rates;
  request.samples_per_step = 8;
  request.predict.degrees = plan::testing::request_of(field);
  try {
    simulate_job(request);
  } catch (const Errors& errors) {
    const Error& error = errors.list().front();
    if (error.code == "job.degrees") return error.message;
  }
  return {};
}

TEST(SimulateJob, DegreesThatNothingReadsAreRefused) {
  const std::vector<std::string_view> read = {"tp",        "pp",  "micro_batch", "zero",
                                              "precision", "seq", "global_batch"};
  plan::for_each_request([&](const auto& field) {
    if (field.option == nullptr) return;
    const bool is_read = std::find(read.begin(), read.end(), field.name) != read.end();
    EXPECT_EQ(refused(field, "").empty(), is_read) << field.name;
    // A table of rates has no plans at all.
    const std::string message = refused(field, "rates.csv");
    EXPECT_EQ(message.empty(), field.name == "global_batch") << field.name;
    EXPECT_EQ(message.substr(0, message.find(' ')), message.empty() ? "" : field.option);
  });
}

}  // namespace
}  // namespace nereus::app::simulate_job_test
