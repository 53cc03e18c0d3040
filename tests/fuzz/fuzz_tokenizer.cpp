// Any text is a tokenizer.json or is refused with the field named; and whatever a byte-level
// tokenizer makes of a text comes back as that text, however it was cut. The bytes are a
// tokenizer.json; what follows the first zero byte, if there is one, is a text for it.
#include "data/bpe.hpp"
#include "data/documents.hpp"
#include "fuzz.hpp"

NEREUS_FUZZER(tokenizer)(const std::uint8_t* bytes, std::size_t size) {
  using namespace nereus;
  return fuzz(bytes, size, [](std::string_view input) {
    const std::size_t zero = input.find('\0');
    std::string_view text = zero == std::string_view::npos ? input : input.substr(zero + 1);
    std::size_t whole = 0;
    text = text.substr(0, std::min(data::find_bad_utf8(text, true, whole), text.size()));

    // Every rule takes every text apart without loss.
    using enum data::SplitRule;
    for (const data::SplitRule rule : {kGpt2, kLlama3, kQwen2, kWords})
      for (std::size_t at = 0; at < text.size();) {
        const data::Piece piece = data::next_piece(rule, text, at);
        NEREUS_CHECK(piece.end > at && piece.end <= text.size(), "a piece out of its text");
        at = piece.end;
      }

    data::BpeModel model = data::parse_bpe(input.substr(0, zero), "tokenizer.json");
    const bool exact = model.byte_level && !model.add_prefix_space;
    const std::unique_ptr<data::Tokenizer> tokenizer = make_bpe_tokenizer(std::move(model));
    std::vector<std::uint32_t> tokens, cut;
    tokenizer->encode(text, tokens);
    for (const std::uint32_t token : tokens)
      NEREUS_CHECK(token < tokenizer->vocabulary(), "a token outside the vocabulary");
    if (exact) NEREUS_CHECK(tokenizer->decode(tokens) == text, "text that does not come back");
    bool at_start = true;
    std::size_t half = text.size() / 2;
    while (half < text.size() && (static_cast<unsigned char>(text[half]) & 0xC0) == 0x80) ++half;
    const std::size_t taken = tokenizer->encode_some(text.substr(0, half), at_start, false, cut);
    tokenizer->encode_some(text.substr(taken), at_start, true, cut);
    NEREUS_CHECK(cut == tokens, "tokens that depend on the cut");
  });
}
