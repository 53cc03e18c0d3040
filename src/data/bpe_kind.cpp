#include <fmt/format.h>

#include <vector>

#include "data/bpe_fields.hpp"

namespace nereus::data {

namespace {

using spec::Value;

class KindReader {
 public:
  KindReader(const Value& root, BpeModel& into, ErrorList& errors)
      : root_(root), model_(into), errors_(errors) {}

  // Pre-tokenizer, normalizer and the model's options.
  void read(const Value& model) {
    const Value* normalizer = root_.find("normalizer");
    const bool normalized = normalizer != nullptr && !normalizer->is_null();
    model_.byte_level = !normalized;
    if (normalized && !marks_words(*normalizer))
      refuse("normalizer", normalizer,
             "changes the text in a way that is not read: none, or Prepend and Replace of U+2581 "
             "as LLaMA-2 has them");
    const Value* splitter = root_.find("pre_tokenizer");
    const bool splits = splitter != nullptr && !splitter->is_null();
    if (normalized) {
      model_.split = SplitRule::kWords;
      if (splits) refuse("pre_tokenizer", splitter, "beside a normalizer is not read");
    } else if (!splits) {
      refuse("pre_tokenizer", splitter, "is missing: ByteLevel, or Split and ByteLevel, are read");
    } else {
      read_splitter(*splitter);
    }
    for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Value* value = model.find(field);
      const std::string* text = text_in(value);
      if (value != nullptr && !value->is_null() && (text == nullptr || !text->empty()))
        refuse(fmt::format("model.{}", field), value, "must be empty or null");
    }
    const Value* dropout = model.find("dropout");
    const double* share = dropout == nullptr ? nullptr : std::get_if<double>(&dropout->data);
    if (dropout != nullptr && !dropout->is_null() && (share == nullptr || *share != 0))
      refuse("model.dropout", dropout, "must be null: it makes tokens random");
    const bool falls_back = is_true(model.find("byte_fallback"), false);
    if (model_.byte_level == falls_back)
      refuse("model.byte_fallback", model.find("byte_fallback"),
             falls_back ? "is for models without ByteLevel" : "must be true without ByteLevel");
    model_.ignore_merges = is_true(model.find("ignore_merges"), false);
  }

 private:
  // {"type": "Sequence", "normalizers": [Prepend U+2581, Replace " " by U+2581]}
  static bool marks_words(const Value& normalizer) {
    const std::string* type = text_in(normalizer.find("type"));
    const Value* list = normalizer.find("normalizers");
    const auto* steps = list == nullptr ? nullptr : std::get_if<spec::Array>(&list->data);
    if (type == nullptr || *type != "Sequence" || steps == nullptr || steps->size() != 2)
      return false;
    const auto is = [](const Value& step, std::string_view key, std::string_view wanted) {
      const std::string* text = text_in(step.find(key));
      return text != nullptr && *text == wanted;
    };
    const Value& prepend = (*steps)[0];
    const Value& replace = (*steps)[1];
    const Value* pattern = replace.find("pattern");
    return is(prepend, "type", "Prepend") && is(prepend, "prepend", kWordMark) &&
           is(replace, "type", "Replace") && is(replace, "content", kWordMark) &&
           pattern != nullptr && is(*pattern, "String", " ");
  }

  void read_splitter(const Value& splitter) {
    std::vector<const Value*> steps{&splitter};
    if (const Value* list = splitter.find("pretokenizers")) {
      steps.clear();
      if (const auto* array = std::get_if<spec::Array>(&list->data))
        for (const Value& step : *array) steps.push_back(&step);
    }
    const auto type_is = [](const Value* step, std::string_view wanted) {
      const std::string* type = text_in(step->find("type"));
      return type != nullptr && *type == wanted;
    };
    const bool split_first = steps.size() == 2 && type_is(steps[0], "Split");
    if ((steps.size() != 1 && !split_first) || !type_is(steps.back(), "ByteLevel"))
      return refuse("pre_tokenizer", &splitter,
                    "is not read: ByteLevel, or a Sequence of Split and ByteLevel, are");
    const Value& byte_level = *steps.back();
    model_.add_prefix_space = is_true(byte_level.find("add_prefix_space"), true);
    const bool own_expression = is_true(byte_level.find("use_regex"), true);
    if (!split_first) {
      if (!own_expression)
        refuse("pre_tokenizer.use_regex", &byte_level, "is false and no Split stands before it");
      return;
    }
    if (own_expression)
      refuse("pre_tokenizer.use_regex", &byte_level, "must be false after a Split");
    if (model_.add_prefix_space)
      refuse("pre_tokenizer.add_prefix_space", &byte_level, "must be false after a Split");
    const Value& split = *steps[0];
    const Value* pattern = split.find("pattern");
    const std::string* expression = pattern == nullptr ? nullptr : text_in(pattern->find("Regex"));
    const auto rule = expression == nullptr ? std::nullopt : split_rule_of(*expression);
    if (rule)
      model_.split = *rule;
    else
      refuse("pre_tokenizer.pattern", pattern == nullptr ? &split : pattern,
             "is not read: those of GPT-2, LLaMA-3 (cl100k) and Qwen 2 are");
    const std::string* behavior = text_in(split.find("behavior"));
    if (behavior == nullptr || *behavior != "Isolated" || !is_false(split.find("invert")))
      refuse("pre_tokenizer.behavior", &split, "must be Isolated, and invert false");
  }

  void refuse(const std::string& field, const Value* value, const std::string& why) {
    refuse_field(field, value == nullptr ? root_ : *value, why, errors_);
  }

  const Value& root_;
  BpeModel& model_;
  ErrorList& errors_;
};

}  // namespace

void read_bpe_kind(const Value& root, const Value& model, BpeModel& into, ErrorList& errors) {
  KindReader(root, into, errors).read(model);
}

}  // namespace nereus::data
