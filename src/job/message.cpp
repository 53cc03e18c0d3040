#include "job/message.hpp"

#include "base/utf8.hpp"
#include "job/fields.hpp"

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

template <class V, class T>
void visit_waits(V& v, T& w) {
  v.real("data", w.data, 0);
  v.real("tensor", w.tensor, 0);
  v.real("pipeline", w.pipeline, 0);
  v.real("gather", w.gather, 0);
  v.real("reduce", w.reduce, 0);
  v.real("checkpoint", w.checkpoint, 0);
}

// The fields of its kind, but for the waits of a step.
template <class V, class M>
void visit_message(V& v, M& m) {
  v.name("kind", m.kind, kMessageKinds);
  v.whole("rank", m.rank);
  switch (m.kind) {
    case MessageKind::kHello:
      v.whole("pid", m.pid);
      v.text("build", m.build);
      v.text("library", m.library);
      break;
    case MessageKind::kAlive:
      v.whole("operation", m.operation);
      v.text("doing", m.doing);
      break;
    case MessageKind::kStep:
      v.whole("step", m.step);
      v.real("loss", m.loss);
      v.real("gradient_norm", m.gradient_norm);
      v.real("rate", m.rate, 0);
      v.real("seconds", m.seconds, 0);
      v.whole("tokens", m.tokens);
      v.real("memory_bytes", m.memory_bytes, 0);
      break;
    case MessageKind::kCheckpoint:
      v.whole("step", m.step);
      v.text("folder", m.folder);
      break;
    case MessageKind::kBlock:
      v.name("block", m.block, kBlockNames);
      v.whole("round", m.round);
      v.whole("of_rank", m.of_rank);
      v.whole("host", m.host);
      v.real("seconds", m.seconds, 0);
      v.real("slowest", m.slowest, 0);
      v.real("bytes", m.bytes, 0);
      v.whole("count", m.count);
      break;
    case MessageKind::kError:
      v.text("code", m.code);
      v.text("message", m.message);
      v.text("hint", m.hint);
      v.whole("missing_rank", m.missing_rank, -1);
      v.truth("input_error", m.input_error);
      v.truth("environment_error", m.environment_error);
      break;
    case MessageKind::kDone:
      break;
  }
}

template <class V, class T>
void visit_info(V& v, T& info) {
  v.text("build", info.build);
  v.text("library", info.library);
  v.text("backends", info.backends);
  v.whole("num_gpus", info.num_gpus);
}

}  // namespace

std::string as_utf8(const std::string& line) {
  std::string out;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t length = decode_utf8(std::string_view(line).substr(i)).length;
    out += length == 0 ? "?" : line.substr(i, length);
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::string_view to_string(Block block) { return plan::name_of(kBlockNames, block); }
std::string_view to_string(MessageKind kind) { return plan::name_of(kMessageKinds, kind); }

std::string to_line(const Message& message) {
  PutFields put;
  visit_message(put, message);
  spec::Value value = put.take();
  if (message.kind == MessageKind::kStep) {
    PutFields waits;
    visit_waits(waits, message.waits);
    std::get<spec::Table>(value.data).emplace_back("waits", waits.take());
  }
  return as_utf8(spec::to_json(value));
}

Message parse_line(std::string_view line) {
  Message message;
  parse_fields(line, "message of a worker", [&](spec::Reader& r, TakeFields& take) {
    if (!r.has("kind")) r.fail("kind", "spec.missing-key", "the key \"kind\" is missing");
    visit_message(take, message);
    if (message.kind != MessageKind::kStep) return;
    spec::Reader part = r.optional_table("waits");
    TakeFields waits(part);
    visit_waits(waits, message.waits);
    waits.finish();
  });
  return message;
}

std::string to_line(const WorkerInfo& info) {
  PutFields put;
  visit_info(put, info);
  return as_utf8(spec::to_json(put.take()));
}

WorkerInfo parse_worker_info(std::string_view line) {
  WorkerInfo info;
  parse_fields(line, "nereus-worker --version", [&](spec::Reader& r, TakeFields& take) {
    info.build = r.required_string("build");
    visit_info(take, info);
  });
  return info;
}

}  // namespace nereus::job
