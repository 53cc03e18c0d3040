// How fast text becomes tokens, on one core: bytes, and byte-pair encoding with a vocabulary that
// is trained here on the novels of data/text (there is no other in the project). Goal: 5 MB/s.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "data/bpe.hpp"
#include "data/split.hpp"
#include "spec/source.hpp"

namespace {

using namespace nereus;
using Word = std::vector<std::uint32_t>;

const std::string& text() {
  static const std::string novels = spec::read_text_file("data/text/pride-and-prejudice.txt") +
                                    spec::read_text_file("data/text/persuasion.txt");
  return novels;
}

// Joins the commonest neighbours, again and again: tokens 256, 257, ...
void train(data::BpeModel& model, std::size_t num_merges) {
  std::map<std::string, int> counts;
  for (std::size_t at = 0; at < text().size();) {
    const data::Piece piece = data::next_piece(model.split, text(), at);
    ++counts[text().substr(at, piece.end - at)];
    at = piece.end;
  }
  std::vector<std::pair<Word, int>> words;
  for (const auto& [word, count] : counts) {
    Word symbols;
    for (const char c : word) symbols.push_back(static_cast<unsigned char>(c));
    words.emplace_back(std::move(symbols), count);
  }
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Pair, std::int64_t> pairs;
  std::map<Pair, std::set<std::size_t>> places;
  for (std::size_t w = 0; w < words.size(); ++w)
    for (std::size_t i = 0; i + 1 < words[w].first.size(); ++i) {
      const Pair pair{words[w].first[i], words[w].first[i + 1]};
      pairs[pair] += words[w].second;
      places[pair].insert(w);
    }
  for (std::uint32_t rank = 0; rank < num_merges; ++rank) {
    const auto best =
        std::max_element(pairs.begin(), pairs.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == pairs.end() || best->second < 2) break;
    const Pair pair = best->first;
    const auto joined = static_cast<std::uint32_t>(model.token_text.size());
    model.token_text.push_back(model.token_text[pair.first] + model.token_text[pair.second]);
    model.vocabulary.emplace(model.token_text.back(), joined);
    model.merges.add(pair.first, pair.second, rank, joined);
    const std::set<std::size_t> where = places[pair];
    for (const std::size_t w : where) {
      auto& [symbols, count] = words[w];
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
        pairs[{symbols[i], symbols[i + 1]}] -= count;
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
        if (Pair{symbols[i], symbols[i + 1]} == pair) {
          symbols[i] = joined;
          symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
        pairs[{symbols[i], symbols[i + 1]}] += count;
        places[{symbols[i], symbols[i + 1]}].insert(w);
      }
    }
    pairs.erase(pair);
  }
}

data::BpeModel model_of(data::SplitRule split) {
  data::BpeModel model;
  model.name = "bench";
  model.split = split;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    model.byte_tokens[byte] = byte;
    model.token_text.emplace_back(1, static_cast<char>(byte));
    model.vocabulary.emplace(model.token_text.back(), byte);
  }
  train(model, 8000);
  model.added.push_back({"<|endoftext|>", static_cast<std::uint32_t>(model.token_text.size())});
  model.token_text.push_back("<|endoftext|>");
  return model;
}

void encode(benchmark::State& state, data::Tokenizer& tokenizer) {
  std::vector<std::uint32_t> tokens;
  for (auto _ : state) {
    tokens.clear();
    tokenizer.encode(text(), tokens);
    benchmark::DoNotOptimize(tokens.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text().size()));
  state.counters["bytes_per_token"] =
      static_cast<double>(text().size()) / static_cast<double>(tokens.size());
}

void bytes(benchmark::State& state) { encode(state, *data::make_byte_tokenizer()); }

void gpt2(benchmark::State& state) {
  static const auto tokenizer = data::make_bpe_tokenizer(model_of(data::SplitRule::kGpt2));
  encode(state, *tokenizer);
}

void llama3(benchmark::State& state) {
  static const auto tokenizer = data::make_bpe_tokenizer(model_of(data::SplitRule::kLlama3));
  encode(state, *tokenizer);
}

// Nothing remembered: a new tokenizer for each run, as for text whose words never come again.
void gpt2_first_sight(benchmark::State& state) {
  static const data::BpeModel model = model_of(data::SplitRule::kGpt2);
  std::vector<std::uint32_t> tokens;
  const std::string_view part = std::string_view(text()).substr(0, 50000);
  for (auto _ : state) {
    state.PauseTiming();
    auto tokenizer = data::make_bpe_tokenizer(model);
    tokens.clear();
    state.ResumeTiming();
    tokenizer->encode(part, tokens);
    benchmark::DoNotOptimize(tokens.data());
    state.PauseTiming();
    tokenizer.reset();
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(part.size()));
}

}  // namespace

BENCHMARK(bytes)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt2)->Unit(benchmark::kMillisecond);
BENCHMARK(llama3)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt2_first_sight)->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
