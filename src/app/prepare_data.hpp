// `nereus data`: converts text to a token file, and shows the content of a token file or of a
// folder of images.
//
//   const DataPrepareAnswer answer = data_prepare({.inputs = {"a.txt"}, .output = "a.tokens"}, {});
//   const DataShowAnswer shown = data_show({.path = "a.tokens"});
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/progress.hpp"
#include "data/documents.hpp"
#include "data/prepare.hpp"
#include "data/token_file.hpp"

namespace nereus::app {

struct DataPrepareRequest {
  std::vector<std::string> inputs;
  std::string output;
  std::string tokenizer = "bytes";  // or a tokenizer.json
  // Text of the token that ends documents; empty = the tokenizer's default.
  std::string end_of_text = {};
  data::DocumentOptions documents{};
  std::function<bool()> stop = {};
};

struct DataPrepareAnswer {
  data::Prepared prepared;
  std::string file;
  std::string tokenizer;
  std::int64_t vocabulary = 0;
  bool ends_documents = true;  // whether the tokenizer has a token that ends documents
};

DataPrepareAnswer data_prepare(const DataPrepareRequest& request, const ProgressSink& progress);

struct DataShowRequest {
  std::string path;
  std::string tokenizer = {};    // to show tokens as text; empty = "bytes" if the file says so
  std::int64_t first = 0;        // first token that is shown
  std::int64_t num_tokens = 64;  // number of tokens that are shown
};

// A folder of images.
struct ImagesShown {
  std::int64_t num_samples = 0;
  std::vector<std::string> classes;
  std::int64_t first_width = 0;  // of the first image
  std::int64_t first_height = 0;
};

struct DataShowAnswer {
  std::optional<ImagesShown> images = {};  // if set, the other fields are not
  data::TokenFileInfo info;
  std::int64_t largest_token = -1;  // -1 if there is none
  bool intact = true;               // whether the checksum is right
  bool has_checksum = false;
  std::vector<std::int64_t> tokens;  // the requested ones
  std::string text = {};             // their text; empty if no tokenizer is known
};

DataShowAnswer data_show(const DataShowRequest& request);

}  // namespace nereus::app
