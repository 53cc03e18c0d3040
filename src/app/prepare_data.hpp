// `nereus data`: text to a token file, and what a token file or folder of images holds.
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
  std::string end_of_text = {};     // text of the token that ends documents; empty = the usual one
  data::DocumentOptions documents{};
  std::function<bool()> stop = {};
};

struct DataPrepareAnswer {
  data::Prepared prepared;
  std::string file;
  std::string tokenizer;
  std::int64_t vocabulary = 0;
  bool ends_documents = true;  // whether the tokenizer has a token for it
};

DataPrepareAnswer data_prepare(const DataPrepareRequest& request, const ProgressSink& progress);

struct DataShowRequest {
  std::string path;
  std::string tokenizer = {};    // to show tokens as text; empty = where the file says bytes
  std::int64_t first = 0;        // token from which on they are shown
  std::int64_t num_tokens = 64;  // so many
};

// A folder of pictures.
struct ImagesShown {
  std::int64_t num_samples = 0;
  std::vector<std::string> classes;
  std::int64_t first_width = 0;  // of the first picture
  std::int64_t first_height = 0;
};

struct DataShowAnswer {
  std::optional<ImagesShown> images = {};  // where it is set, the rest is not
  data::TokenFileInfo info;
  std::int64_t largest_token = -1;  // -1 where there is none
  bool intact = true;               // by its checksum
  bool has_checksum = false;
  std::vector<std::int64_t> tokens;  // the first ones asked for
  std::string text = {};             // of these; empty where no tokenizer is known
};

DataShowAnswer data_show(const DataShowRequest& request);

}  // namespace nereus::app
