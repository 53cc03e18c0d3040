// Loads the state of a generation from the newest checkpoint that all of its ranks can read, or
// initializes it if there is none.
//
//   life.done = read_newest(life, started, remark);       // called by all ranks together
#pragma once

#include <functional>
#include <string>

#include "job/elastic.hpp"
#include "worker/elastic/life.hpp"

namespace nereus::worker {

using Remark = std::function<void(const std::string& text)>;

// Returns the number of steps done; `started` records which checkpoint was used. Throws CommError.
std::int64_t read_newest(Life& life, job::ElasticMessage& started, const Remark& remark);

}  // namespace nereus::worker
