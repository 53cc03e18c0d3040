#include "app/version.hpp"

#include "base/build_info.hpp"

namespace nereus::app {

VersionAnswer version() {
  const BuildInfo& info = build_info();
  return {info.version, info.commit,     info.compiler,  info.architecture,
          info.system,  info.build_type, info.sanitizers};
}

}  // namespace nereus::app
