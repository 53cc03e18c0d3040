#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "data/bpe.hpp"
#include "data/bpe_fields.hpp"
#include "data/token_layout.hpp"
#include "data/unicode.hpp"
#include "spec/value.hpp"

namespace nereus::data {

namespace {

using spec::Value;

constexpr std::size_t kMostErrors = 20;        // of one kind; files have 10^5 entries
constexpr std::int64_t kMostTokens = 1 << 21;  // no tokenizer comes near

// GPT-2's table: printable bytes of Latin-1 map to themselves, the others to U+0100, U+0101, ... in
// order (github.com/openai/gpt-2, src/encoder.py, bytes_to_unicode).
std::array<std::uint32_t, 256> byte_characters() {
  std::array<std::uint32_t, 256> codes{};
  std::uint32_t next = 256;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) ||
                           (byte >= 0xAE && byte <= 0xFF);
    codes[byte] = printable ? byte : next++;
  }
  return codes;
}

// Converts a token of such characters to bytes; empty if it has other characters.
class ByteDecoder {
 public:
  ByteDecoder() : codes_(byte_characters()) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) bytes_[codes_[byte]] = static_cast<char>(byte);
  }

  std::optional<std::string> decode(const std::string& text) const {
    std::string bytes;
    for (std::size_t at = 0; at < text.size();) {
      const Character c = character_at(text, at);
      const auto byte = bytes_.find(c.code);
      if (byte == bytes_.end()) return {};
      bytes += byte->second;
      at += c.num_bytes;
    }
    return bytes;
  }

 private:
  std::array<std::uint32_t, 256> codes_;
  std::unordered_map<std::uint32_t, char> bytes_;
};

class BpeReader {
 public:
  BpeReader(const Value& root, BpeModel& model) : root_(root), model_(model) {}

  void read(const std::string& end_of_text) {
    const Value* model = root_.find("model");
    const std::string* type = model == nullptr ? nullptr : text_in(model->find("type"));
    if (type == nullptr || *type != "BPE")
      throw_input_error("data.tokenizer",
                        type == nullptr
                            ? std::string("no tokenizer.json: there is no model.type")
                            : fmt::format("model.type is \"{}\", only BPE is read", *type),
                        (model == nullptr  ? root_
                         : type == nullptr ? *model
                                           : *model->find("type"))
                            .where());
    read_bpe_kind(root_, *model, model_, errors_);
    errors_.throw_if_any();
    read_vocabulary(*model);
    errors_.throw_if_any();  // merges name its tokens
    read_byte_tokens(*model);
    read_merges(*model);
    read_added();
    choose_end_of_text(end_of_text);
    errors_.throw_if_any();
  }

 private:
  void refuse(const std::string& field, const Value* value, const std::string& why) {
    refuse_field(field, value == nullptr ? root_ : *value, why, errors_);
  }

  bool take_token(std::int64_t token, const Value& place, const std::string& field) {
    if (token >= 0 && token < kMostTokens) {
      if (model_.token_text.size() <= static_cast<std::size_t>(token))
        model_.token_text.resize(static_cast<std::size_t>(token) + 1);
      return true;
    }
    refuse(field, &place, fmt::format("is {}, tokens are 0 to {}", token, kMostTokens - 1));
    return false;
  }

  void read_vocabulary(const Value& model) {
    const Value* list = model.find("vocab");
    const auto* table = list == nullptr ? nullptr : std::get_if<spec::Table>(&list->data);
    if (table == nullptr) return refuse("model.vocab", list, "is no table of tokens");
    const ByteDecoder decoder;
    for (const spec::Member& member : *table) {
      const auto* token = std::get_if<std::int64_t>(&member.second.data);
      if (errors_.list().size() > kMostErrors) return;
      if (token == nullptr) {
        refuse(fmt::format("model.vocab.{}", member.first), &member.second, "is no whole number");
      } else if (take_token(*token, member.second, fmt::format("model.vocab.{}", member.first))) {
        take_entry(member.first, static_cast<std::uint32_t>(*token), member.second, decoder);
      }
    }
  }

  void take_entry(const std::string& written, std::uint32_t token, const Value& place,
                  const ByteDecoder& decoder) {
    std::string& text = model_.token_text[token];
    if (!text.empty())
      refuse(fmt::format("model.vocab.{}", written), &place,
             fmt::format("is {}, and so is another token", token));
    written_.emplace(written, token);
    if (!model_.byte_level) {
      text = shown(written);
      model_.vocabulary.emplace(written, token);
    } else if (const auto bytes = decoder.decode(written)) {
      text = *bytes;
      model_.vocabulary.emplace(*bytes, token);
    } else {
      text = written;  // no bytes make it: it is never a token of a text
    }
  }

  // The text of a word token: U+2581 is a space, <0x41> a byte.
  static std::string shown(const std::string& token) {
    if (token.size() == 6 && token.starts_with("<0x") && token.ends_with('>')) {
      unsigned byte = 0;
      const char* const end = token.data() + 5;
      if (std::from_chars(token.data() + 3, end, byte, 16).ptr == end)
        return {static_cast<char>(byte)};
    }
    std::string text;
    for (std::size_t at = 0; at < token.size();) {
      if (std::string_view(token).substr(at).starts_with(kWordMark)) {
        text += ' ';
        at += kWordMark.size();
      } else {
        text += token[at++];
      }
    }
    return text;
  }

