#include "tests/source_dir.hpp"

namespace nereus {

std::string source_dir() { return NEREUS_SOURCE_DIR; }

}  // namespace nereus
