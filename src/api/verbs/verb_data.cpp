#include <fmt/format.h>

#include <algorithm>

#include "api/form/exit_codes.hpp"
#include "api/form/json.hpp"
#include "api/verbs/verbs.hpp"
#include "app/prepare_data.hpp"

namespace nereus::api {

namespace {

Cell known_cell(std::int64_t count) { return count > 0 ? Cell{count} : Cell{}; }
Cell known_cell(const std::string& text) { return text.empty() ? Cell{} : Cell{text}; }

Report prepare_report(const app::DataPrepareAnswer& answer) {
  Table table{.columns = {{"file", "file"},
                          {"tokens", "tokens", Unit::kCount},
                          {"documents", "documents", Unit::kCount},
                          {"bytes", "text", Unit::kBytes},
                          {"file_bytes", "size", Unit::kBytes},
                          {"vocabulary", "vocabulary", Unit::kCount},
                          {"tokenizer", "tokenizer"}},
              .record = true};
  table.rows.push_back({answer.file, answer.prepared.num_tokens, answer.prepared.num_documents,
                        answer.prepared.text_bytes, answer.prepared.file_bytes, answer.vocabulary,
                        answer.tokenizer});
  if (!answer.ends_documents)
    table.notes.push_back(
        "The tokenizer has no token that ends a document, so nothing separates the documents. "
        "--end-of-text names such a token.");
  return {.tables = {table}};
}

// Text that a terminal can show on one line: everything except plain text is written as \xNN.
std::string on_one_line(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      shown += "\\n";
    else if (c == '\t')
      shown += "\\t";
    else if (byte < 0x20 || byte >= 0x7F)
      shown += fmt::format("\\x{:02x}", byte);
    else
      shown += c;
  }
  return shown;
}

Report images_report(const std::string& path, const app::ImagesShown& images) {
  Table table{.columns = {{"file", "folder"},
                          {"format", "format"},
                          {"samples", "pictures", Unit::kCount},
                          {"classes", "classes", Unit::kCount},
                          {"first_classes", "first classes", Unit::kNone, false, true},
                          {"first_width", "first image's width"},
                          {"first_height", "its height"}},
              .record = true};
  constexpr std::size_t kShownClasses = 8;
  const std::vector<std::string> first(
      images.classes.begin(), images.classes.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                           images.classes.size(), kShownClasses)));
  table.rows.push_back({path, "images", images.num_samples, images.classes.size(),
                        fmt::format("{}", fmt::join(first, " ")), images.first_width,
                        images.first_height});
  return {.tables = {table}};
}

Report show_report(const app::DataShowAnswer& answer) {
  if (answer.images) return images_report(answer.info.path, *answer.images);
  const data::TokenFileInfo& info = answer.info;
  Table table{.columns = {{"file", "file"},
                          {"format", "format"},
                          {"tokens", "tokens", Unit::kCount},
                          {"documents", "documents", Unit::kCount},
                          {"vocabulary", "vocabulary", Unit::kCount},
                          {"largest_token", "largest token"},
                          {"token_bytes", "bytes per token"},
                          {"bytes", "text", Unit::kBytes},
                          {"tokenizer", "tokenizer"},
                          {"end_of_text", "end of text"},
                          {"intact", "checksum"},
                          {"first_tokens", "first tokens", Unit::kNone, false, true},
                          {"text", "decoded text", Unit::kNone, false, true}},
              .record = true};
  table.rows.push_back({info.path, std::string(to_string(info.format)), info.num_tokens,
                        known_cell(info.num_documents), known_cell(info.vocabulary),
                        answer.largest_token < 0 ? Cell{} : Cell{answer.largest_token},
                        info.token_bytes, known_cell(info.text_bytes), known_cell(info.tokenizer),
                        info.end_of_text ? Cell{*info.end_of_text} : Cell{},
                        !answer.has_checksum ? Cell{}
                        : answer.intact      ? Cell{"ok"}
                                             : Cell{"wrong: the file is damaged"},
                        fmt::format("{}", fmt::join(answer.tokens, " ")),
                        known_cell(on_one_line(answer.text))});
  Json json{{"file", info.path},
            {"format", to_string(info.format)},
            {"tokens", info.num_tokens},
            {"documents", nullptr},
            {"vocabulary", nullptr},
            {"largest_token", nullptr},
            {"token_bytes", info.token_bytes},
            {"bytes", nullptr},
            {"tokenizer", nullptr},
            {"end_of_text", nullptr},
            {"intact", nullptr},
            {"first_tokens", answer.tokens},
            {"text", nullptr}};
  if (info.num_documents > 0) json["documents"] = info.num_documents;
  if (info.vocabulary > 0) json["vocabulary"] = info.vocabulary;
  if (answer.largest_token >= 0) json["largest_token"] = answer.largest_token;
  if (info.text_bytes > 0) json["bytes"] = info.text_bytes;
  if (!info.tokenizer.empty()) json["tokenizer"] = info.tokenizer;
  if (info.end_of_text) json["end_of_text"] = *info.end_of_text;
  if (!answer.text.empty()) json["text"] = answer.text;
  if (answer.has_checksum) json["intact"] = answer.intact;
  return {.tables = {table},
          .json = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"};
}

struct DataRequest {
  std::string what;
  std::vector<std::string> files;
  app::DataPrepareRequest prepare;
  std::string tokenizer;
  std::optional<std::string> separator;
  bool rule_given = false;
  std::optional<int> first;
  std::optional<int> count;
  OutputOptions output;
};

int prepare(DataRequest& request, Caller& caller) {
  app::DataPrepareRequest& wanted = request.prepare;
  ErrorList errors;
  if (wanted.output.empty())
    errors.add("cli.missing-option", "-o is missing: it names the token file to write", {},
               "-o text.tokens");
  if (request.first || request.count)
    errors.add("data.not-here", "--first and --count are for nereus data show only");
  if (request.separator && request.rule_given)
    errors.add("data.two-rules", "--separator and --documents both define what a document is");
  errors.throw_if_any();
  wanted.inputs = request.files;
  if (!request.tokenizer.empty()) wanted.tokenizer = request.tokenizer;
  if (request.separator) wanted.documents = {data::DocumentRule::kSeparator, *request.separator};
  wanted.stop = caller.stop();
  const app::DataPrepareAnswer answer = app::data_prepare(wanted, caller.progress());
  if (!answer.prepared.complete) {
    caller.note(fmt::format("stopped; {} was not written", wanted.output));
    return kStoppedEarly;
  }
  caller.answer(prepare_report(answer), request.output);
  return kDone;
}

int show(const DataRequest& request, Caller& caller) {
  ErrorList errors;
  if (request.files.size() != 1) errors.add("cli.bad-value", "nereus data show takes one file");
  if (!request.prepare.output.empty() || request.separator || request.rule_given ||
      !request.prepare.end_of_text.empty())
    errors.add("data.not-here",
               "-o, --documents, --separator and --end-of-text are for nereus data prepare only");
  errors.throw_if_any();
  app::DataShowRequest wanted{.path = request.files[0], .tokenizer = request.tokenizer};
  if (request.first) wanted.first = *request.first;
  if (request.count) wanted.num_tokens = *request.count;
  caller.answer(show_report(app::data_show(wanted)), request.output);
  return kDone;
}

}  // namespace

