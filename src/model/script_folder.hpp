// Where the modules of a user's own model lie (model/script_model.hpp). All that a Model and a plan
// say of them.
#pragma once

#include <string>

namespace nereus::model {

struct ScriptFolder {
  std::string path;  // absolute
  std::string id;
  // A folder may move; what it holds is told by its id.
  bool operator==(const ScriptFolder& other) const { return id == other.id; }
};

}  // namespace nereus::model
