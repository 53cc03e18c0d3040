// In place of toml.cpp and yaml.cpp where a program is built to read JSON alone
// (cmake/worker_only.cmake).
#ifdef NEREUS_JSON_ONLY

#include "spec/value.hpp"

namespace nereus::spec {

namespace {

[[noreturn]] void refuse(const char* format, const std::string& file) {
  throw_input_error("spec.json-only", std::string("this program reads no ") + format, {file},
                    "give it JSON");
}

}  // namespace

Value parse_toml(std::string_view, const std::string& file) { refuse("TOML", file); }
Value parse_yaml(std::string_view, const std::string& file) { refuse("YAML", file); }

}  // namespace nereus::spec

#endif
