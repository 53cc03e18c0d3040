#include "profile/deeppool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/parse_number.hpp"
#include "base/trimmed.hpp"
#include "profile/import_parts.hpp"

namespace nereus::profile {

using spec::Array;
using spec::Value;

namespace {

constexpr const char* kForm = R"(conv2d{"in_channels":3,...}[64][3,224,224] 2.157 2157 6)";

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

// One number, or the product of several.
std::optional<double> product(const Value& value) {
  if (const Array* list = std::get_if<Array>(&value.data)) {
    double out = 1;
    for (const Value& own : *list) {
      const std::optional<double> factor = number_in(own);
      if (!factor) return std::nullopt;
      out *= *factor;
    }
    return out;
  }
  return number_in(value);
}

struct Line {
  std::string type;
  std::string settings;
  double batch = 0;
  double elements = 0;
  double parameters = 0;
  double forward = 0;
  double backward = 0;
};

bool joins_the_last(const std::string& type) {
  return type == "ReLU1d" || type == "ReLU2d" || type == "flatten";
}

class LineReader {
 public:
  LineReader(std::string_view text, Where where) : text_(text), where_(std::move(where)) {}

  Line read() {
    Line out;
    const std::size_t brace = text_.find('{');
    const std::size_t close = text_.find("}[");
    if (brace == std::string_view::npos || close == std::string_view::npos || close < brace)
      fail("profile.line", "the line is no layer of a DeepPool profile");
    out.type = text_.substr(0, brace);
    out.settings = text_.substr(brace, close + 1 - brace);
    std::string_view rest = text_.substr(close + 2);
    const std::size_t end = rest.find(']');
    const std::vector<std::string_view> cells = end == std::string_view::npos
                                                    ? std::vector<std::string_view>{}
                                                    : words(rest.substr(end + 1));
    if (cells.size() != 4)
      fail("profile.line", "a layer has a batch, an input, ms, forward and backward us");
    out.batch = above_zero(rest.substr(0, end), "the batch");
    const std::optional<double> elements = product(spec::parse_json(cells[0], where_.file));
    if (!elements || !(*elements >= 1)) fail("profile.line", "the input has no elements");
    out.elements = *elements;
    out.forward = micros(cells[2], "forward");
    out.backward = micros(cells[3], "backward");
    out.parameters = parameters(out.type, spec::parse_json(out.settings, where_.file));
    return out;
  }

 private:
  [[noreturn]] void fail(const char* code, std::string message) const {
    throw_input_error(code, std::move(message), where_, kForm);
  }
  double above_zero(std::string_view text, const char* what) const {
    const std::optional<double> value = parse_number<double>(text);
    if (!value || !(*value >= 1 && *value <= 1e9))
      fail("profile.value", fmt::format("{} is '{}', and must be 1 or more", what, text));
    return *value;
  }
  double micros(std::string_view text, const char* what) const {
    const std::optional<double> value = parse_number<double>(text);
    if (!value || !(*value >= 0 && *value <= 3.6e9))
      fail("profile.value", fmt::format("{} takes '{}' us, and may take 0 to an hour", what, text));
    return *value * 1e-6;
  }
  double setting(const Value& settings, const char* key) const {
    const Value* own = settings.find(key);
    const std::optional<double> value = own ? product(*own) : std::nullopt;
    if (!value || !(*value >= 1)) fail("profile.line", fmt::format("{} is no number above 0", key));
    return *value;
  }
  double parameters(const std::string& type, const Value& settings) const {
    if (type == "conv2d") {
      const Value* kernel = settings.find("kernel_size");
      // A scalar is the side of a square.
      const double side = setting(settings, "kernel_size");
      const double window =
          kernel && std::holds_alternative<Array>(kernel->data) ? side : side * side;
      const double out = setting(settings, "out_channels");
      return window * setting(settings, "in_channels") * out + out;
    }
    if (type == "linear") {
      const double out = setting(settings, "out_features");
      return setting(settings, "in_features") * out + out;
    }
    if (type == "ResnetBottleneck") return bottleneck(settings);
    if (joins_the_last(type) || type == "maxPool2d" || type == "avgPool2d" || type == "adAvgPool2d")
      return 0;
    fail("profile.layer", fmt::format("'{}' is no type of layer whose parameters are known", type));
  }
  // Three convolutions without bias and their norms, and those of the shortcut if there is one.
  double bottleneck(const Value& settings) const {
    const double in = setting(settings, "inplanes"), planes = setting(settings, "planes");
    const double groups = setting(settings, "groups");
    const double width = planes * setting(settings, "base_width") / 64 * groups;
    const double out = 4 * planes;
    double sum = in * width + 9 * width * width / groups + width * out + 2 * (2 * width + out);
    if (settings.find("downsampleParams")) sum += in * out + 2 * out;
    return sum;
  }

