#include "job/elastic.hpp"

#include "job/fields.hpp"
#include "job/message.hpp"

namespace nereus::job {

namespace {

using K = ElasticKind;

constexpr plan::Names<K, 17> kElasticKinds = {{{K::kHello, "hello"},
                                               {K::kBeat, "beat"},
                                               {K::kNotice, "notice"},
                                               {K::kLost, "lost"},
                                               {K::kGeneration, "generation"},
                                               {K::kEnd, "end"},
                                               {K::kEndAfter, "end-after"},
                                               {K::kSaveAfter, "save-after"},
                                               {K::kKnown, "known"},
                                               {K::kNote, "note"},
                                               {K::kLeave, "leave"},
                                               {K::kRefuse, "refuse"},
                                               {K::kRestart, "restart"},
                                               {K::kSaid, "said"},
                                               {K::kStarted, "started"},
                                               {K::kEnded, "ended"},
                                               {K::kRemark, "remark"}}};

template <class V, class M>
void visit_held(V& v, M& m) {
  v.whole("done", m.done);
  v.real("gradient_norm", m.gradient_norm);
  v.whole("held", m.held, -1);
  v.whole("filled", m.filled, -1);
  v.whole("filled_done", m.filled_done);
  v.truth("arrived", m.arrived);
  v.truth("agreed", m.agreed);
  v.truth("complete", m.complete);
  v.whole("missing_rank", m.missing_rank, -1);
}

template <class V, class M>
void visit_elastic(V& v, M& m) {
  v.name("kind", m.kind, kElasticKinds);
  v.whole("generation", m.generation, -1);
  switch (m.kind) {
    case K::kHello:
      v.text("name", m.name);
      v.text("build", m.build);
      v.text("host", m.host);
      v.whole("rank", m.rank, -1);
      visit_held(v, m);
      break;
    case K::kBeat:
    case K::kNotice:
      v.real("seconds", m.seconds, 0);
      v.text("text", m.text);
      break;
    case K::kGeneration:
      v.whole("rank", m.rank);
      v.whole("num_ranks", m.num_ranks, 1);
      v.whole("num_present", m.num_present, 1);
      v.text("job", m.job);
      v.text("address", m.address);
      v.whole("next_held", m.next_held, -1);
      v.whole("most_done", m.most_done, -1);
      v.whole("done", m.done);
      v.real("gradient_norm", m.gradient_norm);
      break;
    case K::kNote:
      v.text("key", m.key);
      v.text("note", m.note);
      break;
    case K::kStarted:
      v.whole("rank", m.rank);
      v.whole("done", m.done);
      v.real("seconds", m.seconds, 0);
      v.real("own_bytes", m.own_bytes, 0);
      v.real("peer_bytes", m.peer_bytes, 0);
      v.real("saved_bytes", m.saved_bytes, 0);
      v.whole("saved_step", m.saved_step, -1);
      v.text("text", m.text);
      break;
    case K::kKnown:
      v.whole("done", m.done);
      break;
    case K::kEnded:
      v.whole("rank", m.rank, -1);
      visit_held(v, m);
      v.text("text", m.text);
      break;
    case K::kEndAfter:
    case K::kSaveAfter:
    case K::kRestart:
    case K::kLost:
    case K::kEnd:
    case K::kLeave:
    case K::kRefuse:
    case K::kSaid:
    case K::kRemark:
      v.text("text", m.text);
      break;
  }
}

}  // namespace

std::string_view to_string(ElasticKind kind) { return plan::name_of(kElasticKinds, kind); }

std::string to_line(const ElasticMessage& message) {
  PutFields put;
  visit_elastic(put, message);
  return as_utf8(spec::to_json(put.take()));
}

ElasticMessage parse_elastic(std::string_view line) {
  ElasticMessage message;
  parse_fields(line, "message of an elastic job", [&](spec::Reader& r, TakeFields& take) {
    if (!r.has("kind")) r.fail("kind", "spec.missing-key", "the key \"kind\" is missing");
    visit_elastic(take, message);
  });
  return message;
}

std::string to_hex_text(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string from_hex_text(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) break;
    bytes += static_cast<char>(high * 16 + low);
  }
  if (bytes.size() * 2 != text.size())
    throw_environment_error("elastic.bad-note", "a note is not hexadecimal");
  return bytes;
}

}  // namespace nereus::job
