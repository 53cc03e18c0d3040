#include "job/message.hpp"

#include "plan/names.hpp"
#include "spec/fields.hpp"

namespace nereus::job {

namespace {

constexpr plan::Names<MessageKind, 7> kMessageKinds = {{{MessageKind::kHello, "hello"},
                                                        {MessageKind::kAlive, "alive"},
                                                        {MessageKind::kStep, "step"},
                                                        {MessageKind::kCheckpoint, "checkpoint"},
                                                        {MessageKind::kBlock, "block"},
                                                        {MessageKind::kError, "error"},
                                                        {MessageKind::kDone, "done"}}};

constexpr plan::Names<Block, 8> kBlockNames = {{{Block::kAlone, "alone"},
                                                {Block::kTogether, "together"},
                                                {Block::kHost, "host"},
                                                {Block::kAll, "all"},
                                                {Block::kCopied, "copied"},
                                                {Block::kWarm, "warm"},
                                                {Block::kCold, "cold"},
                                                {Block::kLaunch, "launch"}}};

}  // namespace

template <class V>
void visit_fields(V& v, spec::Like<Waits> auto& w) {
  v.always("data", w.data, 0);
  v.always("tensor", w.tensor, 0);
  v.always("pipeline", w.pipeline, 0);
  v.always("gather", w.gather, 0);
  v.always("reduce", w.reduce, 0);
  v.always("checkpoint", w.checkpoint, 0);
}

// The fields of its kind.
template <class V>
void visit_fields(V& v, spec::Like<Message> auto& m) {
  v.needed("kind", m.kind);
  v.always("rank", m.rank);
  switch (m.kind) {
    case MessageKind::kHello:
      v.always("pid", m.pid);
      v.always("build", m.build);
      v.always("library", m.library);
      break;
    case MessageKind::kAlive:
      v.always("operation", m.operation);
      v.always("doing", m.doing);
      break;
    case MessageKind::kStep:
      v.always("step", m.step);
      v.always("loss", m.loss);
      v.always("gradient_norm", m.gradient_norm);
      v.always("rate", m.rate, 0);
      v.always("seconds", m.seconds, 0);
      v.always("tokens", m.tokens);
      v.always("memory_bytes", m.memory_bytes, 0);
      v.always("waits", m.waits);
      break;
    case MessageKind::kCheckpoint:
      v.always("step", m.step);
      v.always("folder", m.folder);
      break;
    case MessageKind::kBlock:
      v.always("block", m.block);
      v.always("round", m.round);
      v.always("of_rank", m.of_rank);
      v.always("host", m.host);
      v.always("seconds", m.seconds, 0);
      v.always("slowest", m.slowest, 0);
      v.always("bytes", m.bytes, 0);
      v.always("count", m.count);
      break;
    case MessageKind::kError:
      v.always("code", m.code);
      v.always("message", m.message);
      v.always("hint", m.hint);
      v.always("missing_rank", m.missing_rank, -1);
      v.always("input_error", m.input_error);
      v.always("environment_error", m.environment_error);
      break;
    case MessageKind::kDone:
      break;
  }
}

template <class V>
void visit_fields(V& v, spec::Like<WorkerInfo> auto& info) {
  v.needed("build", info.build);
  v.always("library", info.library);
  v.always("backends", info.backends);
  v.always("num_gpus", info.num_gpus);
}

std::string_view to_string(Block block) { return plan::name_of(kBlockNames, block); }
std::string_view to_string(MessageKind kind) { return plan::name_of(kMessageKinds, kind); }

std::string to_line(const Message& message) { return spec::to_json(spec::put_value(message)); }

Message parse_line(std::string_view line) {
  Message message;
  spec::parse_fields(line, "message of a worker", message);
  return message;
}

std::string to_line(const WorkerInfo& info) { return spec::to_json(spec::put_value(info)); }

WorkerInfo parse_worker_info(std::string_view line) {
  WorkerInfo info;
  spec::parse_fields(line, "nereus-worker --version", info);
  return info;
}

}  // namespace nereus::job
