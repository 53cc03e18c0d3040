// State of a generation from the newest checkpoint that every one of its ranks can read, or from
// the start where there is none.
//
//   life.done = read_newest(life, started, remark);       // all ranks together
#pragma once

#include <functional>
#include <string>

#include "job/elastic.hpp"
#include "worker/elastic/life.hpp"

namespace nereus::worker {

using Remark = std::function<void(const std::string& text)>;

// Steps that it had done; `started` learns which checkpoint it was. Throws CommError.
std::int64_t read_newest(Life& life, job::ElasticMessage& started, const Remark& remark);

}  // namespace nereus::worker
