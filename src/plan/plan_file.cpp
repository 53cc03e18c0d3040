// Plans as files on disk, and whether their parts agree.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "plan/check.hpp"
#include "plan/expand.hpp"
#include "plan/plan_json.hpp"
#include "plan/rules.hpp"
#include "spec/source.hpp"

namespace nereus::plan {

std::vector<Error> check_plan(const Plan& plan) {
  std::vector<Error> errors = check(plan.placement, plan.model, plan.cluster);
  if (!plan.degrees || !errors.empty()) return errors;
  // The rules come first: expansion needs degrees that can be built.
  errors = check_degrees(*plan.degrees, plan.model, plan.cluster).list();
  if (!errors.empty()) return errors;
  const std::optional<Degrees> placed = as_regular_with_own_stages(plan.placement, plan.model);
  if (placed == canonical(*plan.degrees, plan.model)) return {};
  Error error;
  error.code = "plan.degrees-disagree";
  error.message = "the degrees of this plan do not describe its placement";
  error.hint = "leave \"degrees\" out; the placement is what counts";
  return {error};
}

Plan load_plan(const std::string& path) {
  Plan plan = parse_plan(spec::read_text_file(path), path);
  std::vector<Error> errors = check_plan(plan);
  for (Error& error : errors) error.where.file = path;
  if (!errors.empty()) throw Errors(std::move(errors));
  return plan;
}

void save_plan(const std::string& path, const Plan& plan) {
  const std::string text = plan_to_json(plan);
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  const auto give_up = [&](int error) {
    if (file >= 0) unlink(temporary.c_str());
    const std::string message = fmt::format("cannot write {}: {}", path, std::strerror(error));
    const bool wrong_path =
        error == ENOENT || error == ENOTDIR || error == EISDIR || error == EACCES || error == EPERM;
    if (wrong_path) throw_input_error("output.path", message);
    throw_environment_error("output.write", message);
  };
  if (file < 0) give_up(errno);
  std::string_view rest = text;
  int error = 0;
  while (!rest.empty() && error == 0) {
    const ssize_t written = write(file, rest.data(), rest.size());
    if (written >= 0)
      rest.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      error = errno;
  }
  // mkostemp gives 0600; a plan is for everybody the directory is for.
  const mode_t mask = umask(0);
  umask(mask);
  if (error == 0 && (fchmod(file, 0666 & ~mask) != 0 || fsync(file) != 0)) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) give_up(error);
}

}  // namespace nereus::plan
