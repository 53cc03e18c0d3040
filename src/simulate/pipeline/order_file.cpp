#include "simulate/pipeline/order_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "base/format.hpp"
#include "simulate/pipeline/passes.hpp"
#include "spec/source.hpp"

namespace nereus::simulate {

namespace {

constexpr std::size_t kMostErrors = 10;
constexpr int kMostNumber = 1'000'000;
constexpr const char* kForm = "rank 0: F0 F1 B0 B1";

// The place of a pass in the text.
struct Place {
  int line = 0;
  int column = 0;
};

class OrderReader {
 public:
  explicit OrderReader(const spec::Source& source) : source_(source) {}

  OrderFile read() {
    const std::string_view text = source_.text;
    for (std::size_t begin = 0; begin < text.size() && num_errors_ < kMostErrors;) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      ++number_;
      line_ = text.substr(begin, end - begin);
      line_ = line_.substr(0, line_.find('#'));
      at_ = 0;
      read_line();
      begin = end + 1;
    }
    errors_.throw_if_any();
    find_size();
    errors_.throw_if_any();
    compile(out_.order, out_.size, RecomputeStart::kEarly, [&](int rank, int index) {
      if (rank < 0) return Where{source_.file, 0, 0};
      const Place& place = places_[rank][index];
      return spec::where_in(source_, place.line, place.column);
    });
    return std::move(out_);
  }

 private:
  void complain(std::size_t at, std::string message, std::string hint = kForm) {
    if (++num_errors_ > kMostErrors) return;
    errors_.add("simulate.order-syntax", std::move(message),
                spec::where_in(source_, number_, static_cast<int>(at) + 1), std::move(hint));
  }

