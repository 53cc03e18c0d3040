#include "app/prepare_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "data/image.hpp"
#include "data/image_folder.hpp"
#include "data/mapped_data.hpp"
#include "data/tokenizer.hpp"

namespace nereus::app {

namespace {

// The text of the tokens, if a tokenizer is known.
std::string text_of(const data::TokenFileInfo& info, const std::vector<std::int64_t>& tokens,
                    const std::string& wanted) {
  std::string name = wanted;
  if (name.empty() && info.tokenizer == "bytes") name = "bytes";
  if (name.empty()) return {};
  const auto tokenizer = data::load_tokenizer(name);
  if (!info.tokenizer.empty() && tokenizer->name() != info.tokenizer)
    throw_input_error("data.other-tokenizer",
                      fmt::format("the file was made with the tokenizer \"{}\", not \"{}\"",
                                  info.tokenizer, tokenizer->name()),
                      {info.path}, "the name ends with the checksum of its tokenizer.json");
  std::vector<std::uint32_t> narrow;
  for (const std::int64_t token : tokens)
    narrow.push_back(static_cast<std::uint32_t>(
        std::min<std::uint64_t>(static_cast<std::uint64_t>(token), 0xFFFFFFFFu)));
  return tokenizer->decode(narrow);
}

}  // namespace

DataPrepareAnswer data_prepare(const DataPrepareRequest& request, const ProgressSink& progress) {
  // Reading goes on while the new file is written: the output must be none of the inputs.
  for (const std::string& input : request.inputs) {
    std::error_code code;
    if (std::filesystem::equivalent(input, request.output, code))
      throw_input_error("data.same-file",
                        fmt::format("\"{}\" is both an input and the output", request.output), {},
                        "another name after -o");
  }
  data::total_bytes(request.inputs);  // what is missing is said before a large tokenizer is read
  const auto tokenizer = data::load_tokenizer(request.tokenizer, request.end_of_text);
  const data::PrepareHooks hooks{.stop = request.stop, .progress = [&](double done, double total) {
                                   if (progress)
                                     progress({.what = "bytes", .done = done, .total = total});
                                 }};
  DataPrepareAnswer answer;
  answer.prepared =
      data::prepare_tokens(request.inputs, request.documents, *tokenizer, request.output, hooks);
  answer.file = request.output;
  answer.tokenizer = tokenizer->name();
  answer.vocabulary = tokenizer->vocabulary();
  answer.ends_documents = tokenizer->end_of_text().has_value();
  return answer;
}

namespace {

DataShowAnswer show_images(const std::string& path) {
  const data::ImageFolder folder = data::ImageFolder::open(path);
  const std::string first = folder.file(folder.entries.front());
  const MappedFile file = data::map_file(first);
  const data::Image image = data::decode_image(file.text(), first);
  DataShowAnswer answer;
  answer.info.path = path;
  answer.images = ImagesShown{.num_samples = static_cast<std::int64_t>(folder.entries.size()),
                              .classes = folder.classes,
                              .first_width = image.width,
                              .first_height = image.height};
  return answer;
}

}  // namespace

DataShowAnswer data_show(const DataShowRequest& request) {
  std::error_code code;
  if (std::filesystem::is_directory(request.path, code)) return show_images(request.path);
  const data::TokenFile file = data::TokenFile::open(request.path);
  DataShowAnswer answer;
  answer.info = file.info();
  answer.largest_token = file.largest_token();
  answer.has_checksum = file.info().format == data::TokenFormat::kNereus;
  answer.intact = file.intact();
  const std::int64_t count = file.info().num_tokens;
  if (request.first < 0 || request.first > count)
    throw_input_error("data.range",
                      fmt::format("token {} is not within the file's {}", request.first, count),
                      {request.path});
  answer.tokens.resize(static_cast<std::size_t>(
      std::clamp<std::int64_t>(request.num_tokens, 0, count - request.first)));
  file.read(request.first, answer.tokens);
  answer.text = text_of(answer.info, answer.tokens, request.tokenizer);
  return answer;
}

}  // namespace nereus::app
