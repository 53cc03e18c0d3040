#include "base/error.hpp"
#include "worker/models/models.hpp"
namespace nereus::worker {
Layers build_bert(const model::TransformerShape&) { throw_input_error("train.model", "bert"); }
Layers build_vision(const model::CnnShape&) { throw_input_error("train.model", "vision"); }
}  // namespace nereus::worker
