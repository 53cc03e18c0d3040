// `nereus version`: name and build of this program.
#pragma once

#include <string>

namespace nereus::app {

struct VersionAnswer {
  std::string version;
  std::string commit;
  std::string compiler;
  std::string architecture;
  std::string system;
  std::string build_type;
  std::string sanitizers;  // empty in ordinary builds
};

VersionAnswer version();

}  // namespace nereus::app