  void read_byte_tokens(const Value& model) {
    const auto codes = byte_characters();
    std::string missing;
    int num_missing = 0;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::string token;
      if (model_.byte_level)
        append_utf8(token, codes[byte]);
      else
        token = fmt::format("<0x{:02X}>", byte);
      const auto found = written_.find(token);
      if (found != written_.end()) {
        model_.byte_tokens[byte] = found->second;
      } else {
        if (num_missing++ == 0) missing = token;
      }
    }
    if (num_missing > 0)
      refuse("model.vocab", model.find("vocab"),
             fmt::format("has no token for {} of the 256 bytes, the first \"{}\"", num_missing,
                         missing));
  }

  void read_merges(const Value& model) {
    const Value* list = model.find("merges");
    const auto* merges = list == nullptr ? nullptr : std::get_if<spec::Array>(&list->data);
    if (merges == nullptr) return refuse("model.merges", list, "is no list");
    std::uint32_t rank = 0;
    for (const Value& merge : *merges) {
      if (errors_.list().size() > kMostErrors) return;
      std::string left, right;
      if (!parts_of(merge, left, right)) {
        if (const std::string* text = text_in(&merge);
            text != nullptr && text->starts_with("#version"))
          continue;
        refuse(fmt::format("model.merges[{}]", rank), &merge, "is not two tokens");
        continue;
      }
      const auto a = written_.find(left), b = written_.find(right),
                 ab = written_.find(left + right);
      if (a == written_.end() || b == written_.end() || ab == written_.end()) {
        refuse(fmt::format("model.merges[{}]", rank), &merge,
               fmt::format("names \"{}\", which model.vocab does not have",
                           a == written_.end()   ? left
                           : b == written_.end() ? right
                                                 : left + right));
      } else if (!model_.byte_level && !left.ends_with(kWordMark) && right.starts_with(kWordMark)) {
        refuse(fmt::format("model.merges[{}]", rank), &merge,
               "joins two words: such models are not read");
      } else {
        model_.merges.add(a->second, b->second, rank, ab->second);
      }
      ++rank;
    }
  }

  // ["a", "b"] or "a b".
  static bool parts_of(const Value& merge, std::string& left, std::string& right) {
    if (const auto* pair = std::get_if<spec::Array>(&merge.data)) {
      if (pair->size() != 2 || text_in(&(*pair)[0]) == nullptr || text_in(&(*pair)[1]) == nullptr)
        return false;
      left = *text_in(&(*pair)[0]);
      right = *text_in(&(*pair)[1]);
      return !left.empty() && !right.empty();
    }
    const std::string* text = text_in(&merge);
    if (text == nullptr) return false;
    const std::size_t space = text->find(' ');
    if (space == std::string::npos || text->find(' ', space + 1) != std::string::npos) return false;
    left = text->substr(0, space);
    right = text->substr(space + 1);
    return !left.empty() && !right.empty();
  }

  void read_added() {
    const Value* list = root_.find("added_tokens");
    if (list == nullptr || list->is_null()) return;
    const auto* array = std::get_if<spec::Array>(&list->data);
    if (array == nullptr) return refuse("added_tokens", list, "is no list");
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (errors_.list().size() > kMostErrors) return;
      const Value& entry = (*array)[i];
      const std::string field = fmt::format("added_tokens[{}]", i);
      const std::string* content = text_in(entry.find("content"));
      const Value* id = entry.find("id");
      const auto* token = id == nullptr ? nullptr : std::get_if<std::int64_t>(&id->data);
      if (content == nullptr || content->empty() || token == nullptr) {
        refuse(field, &entry, "needs content and id");
        continue;
      }
      for (const char* option : {"lstrip", "rstrip", "single_word"})
        if (!is_false(entry.find(option)))
          refuse(fmt::format("{}.{}", field, option), entry.find(option), "must be false");
      if (!model_.byte_level && is_true(entry.find("normalized"), false))
        refuse(field + ".normalized", entry.find("normalized"),
               "must be false beside a normalizer");
      if (!take_token(*token, entry, field + ".id")) continue;
      const auto known = written_.find(*content);
      std::string& text = model_.token_text[*token];
      if (!text.empty() && (known == written_.end() || known->second != *token))
        refuse(field + ".id", &entry, fmt::format("is {}, and so is another token", *token));
      written_.insert_or_assign(*content, static_cast<std::uint32_t>(*token));
      text = *content;
      model_.added.push_back({*content, static_cast<std::uint32_t>(*token)});
    }
    std::stable_sort(model_.added.begin(), model_.added.end(),
                     [](const auto& a, const auto& b) { return a.text.size() > b.text.size(); });
  }

  void choose_end_of_text(const std::string& wanted) {
    const auto find = [&](std::string_view text) {
      for (const BpeModel::Added& added : model_.added)
        if (added.text == text) model_.end_of_text = added.token;
      return model_.end_of_text.has_value();
    };
    if (!wanted.empty()) {
      if (!find(wanted))
        errors_.add("data.end-of-text",
                    fmt::format("the tokenizer has no added token \"{}\"", wanted),
                    {root_.where().file});
      return;
    }
    for (const char* text : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"})
      if (find(text)) return;
  }

  const Value& root_;
  BpeModel& model_;
  TextMap<std::uint32_t> written_;  // tokens as the file writes them
  ErrorList errors_;
};

}  // namespace

BpeModel parse_bpe(std::string_view text, const std::string& file, const std::string& end_of_text) {
  const Value root = spec::parse_json(text, file);
  BpeModel model;
  const std::size_t slash = file.rfind('/');
  std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  name.resize(std::min<std::size_t>(name.size(), kTokenizerNameBytes - 10));
  model.name = fmt::format("{} {:08x}", name, checksum(0, text));
  BpeReader(root, model).read(end_of_text);
  return model;
}

}  // namespace nereus::data
