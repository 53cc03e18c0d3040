// The words of a shell: quotes, expansions, arithmetic, tests. Only used by export/shell.cpp.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "export/shell.hpp"
#include "spec/source.hpp"

namespace nereus::exporting {

using Variables = std::map<std::string, std::vector<Word>, std::less<>>;

// Limits the size of expansions: a few lines of A="$A$A" could otherwise fill any memory.
class Budget {
 public:
  Budget(std::string_view text, const std::string& file)
      : source_(spec::make_source(text, file)), left_(4'000'000) {}
  std::string_view text() const { return source_->text; }
  void spend(std::size_t characters, int line);
  [[noreturn]] void fail(int line, const std::string& message) const;

 private:
  spec::SourcePtr source_;
  std::size_t left_;
};

enum class Truth { kNoTest, kTrue, kFalse, kUnknown };
// Whether a command is a test ([ .. ], [[ .. ]], test ..), and its result.
Truth test_result(const std::vector<Word>& words);

class ShellReader {
 public:
  ShellReader(std::string_view text, const Variables& variables, Budget& budget, int line)
      : text_(text), variables_(variables), budget_(budget), line_(line) {}

  int line() const { return line_; }
  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool looking_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void skip_one();

  std::string comment();
  void next_separator();  // a line end also consumes pending here-documents
  bool skip_blank();      // blanks, continued lines, and a comment after a blank
  bool redirection();     // > file, 2>&1, <<EOF
  bool at_command_end(bool inside_brackets) const;
  std::string command_end();  // "&&", "||", ";" or similar
  bool assignment_name(std::string& name, bool& append);
  bool was_array() const { return was_array_; }
  std::vector<Word> array();
  Word value();               // of an assignment: one word, without splitting
  std::vector<Word> words();  // one word as written; may be several after expansion
  std::string_view skip_past_word(std::string_view word);  // returns what was skipped
  void skip_rest_of_line_before(char stop);

 private:
  struct Builder;
  void word_into(Builder& builder, std::string_view stops, int depth);
  void quoted(Builder& builder, int depth);
  void dollar(Builder& builder, bool in_quotes, int depth);
  void braced(Builder& builder, bool in_quotes, int depth);
  void substitution(Builder& builder, std::size_t from);
  void put_variable(Builder& builder, const std::vector<Word>& value, bool in_quotes, bool each,
                    int line);

  std::string_view text_;
  const Variables& variables_;
  Budget& budget_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool was_array_ = false;
  std::vector<std::string> here_documents_;
};

// These mark parts that are only known at run time while words are assembled; the text itself
// contains no control characters.
inline constexpr char kUnknownBegin = '\x01';
inline constexpr char kUnknownEnd = '\x02';
// The word for callers: without the marks, and `known` if it had none.
Word finished(Word word);

// Fields of one word while it is read: an expansion outside quotes may start new fields.
struct ShellReader::Builder {
  std::vector<Word> done{};
  Word current{};
  bool open = false;
  bool split = true;  // outside quotes, expansions are split at blanks

  void add(char c) {
    current.text += c;
    open = true;
  }
  void add(std::string_view text) {
    current.text += text;
    open = true;
  }
  void add_unknown(std::string_view text) {
    add(kUnknownBegin);
    add(text);
    add(kUnknownEnd);
  }
  void close() {
    if (!open) return;
    done.push_back(std::move(current));
    current = Word{{}, done.back().line, true};
    open = false;
  }
};

inline bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool is_name(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// "2 * (3 + N)" with variables; returns false if a part of it is unknown.
bool arithmetic(std::string_view text, const Variables& variables, long long& result);

}  // namespace nereus::exporting
