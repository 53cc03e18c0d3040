#include "search/explore/row.hpp"

#include <cstring>
#include <type_traits>

#include "base/error.hpp"
#include "plan/degree_fields.hpp"

namespace nereus::explore {

namespace {

// Visits every field of a result, so that writing and reading cannot differ.
template <class Visit, class D>
void visit_degrees(D& d, Visit&& visit) {
  plan::for_each_degree([&](const auto& field) {
    auto& value = d.*field.degree;
    // Field by field: the bytes between the fields of a struct are undefined, and would be stored.
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, plan::Offload>)
      visit(value.weights), visit(value.optimizer), visit(value.activations), visit(value.tier);
    else
      visit(value);
  });
}

template <class Visit, class F>
void visit_found(F& found, Visit&& visit) {
  visit_degrees(found.degrees, visit);
  visit(found.step), visit(found.busy), visit(found.memory), visit(found.mfu);
  visit(found.intensity), visit(found.memory_bound), visit(found.binding), visit(found.values);
}

template <class Visit, class R>
void visit_head(R& result, Visit&& visit) {
  visit(result.status), visit(result.strategies), visit(result.evaluated), visit(result.beyond);
}

class Writer {
 public:
  template <class T>
  void operator()(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::string out;
};

class Source {
 public:
  explicit Source(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  void operator()(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    NEREUS_CHECK(bytes_.size() >= sizeof value, "results end in the middle");
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string encode(const std::vector<PointResult>& results) {
  Writer write;
  for (const PointResult& result : results) {
    visit_head(result, write);
    write(result.found.size());
    for (const Found& found : result.found) visit_found(found, write);
  }
  return std::move(write.out);
}

std::string encode(const plan::Degrees& degrees) {
  Writer write;
  visit_degrees(degrees, write);
  return std::move(write.out);
}

plan::Degrees decode_degrees(std::string_view bytes) {
  plan::Degrees degrees;
  Source read(bytes);
  visit_degrees(degrees, read);
  NEREUS_CHECK(read.empty(), "a plan is followed by something else");
  return degrees;
}

std::vector<PointResult> decode(std::string_view bytes) {
  std::vector<PointResult> results;
  Source read(bytes);
  while (!read.empty()) {
    PointResult& result = results.emplace_back();
    visit_head(result, read);
    std::size_t count = 0;
    read(count);
    result.found.resize(count);
    for (Found& found : result.found) visit_found(found, read);
  }
  return results;
}

}  // namespace nereus::explore