  std::string_view text_;
  Where where_;
};

// Blocks of one batch.
struct BatchRows {
  double batch = 0;
  std::vector<Line> rows;
};

DeepPoolProfile join(const std::vector<BatchRows>& batches, const std::string& file) {
  DeepPoolProfile out;
  for (const BatchRows& own : batches) {
    const std::vector<Line>& first = batches.front().rows;
    std::size_t block = 0;
    for (std::size_t i = 0; i < std::max(own.rows.size(), first.size()); ++i) {
      if (i >= own.rows.size() || i >= first.size() || own.rows[i].type != first[i].type ||
          own.rows[i].settings != first[i].settings || own.rows[i].elements != first[i].elements)
        throw_input_error(
            "profile.no-layer",
            fmt::format("layer {} of batch {:g} is {}, and of batch {:g} {}", i + 1, own.batch,
                        i < own.rows.size() ? own.rows[i].type : "missing", batches.front().batch,
                        i < first.size() ? first[i].type : "missing"),
            {file}, "the same layers for every batch: one that is missing has no time");
      const Line& row = own.rows[i];
      const bool joins = i > 0 && joins_the_last(row.type);
      if (&own == &batches.front() && !joins)
        out.blocks.push_back({row.type, row.parameters, row.elements, {}, {}, {}});
      else if (&own == &batches.front())
        out.blocks.back().name += "+" + row.type;
      if (i > 0 && !joins) ++block;
      DeepPoolBlock& to = out.blocks[block];
      if (!joins) {
        to.samples.push_back(own.batch);
        to.forward.push_back(0);
        to.backward.push_back(0);
      }
      to.forward.back() += row.forward;
      to.backward.back() += row.backward;
    }
  }
  return out;
}

}  // namespace

TimeCurve DeepPoolBlock::seconds() const {
  TimeCurve curve{samples, forward};
  for (std::size_t i = 0; i < samples.size(); ++i) curve.seconds[i] += backward[i];
  return curve;
}

bool is_deeppool(std::string_view text) {
  while (!text.empty() && trimmed(text.substr(0, text.find('\n'))).empty() &&
         text.find('\n') != std::string_view::npos)
    text.remove_prefix(text.find('\n') + 1);
  const std::string_view line = trimmed(text.substr(0, text.find('\n')));
  return !line.empty() && line.front() != '{' && line.find('{') < line.find("}[");
}

DeepPoolProfile read_deeppool(std::string_view text, const std::string& file) {
  std::vector<BatchRows> batches;
  int line_number = 0;
  for (bool after_sum = true; !text.empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.empty()) continue;
    if (line.substr(0, 3) == "SUM" || parse_number<double>(words(line)[0])) {
      after_sum = true;
      continue;
    }
    Line own = LineReader(line, {file, line_number, 0, std::string(line)}).read();
    if (after_sum || batches.empty() || batches.back().batch != own.batch)
      batches.push_back({own.batch, {}});
    after_sum = false;
    batches.back().rows.push_back(std::move(own));
  }
  if (batches.empty())
    throw_input_error("profile.empty", "the file holds no layers", {file}, kForm);
  std::sort(batches.begin(), batches.end(),
            [](const BatchRows& a, const BatchRows& b) { return a.batch < b.batch; });
  for (std::size_t i = 1; i < batches.size(); ++i)
    if (batches[i].batch == batches[i - 1].batch)
      throw_input_error("profile.twice", fmt::format("batch {:g} is there twice", batches[i].batch),
                        {file}, "each batch once");
  DeepPoolProfile out = join(batches, file);
  ErrorList errors;
  for (std::size_t i = 0; i < out.blocks.size(); ++i)
    for (std::size_t j = 0; j < out.blocks[i].samples.size(); ++j)
      if (!(out.blocks[i].forward[j] + out.blocks[i].backward[j] > 0))
        errors.add("profile.no-time",
                   fmt::format("block {} ({}) takes 0 for {}", i + 1, out.blocks[i].name,
                               counted(fmt::format("{:g}", out.blocks[i].samples[j]), "sample")),
                   {file}, "a time that was measured, or no such batch");
  errors.throw_if_any();
  return out;
}

}  // namespace nereus::profile
