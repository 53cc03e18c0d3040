// Runs the fuzzer that the program's file name says: fuzz_csv is a link to this program, and fuzzes
// the reader of CSV.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "fuzz.hpp"

namespace nereus {
namespace {

std::map<std::string, FuzzTarget, std::less<>>& fuzzers() {
  static std::map<std::string, FuzzTarget, std::less<>> all;
  return all;
}

FuzzTarget chosen = nullptr;

}  // namespace

bool add_fuzzer(std::string_view name, FuzzTarget target) {
  return fuzzers().emplace(name, target).second;
}

}  // namespace nereus

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
  std::string name = **arguments;
  name = name.substr(name.rfind('/') + 1);
  const auto found = nereus::fuzzers().find(name.substr(name.find('_') + 1));
  if (found == nereus::fuzzers().end()) {
    std::fprintf(stderr, "%s is no fuzzer; there are:\n", name.c_str());
    for (const auto& [known, target] : nereus::fuzzers())
      std::fprintf(stderr, "  fuzz_%s\n", known.c_str());
    std::exit(2);
  }
  nereus::chosen = found->second;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return nereus::chosen(data, size);
}
