// Our JSON reader must accept exactly what nlohmann's accepts (save for limits of ours), with the
// same values.
#include <cmath>
#include <nlohmann/json.hpp>

#include "fuzz.hpp"

namespace {

using nereus::spec::Value;
using Json = nlohmann::ordered_json;

bool same(const Value& ours, const Json& theirs);

struct Same {
  const Json& theirs;
  bool operator()(std::monostate) const { return theirs.is_null(); }
  bool operator()(bool truth) const { return theirs.is_boolean() && theirs == truth; }
  bool operator()(std::int64_t number) const {
    return theirs.is_number_integer() && theirs == number;
  }
  bool operator()(double number) const {
    return theirs.is_number() && theirs.get<double>() == number;
  }
  bool operator()(const std::string& text) const { return theirs.is_string() && theirs == text; }
  bool operator()(const nereus::spec::Array& array) const {
    if (!theirs.is_array() || theirs.size() != array.size()) return false;
    for (std::size_t i = 0; i < array.size(); ++i)
      if (!same(array[i], theirs[i])) return false;
    return true;
  }
  bool operator()(const nereus::spec::Table& table) const {
    if (!theirs.is_object() || theirs.size() != table.size()) return false;
    for (const auto& [key, value] : table)
      if (!theirs.contains(key) || !same(value, theirs[key])) return false;
    return true;
  }
};

bool same(const Value& ours, const Json& theirs) { return std::visit(Same{theirs}, ours.data); }

}  // namespace

NEREUS_FUZZER(json)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  return fuzz(data, size, [](std::string_view text) {
    // Theirs takes a zero byte as the end of the text.
    const Json theirs = text.find('\0') == text.npos ? Json::parse(text, nullptr, false)
                                                     : Json(Json::value_t::discarded);
    try {
      const Value ours = spec::parse_json(text, "fuzz.json");
      NEREUS_CHECK(!theirs.is_discarded(), "accepted what is no JSON");
      NEREUS_CHECK(same(ours, theirs), "read something else");
      check_round_trip(ours);
    } catch (const Errors& errors) {
      const std::string& message = errors.list().at(0).message;
      const bool our_own_limit = message.find("deeper than") != std::string::npos ||
                                 message.find("given twice") != std::string::npos;
      NEREUS_CHECK(theirs.is_discarded() || our_own_limit, "refused JSON: " + message);
      throw;
    }
  });
}
