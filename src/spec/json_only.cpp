// Replaces toml.cpp and yaml.cpp in programs that are built without them: the worker reads only
// JSON (cmake/worker_only.cmake), and yaml-cpp is optional (NEREUS_YAML).
#if defined(NEREUS_JSON_ONLY) || defined(NEREUS_WITHOUT_YAML)

#include "spec/value.hpp"

namespace nereus::spec {

namespace {

[[noreturn]] void refuse(const char* format, const std::string& file) {
  throw_input_error("spec.json-only", std::string("this program reads no ") + format, {file},
                    "give it JSON or another format");
}

}  // namespace

#ifdef NEREUS_JSON_ONLY
Value parse_toml(std::string_view, const std::string& file) { refuse("TOML", file); }
#endif
Value parse_yaml(std::string_view, const std::string& file) { refuse("YAML", file); }

}  // namespace nereus::spec

#endif
