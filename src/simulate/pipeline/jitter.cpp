#include "simulate/pipeline/jitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "base/decimal.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "base/parse_number.hpp"
#include "base/trimmed.hpp"
#include "spec/csv.hpp"
#include "spec/quantity.hpp"
#include "spec/source.hpp"

namespace nereus::simulate {

namespace {

constexpr double kPicoseconds = 1e12;
constexpr const char* kForms =
    "none, normal:5%, normal:2ms, delay:10ms, lognormal:0.1 or measured:FILE";

// Longer than any step: half of what 64 bits of picoseconds hold, 53 days.
constexpr double kLongest = 4.6e18;

double polynomial(double x, const double (&c)[8]) {
  return ((((((c[7] * x + c[6]) * x + c[5]) * x + c[4]) * x + c[3]) * x + c[2]) * x + c[1]) * x +
         c[0];
}

constexpr double kMiddleAbove[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                    1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                    4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                    3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr double kMiddleBelow[8] = {1,
                                    4.2313330701600911252e+1,
                                    6.8718700749205790830e+2,
                                    5.3941960214247511077e+3,
                                    2.1213794301586595867e+4,
                                    3.9307895800092710610e+4,
                                    2.8729085735721942674e+4,
                                    5.2264952788528545610e+3};
constexpr double kSideAbove[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                  5.76949722146069140550e0,  3.64784832476320460504e0,
                                  1.27045825245236838258e0,  2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr double kSideBelow[8] = {1,
                                  2.05319162663775882187e0,
                                  1.67638483018380384940e0,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
constexpr double kFarAbove[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                 1.78482653991729133580e0,  2.96560571828504891230e-1,
                                 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double kFarBelow[8] = {1,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};

double side_quantile(double u) {
  const double r = std::sqrt(-std::log(std::min(u, 1 - u)));
  const double x = r <= 5 ? polynomial(r - 1.6, kSideAbove) / polynomial(r - 1.6, kSideBelow)
                          : polynomial(r - 5, kFarAbove) / polynomial(r - 5, kFarBelow);
  return u < 0.5 ? -x : x;
}

// Strictly between 0 and 1, exact.
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

// The range of allowed factors.
constexpr double kLeastFactor = 1e-3;
constexpr double kMostFactor = 1e3;

Picoseconds rounded(double t) {
  return t <= 0 ? 0 : static_cast<Picoseconds>(std::min(t, kLongest) + 0.5);
}

std::optional<double> number_in(std::string_view text) {
  const std::optional<double> value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

[[noreturn]] void complain(std::string message, Where where = {}, std::string hint = kForms) {
  throw_input_error("simulate.jitter", std::move(message), std::move(where), std::move(hint));
}

// "5%" or "2ms" or "2 ms"
void read_spread(Distribution& out, std::string_view text) {
  if (!text.empty() && text.back() == '%') {
    const std::optional<double> percent = number_in(trimmed(text.substr(0, text.size() - 1)));
    if (!percent || *percent < 0 || *percent > 1000)
      complain(fmt::format("'{}' is no share from 0 % to 1,000 %", text));
    out.relative = *percent / 100;
    return;
  }
  const spec::Parsed<Seconds> time = spec::parse_seconds(text);
  if (!time.value || time.value->value < 0)
    complain(fmt::format("'{}' is neither a share (5%) nor a time of 0 or more (2ms)", text));
  if (time.value->value > kLongest / kPicoseconds / 100)
    complain(fmt::format("'{}' is more than a pass or a message can vary by", text));
  out.seconds = time.value->value;
}

// `where` is only called if something is wrong, because it searches its line from the beginning.
template <class PlaceOf>
double factor_in(std::string_view text, const PlaceOf& where) {
  const std::optional<double> factor = number_in(text);
  if (!factor || *factor < kLeastFactor || *factor > kMostFactor)
    complain(fmt::format("'{}' is no factor from {:g} to {:g}", text, kLeastFactor, kMostFactor),
             where(), "durations divided by what they should be, such as 0.98");
  return *factor;
}

// The head of a table is words: letters, and no number in disguise (nan, inf).
bool is_header(std::string_view cell) {
  double value = 0;
  const auto [end, error] = read_decimal(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc::invalid_argument && end == cell.data() &&
         std::isalpha(static_cast<unsigned char>(cell.front())) != 0;
}

// One number a line; or a CSV with a column `factor`, or of one column.
std::vector<double> read_factors(const std::string& file) {
  if (file.empty()) complain("measured needs a file");
  const spec::SourcePtr source = spec::make_source(spec::read_text_file(file), file);
  std::vector<double> factors;
  const std::string_view text = source->text;
  std::size_t begin = 0;
  for (int line = 1; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view cell = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    if (cell.empty() || cell.front() == '#') continue;
    if (factors.empty() && is_header(cell)) {
      // A header: a table.
      const spec::Csv csv = spec::parse_csv(text, file);
      const int column = csv.columns.size() == 1 ? 0 : csv.find("factor");
      if (column < 0)
        complain(
            fmt::format("{} has {} columns, none of them named factor", file, csv.columns.size()),
            {file, 1, 0}, "one number a line, or a CSV with a column factor");
      for (const spec::CsvRow& row : csv.rows)
        factors.push_back(
            factor_in(trimmed(csv.cell(row, column)), [&] { return csv.where(row, column); }));
      break;
    }
    factors.push_back(factor_in(cell, [&] { return spec::where_in(*source, line, 1); }));
  }
  if (factors.empty()) complain(fmt::format("{} holds no factor", file), {file, 0, 0});
  return factors;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t state = a;
  state = splitmix64(state) ^ b;
  return splitmix64(state);
}

}  // namespace

double normal_quantile(double u) {
  const double q = u - 0.5;
  if (std::abs(q) > 0.425) return side_quantile(u);
  const double r = 0.180625 - q * q;
  return q * polynomial(r, kMiddleAbove) / polynomial(r, kMiddleBelow);
}

Picoseconds vary(const Distribution& d, std::uint64_t bits, Picoseconds t) {
  const auto base = static_cast<double>(t);
  switch (d.kind) {
    case Distribution::Kind::kNone:
      return t;
    case Distribution::Kind::kNormal:
      return rounded(base + normal_quantile(uniform(bits)) *
                                (d.relative * base + d.seconds * kPicoseconds));
    case Distribution::Kind::kDelay:
      return rounded(base + std::abs(normal_quantile(uniform(bits))) *
                                (d.relative * base + d.seconds * kPicoseconds));
    case Distribution::Kind::kLogNormal:
      return rounded(base * std::exp(d.sigma * (normal_quantile(uniform(bits)) - 0.5 * d.sigma)));
    case Distribution::Kind::kMeasured: {
      // The upper 32 bits: with fewer factors than that none is favoured by more than 2^-32 n.
      const std::uint64_t which = ((bits >> 32) * d.factors.size()) >> 32;
      return rounded(base * d.factors[which]);
    }
  }
  return t;
}

Distribution parse_distribution(std::string_view text) {
  Distribution out;
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool bare = colon == std::string_view::npos;
  const std::string_view rest = bare ? std::string_view() : trimmed(text.substr(colon + 1));
  if (kind == "none" && bare) return out;
  if (bare) complain(fmt::format("'{}' is no distribution", text));
  if (kind == "normal" || kind == "delay") {
    out.kind = kind == "normal" ? Distribution::Kind::kNormal : Distribution::Kind::kDelay;
    read_spread(out, rest);
  } else if (kind == "lognormal") {
    out.kind = Distribution::Kind::kLogNormal;
    const std::optional<double> sigma = number_in(rest);
    if (!sigma || *sigma < 0 || *sigma > 3)
      complain(fmt::format("'{}' is no sigma from 0 to 3", rest));
    out.sigma = *sigma;
  } else if (kind == "measured") {
    out.kind = Distribution::Kind::kMeasured;
    out.factors = read_factors(std::string(rest));
  } else {
    complain(fmt::format("'{}' is no distribution", kind));
  }
  return out;
}

SlowRank parse_slow_rank(std::string_view text) {
  constexpr const char* kForm = "RANK:FACTOR, such as 3:1.2 for a rank 20 % slower";
  const std::size_t colon = text.find(':');
  const std::optional<int> rank = parse_number<int>(text.substr(0, colon));
  if (!rank || *rank < 0)
    complain(fmt::format("'{}' is no rank", text.substr(0, colon)), {}, kForm);
  const std::optional<double> factor =
      colon == std::string_view::npos ? std::nullopt : number_in(text.substr(colon + 1));
  if (!factor || *factor < kLeastFactor || *factor > kMostFactor)
    complain(fmt::format("'{}' has no factor from {:g} to {:g}", text, kLeastFactor, kMostFactor),
             {}, kForm);
  return {*rank, *factor};
}

std::string to_text(const Distribution& d) {
  const bool delay = d.kind == Distribution::Kind::kDelay;
  switch (d.kind) {
    case Distribution::Kind::kNone:
      return "none";
    case Distribution::Kind::kNormal:
    case Distribution::Kind::kDelay:
      if (d.seconds > 0 && d.relative > 0)
        return fmt::format("{}:{}%+{}", delay ? "delay" : "normal", d.relative * 100,
                           spec::write_quantity(Seconds{d.seconds}));
      return fmt::format("{}:{}", delay ? "delay" : "normal",
                         d.seconds > 0 ? spec::write_quantity(Seconds{d.seconds})
                                       : fmt::format("{}%", d.relative * 100));
    case Distribution::Kind::kLogNormal:
      return fmt::format("lognormal:{}", d.sigma);
    case Distribution::Kind::kMeasured:
      return fmt::format("measured ({})", counted(d.factors.size(), "factor"));
  }
  return "";
}

std::string to_text(const SlowRank& slow) { return fmt::format("{}:{}", slow.rank, slow.factor); }

Draws::Draws(const Jitter& jitter, std::uint64_t step, std::uint64_t replica, int first_lane,
             int together, int apart)
    : jitter_(&jitter), first_lane_(first_lane), together_(together), apart_(apart) {
  const std::uint64_t own = mix(mix(jitter.seed, step), replica);
  compute_ = mix(own, 0);
  link_ = mix(own, 1);
}

}  // namespace nereus::simulate