  bool done() const { return at_ == line_.size(); }
  bool is_blank() const { return line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r'; }
  void skip_blanks() {
    while (!done() && is_blank()) ++at_;
  }

  // A whole number at this place, or a complaint.
  std::optional<int> read_number(const char* of_what) {
    int value = 0;
    const char* const begin = line_.data() + at_;
    const auto [end, error] = std::from_chars(begin, line_.data() + line_.size(), value);
    if (error == std::errc::invalid_argument || value < 0) {
      complain(at_, fmt::format("a number of a {} is missing here", of_what));
      return std::nullopt;
    }
    if (error != std::errc{} || value > kMostNumber) {
      complain(at_, fmt::format("the number of this {} is above {}", of_what, kMostNumber));
      return std::nullopt;
    }
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  void read_line() {
    skip_blanks();
    if (done()) return;
    const std::size_t start = at_;
    if (line_.substr(at_, 4) != "rank")
      return complain(at_, "a line starts with the number of its rank");
    at_ += 4;
    skip_blanks();
    const std::optional<int> rank = read_number("rank");
    if (!rank) return;
    skip_blanks();
    if (done() || line_[at_] != ':') return complain(at_, "after the rank a colon is missing");
    ++at_;
    if (std::find(ranks_.begin(), ranks_.end(), *rank) != ranks_.end())
      return complain(start, fmt::format("rank {} has two lines", *rank), "one line per rank");
    ranks_.push_back(*rank);
    std::vector<PipelineOp> ops;
    std::vector<Place> places;
    for (skip_blanks(); !done(); skip_blanks()) {
      const std::size_t first = at_;
      const std::optional<PipelineOp> op = read_pass(*rank);
      if (!op) return;
      if (op->with_next && !ops.empty() && ops.back().with_next)
        return complain(first, "only two passes run as one", "F3+ B1");
      ops.push_back(*op);
      places.push_back({number_, static_cast<int>(first) + 1});
    }
    if (ops.empty()) return complain(start, fmt::format("rank {} has no pass", *rank));
    if (ops.back().with_next) return complain(at_, "+ needs a pass to run with", "F3+ B1");
    lines_.push_back({std::move(ops), std::move(places)});
  }

  std::optional<PipelineOp> read_pass(int rank) {
    PipelineOp op;
    op.stage = rank;
    int pass = 0;
    while (pass < kNumPasses && letter_of(static_cast<Pass>(pass)) != line_[at_]) ++pass;
    if (pass == kNumPasses) {
      complain(at_, "no pass starts like this",
               "F, B, I, W or R, then the micro-batch: F0, B12, I3@1");
      return std::nullopt;
    }
    op.pass = static_cast<Pass>(pass);
    ++at_;
    const std::optional<int> micro_batch = read_number("micro-batch");
    if (!micro_batch) return std::nullopt;
    op.micro_batch = *micro_batch;
    if (!done() && line_[at_] == '@') {
      ++at_;
      const std::optional<int> stage = read_number("stage");
      if (!stage) return std::nullopt;
      op.stage = *stage;
    }
    if (!done() && line_[at_] == '+') {
      ++at_;
      op.with_next = true;
    } else if (!done() && !is_blank()) {
      complain(at_, "a space is missing between two passes", "F0 F1 B0");
      return std::nullopt;
    }
    return op;
  }

  void complain_of_size(std::string message, std::string hint) {
    errors_.add("simulate.order-size", std::move(message), {source_.file, 0, 0}, std::move(hint));
  }

  // Ranks in their order, and how much there is of everything.
  void find_size() {
    const auto depth = static_cast<int>(ranks_.size());
    if (depth == 0) return complain_of_size("there is no rank in this file", kForm);
    out_.order.resize(ranks_.size());
    places_.resize(ranks_.size());
    std::int64_t passes = 0;
    int stages = 0;
    int micro_batches = 0;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i] >= depth)
        return complain_of_size(
            fmt::format("there is a rank {}, but only {}", ranks_[i], counted(depth, "line")),
            fmt::format("ranks 0 to {}", depth - 1));
      for (const PipelineOp& op : lines_[i].ops) {
        stages = std::max(stages, op.stage + 1);
        micro_batches = std::max(micro_batches, op.micro_batch + 1);
      }
      passes += static_cast<std::int64_t>(lines_[i].ops.size());
      const auto rank = static_cast<std::size_t>(ranks_[i]);
      out_.order[rank] = std::move(lines_[i].ops);
      places_[rank] = std::move(lines_[i].places);
    }
    // Also prevents a typo from allocating all memory.
    if (passes < 2 * std::int64_t{stages} * micro_batches)
      return complain_of_size(
          fmt::format("{} and {} need {} passes at least, there are {}", counted(stages, "stage"),
                      counted(micro_batches, "micro-batch", "micro-batches"),
                      2 * std::int64_t{stages} * micro_batches, passes),
          "every micro-batch forward and backward on every stage, both counted from 0");
    if (stages % depth != 0)
      return complain_of_size(fmt::format("{} on {} ranks", counted(stages, "stage"), depth),
                              "as many stages on every rank");
    out_.size = {depth, stages / depth, micro_batches};
  }

  struct Line {
    std::vector<PipelineOp> ops;
    std::vector<Place> places;
  };

  const spec::Source& source_;
  std::string_view line_;
  int number_ = 0;
  std::size_t at_ = 0;
  ErrorList errors_;
  std::size_t num_errors_ = 0;
  std::vector<int> ranks_;   // in the order of the lines
  std::vector<Line> lines_;  // the same
  std::vector<std::vector<Place>> places_;
  OrderFile out_;
};

}  // namespace

OrderFile parse_order(std::string_view text, const std::string& file) {
  const spec::SourcePtr source = spec::make_source(text, file);
  return OrderReader(*source).read();
}

OrderFile read_order(const std::string& path) {
  return parse_order(spec::read_text_file(path), path);
}

std::string write_order(const Order& order) {
  std::string out;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    out += fmt::format("rank {}:", rank);
    for (const PipelineOp& op : order[rank]) {
      out += fmt::format(" {}{}", letter_of(op.pass), op.micro_batch);
      if (op.stage != static_cast<int>(rank)) out += fmt::format("@{}", op.stage);
      if (op.with_next) out += '+';
    }
    out += '\n';
  }
  return out;
}

}  // namespace nereus::simulate
