#include "api/verbs/open_ranks.hpp"

#include <charconv>
#include <cstdlib>

namespace nereus::api {

namespace {

// 0 for text that is not a number; no launcher writes such text.
int count_in(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace

spread::Launch launch_of(const std::function<std::string(const char*)>& variable) {
  using Kind = spread::Launch::Kind;
  // First, because mpirun inside a Slurm job starts its ranks through srun.
  if (const std::string size = variable("OMPI_COMM_WORLD_SIZE"); !size.empty()) {
    if (count_in(size) <= 1) return {};
    return {Kind::kOpenMpi, count_in(size), "mpirun"};
  }
  if (const int size = count_in(variable("SLURM_STEP_NUM_TASKS")); size > 1) {
    if (variable("PMIX_RANK").empty()) return {Kind::kOther, size, "srun without PMIx"};
    return {Kind::kOpenMpi, size, "srun"};
  }
  if (const int size = count_in(variable("PMI_SIZE")); size > 1) {
    return {Kind::kOther, size, "the launcher of another MPI implementation"};
  }
  return {};
}

spread::Launch detect_launch() {
  return launch_of([](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  });
}

}  // namespace nereus::api
