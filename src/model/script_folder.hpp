// The folder with the modules of a user's exported model (model/script_model.hpp): all that a Model
// and a plan know about it.
#pragma once

#include <string>

namespace nereus::model {

struct ScriptFolder {
  std::string path;  // absolute
  std::string id;
  // A folder may be moved; its id identifies its content.
  bool operator==(const ScriptFolder& other) const { return id == other.id; }
};

}  // namespace nereus::model
