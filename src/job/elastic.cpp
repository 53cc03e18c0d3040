#include "job/elastic.hpp"

#include "plan/names.hpp"
#include "spec/fields.hpp"

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
  v.always("done", m.done);
  v.always("gradient_norm", m.gradient_norm);
  v.always("held", m.held, -1);
  v.always("filled", m.filled, -1);
  v.always("filled_done", m.filled_done);
  v.always("arrived", m.arrived);
  v.always("agreed", m.agreed);
  v.always("complete", m.complete);
  v.always("missing_rank", m.missing_rank, -1);
}

}  // namespace

template <class V>
void visit_fields(V& v, spec::Like<ElasticMessage> auto& m) {
  v.needed("kind", m.kind);
  v.always("generation", m.generation, -1);
  switch (m.kind) {
    case K::kHello:
      v.always("name", m.name);
      v.always("build", m.build);
      v.always("host", m.host);
      v.always("rank", m.rank, -1);
      visit_held(v, m);
      break;
    case K::kBeat:
    case K::kNotice:
      v.always("seconds", m.seconds, 0);
      v.always("text", m.text);
      break;
    case K::kGeneration:
      v.always("rank", m.rank);
      v.always("num_ranks", m.num_ranks, 1);
      v.always("num_present", m.num_present, 1);
      v.always("job", m.job);
      v.always("address", m.address);
      v.always("next_held", m.next_held, -1);
      v.always("most_done", m.most_done, -1);
      v.always("done", m.done);
      v.always("gradient_norm", m.gradient_norm);
      break;
    case K::kNote:
      v.always("key", m.key);
      v.always("note", m.note);
      break;
    case K::kStarted:
      v.always("rank", m.rank);
      v.always("done", m.done);
      v.always("seconds", m.seconds, 0);
      v.always("own_bytes", m.own_bytes, 0);
      v.always("peer_bytes", m.peer_bytes, 0);
      v.always("saved_bytes", m.saved_bytes, 0);
      v.always("saved_step", m.saved_step, -1);
      v.always("text", m.text);
      break;
    case K::kKnown:
      v.always("done", m.done);
      break;
    case K::kEnded:
      v.always("rank", m.rank, -1);
      visit_held(v, m);
      v.always("text", m.text);
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
      v.always("text", m.text);
      break;
  }
}

std::string_view to_string(ElasticKind kind) { return plan::name_of(kElasticKinds, kind); }

std::string to_line(const ElasticMessage& message) {
  return spec::to_json(spec::put_value(message));
}

ElasticMessage parse_elastic(std::string_view line) {
  ElasticMessage message;
  spec::parse_fields(line, "message of an elastic job", message);
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
