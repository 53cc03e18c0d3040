#include "data/bpe.hpp"

#include <algorithm>
#include <utility>

#include "data/unicode.hpp"
#include "spec/source.hpp"

namespace nereus::data {

namespace {

constexpr std::size_t kLongestCached = 64;    // bytes of a piece
constexpr std::size_t kMostCached = 1 << 18;  // pieces; then the cache starts afresh

class BpeTokenizer : public Tokenizer {
 public:
  explicit BpeTokenizer(BpeModel model) : model_(std::move(model)) {
    for (const BpeModel::Added& added : model_.added) {
      starts_added_[static_cast<unsigned char>(added.text[0])] = true;
      longest_added_ = std::max(longest_added_, added.text.size());
    }
  }

  std::string name() const override { return model_.name; }
  std::int64_t vocabulary() const override {
    return static_cast<std::int64_t>(model_.token_text.size());
  }
  std::optional<std::uint32_t> end_of_text() const override { return model_.end_of_text; }
  std::optional<std::uint32_t> find_token(std::string_view text) const override {
    for (const BpeModel::Added& added : model_.added)
      if (added.text == text) return added.token;
    const auto found = model_.vocabulary.find(text);
    if (found == model_.vocabulary.end()) return {};
    return found->second;
  }
  bool needs_utf8() const override { return true; }

  std::size_t encode_some(std::string_view text, bool& at_start, bool last,
                          std::vector<std::uint32_t>& tokens) override {
    std::size_t at = 0;
    while (at < text.size()) {
      // A part of the text ends at an added token, or where one may begin.
      const AddedPlace added = find_added(text, at, last);
      const bool complete = last || added.added != nullptr;
      const std::string_view stretch = text.substr(0, added.begin);
      const std::string_view known = added.added != nullptr || last ? stretch : text;
      while (at < stretch.size()) {
        const bool with_space = at_start && model_.add_prefix_space && text[at] != ' ';
        const Piece piece =
            with_space ? piece_after_space(known, at) : next_piece(model_.split, known, at);
        if (!complete && piece.seen > stretch.size()) return at;
        if (with_space)
          encode_piece(prefixed_.assign(" ").append(text.substr(at, piece.end - at)), tokens);
        else if (model_.byte_level)
          encode_piece(text.substr(at, piece.end - at), tokens);
        else
          encode_piece(with_marks(text.substr(at, piece.end - at), at_start), tokens);
        at_start = false;
        at = piece.end;
      }
      if (!complete) return at;
      if (added.added != nullptr) {
        tokens.push_back(added.added->token);
        at += added.added->text.size();
        at_start = true;
      }
    }
    return at;
  }

  std::string decode(std::span<const std::uint32_t> tokens) const override {
    std::string text;
    for (const std::uint32_t token : tokens)
      if (token < model_.token_text.size()) text += model_.token_text[token];
    return text;
  }

 private:
  struct AddedPlace {
    std::size_t begin = 0;
    const BpeModel::Added* added = nullptr;
  };

  // The first added token from `at` on; otherwise the end of the text, or where a truncated one may
  // begin.
  AddedPlace find_added(std::string_view text, std::size_t at, bool last) const {
    const std::size_t open = last || longest_added_ == 0 ? 0 : longest_added_ - 1;
    const std::size_t end = std::max(at, text.size() - std::min(open, text.size()));
    for (; at < end; ++at) {
      if (!starts_added_[static_cast<unsigned char>(text[at])]) continue;
      for (const BpeModel::Added& added : model_.added)
        if (text.substr(at).starts_with(added.text)) return {at, &added};
    }
    return {end, nullptr};
  }

  // As if a space preceded text[at]; the piece may consist of only that space.
  Piece piece_after_space(std::string_view text, std::size_t at) {
    prefixed_.assign(" ").append(text.substr(at));
    const Piece piece = next_piece(model_.split, prefixed_, 0);
    return {at + piece.end - 1, at + piece.seen - 1};
  }

  std::string_view with_marks(std::string_view piece, bool at_start) {
    prefixed_ = at_start ? kWordMark : "";
    for (const char c : piece)
      if (c == ' ')
        prefixed_ += kWordMark;
      else
        prefixed_ += c;
    return prefixed_;
  }

  void encode_piece(std::string_view piece, std::vector<std::uint32_t>& tokens) {
    if (piece.size() > kLongestCached) {
      merge(piece);
      tokens.insert(tokens.end(), symbols_.begin(), symbols_.end());
      return;
    }
    const auto found = cache_.find(piece);
    if (found != cache_.end()) {
      const auto begin = cached_tokens_.begin() + found->second.first;
      tokens.insert(tokens.end(), begin, begin + found->second.count);
      return;
    }
    merge(piece);
    if (cache_.size() == kMostCached) {
      cache_.clear();
      cached_tokens_.clear();
    }
    cache_.emplace(piece, Cached{static_cast<std::uint32_t>(cached_tokens_.size()),
                                 static_cast<std::uint32_t>(symbols_.size())});
    cached_tokens_.insert(cached_tokens_.end(), symbols_.begin(), symbols_.end());
    tokens.insert(tokens.end(), symbols_.begin(), symbols_.end());
  }

  // Into symbols_.
  void merge(std::string_view piece) {
    symbols_.clear();
    if (model_.ignore_merges)
      if (const auto whole = model_.vocabulary.find(piece); whole != model_.vocabulary.end()) {
        symbols_.push_back(whole->second);
        return;
      }
    const auto put_bytes = [&](std::string_view bytes) {
      for (const char c : bytes)
        symbols_.push_back(model_.byte_tokens[static_cast<unsigned char>(c)]);
    };
    if (model_.byte_level) {
      put_bytes(piece);
    } else {
      for (std::size_t at = 0; at < piece.size();) {
        const std::string_view character = piece.substr(at, character_at(piece, at).num_bytes);
        const auto token = model_.vocabulary.find(character);
        if (token != model_.vocabulary.end())
          symbols_.push_back(token->second);
        else
          put_bytes(character);
        at += character.size();
      }
    }
    model_.merges.apply(symbols_);
  }

  struct Cached {
    std::uint32_t first;
    std::uint32_t count;
  };

  BpeModel model_;
  std::array<bool, 256> starts_added_{};
  std::size_t longest_added_ = 0;
  TextMap<Cached> cache_;
  std::vector<std::uint32_t> cached_tokens_;
  std::vector<std::uint32_t> symbols_;
  std::string prefixed_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeModel model) {
  return std::make_unique<BpeTokenizer>(std::move(model));
}

std::unique_ptr<Tokenizer> load_bpe(const std::string& path, const std::string& end_of_text) {
  return make_bpe_tokenizer(parse_bpe(spec::read_text_file(path), path, end_of_text));
}

}  // namespace nereus::data