Verb data_verb(Caller& caller) {
  auto request = std::make_shared<DataRequest>();
  auto command = std::make_unique<Command>("data", "turn text into tokens for training");
  command->argument("WHAT", request->what, "prepare or show", {"prepare", "show"});
  command->arguments(
      "FILE", request->files,
      "for prepare: text files; for show: a token file (also of nanoGPT or Megatron-LM), or a "
      "folder of images by class");
  command->text("--tokenizer", "bytes|FILE", request->tokenizer,
                "bytes (default), or a Hugging Face tokenizer.json of a BPE tokenizer");
  command->group("Prepare");
  command->text("-o,--output", "FILE", request->prepare.output,
                "the token file to write "
                "(required)");
  std::vector<Choice> rules;
  for (const auto& [word, rule] :
       {std::pair{"file", data::DocumentRule::kFile}, std::pair{"line", data::DocumentRule::kLine},
        std::pair{"jsonl", data::DocumentRule::kJsonLines}})
    rules.push_back({word, [request, rule = rule] {
                       request->prepare.documents.rule = rule;
                       request->rule_given = true;
                     }});
  command->choice("--documents", std::move(rules),
                  "what a document is: a file (default), a line, or \"text\" of each JSON line");
  command->custom(
      "--separator", "LINE",
      [request](const std::string& text, ErrorList&) { request->separator = text; },
      "documents are separated by lines equal to LINE");
  command->text(
      "--end-of-text", "TOKEN", request->prepare.end_of_text,
      "the special token that follows each document (default: the tokenizer's usual one)");
  command->group("Show");
  command->whole("--first", request->first, 0, "the first token to show (default 0)");
  command->whole("--count", request->count, 0, "how many tokens to show (default 64)");
  command->group("Output");
  add_output_options(*command, request->output, false);
  command->about(
      "prepare writes a token file with the tokens of all documents, one after the other. nereus "
      "train reads this file on demand instead of loading it. The same text always gives the same "
      "bytes, and the file appears only when it is complete. show describes a token file. train "
      "also reads nanoGPT's .bin files, and Megatron-LM's .bin files with their .idx, without "
      "conversion.");
  command->example("nereus data prepare data/text/*.txt -o austen.tokens",
                   "one token per byte, one document per file");
  command->example(
      "nereus data prepare corpus/*.jsonl --documents jsonl --tokenizer "
      "gpt2/tokenizer.json -o corpus.tokens",
      "use GPT-2's tokenizer");
  command->example("nereus data show austen.tokens", "describe the file and show its first tokens");
  command->run = [&caller, request] {
    return request->what == "prepare" ? prepare(*request, caller) : show(*request, caller);
  };
  return command;
}

}  // namespace nereus::api
