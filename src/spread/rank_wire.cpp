#include "spread/rank_wire.hpp"

#include <cstring>
#include <stdexcept>

#include "base/error.hpp"

namespace nereus::spread {

Writer& Writer::number(std::int64_t value) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  bytes_.append(bytes, sizeof(value));
  return *this;
}

Writer& Writer::text(std::string_view value) {
  number(static_cast<std::int64_t>(value.size()));
  bytes_.append(value);
  return *this;
}

Reader::Reader(std::string_view bytes) : rest_(bytes), kind_(static_cast<Kind>(number())) {}

std::int64_t Reader::number() {
  std::int64_t value = 0;
  if (rest_.size() < sizeof(value)) throw std::runtime_error("a message between ranks was cut");
  std::memcpy(&value, rest_.data(), sizeof(value));
  rest_.remove_prefix(sizeof(value));
  return value;
}

std::string_view Reader::text() {
  const std::int64_t size = number();
  if (size < 0 || static_cast<std::uint64_t>(size) > rest_.size()) {
    throw std::runtime_error("a message between ranks was cut");
  }
  const std::string_view value = rest_.substr(0, static_cast<std::size_t>(size));
  rest_.remove_prefix(value.size());
  return value;
}

std::string failure_to_bytes(const std::exception_ptr& failure, const std::string& place) {
  Writer writer(Kind::kResults);
  try {
    std::rethrow_exception(failure);
  } catch (const Errors& errors) {
    writer.number(static_cast<std::int64_t>(errors.list().size()));
    for (const Error& error : errors.list()) {
      writer.text(error.code).text(error.message).text(error.hint);
      writer.text(error.where.file).number(error.where.line).number(error.where.column);
      writer.text(error.where.line_text).number(error.where.text_column);
      writer.number(error.kind == ErrorKind::kEnvironment ? 1 : 0);
    }
  } catch (const std::exception& error) {
    writer.number(0).text(place + ": " + error.what());
  } catch (...) {
    writer.number(0).text(place + ": an unknown exception");
  }
  return writer.take();
}

std::exception_ptr failure_from_bytes(std::string_view bytes) {
  Reader reader(bytes);
  const std::int64_t num_errors = reader.number();
  if (num_errors == 0) {
    return std::make_exception_ptr(std::runtime_error(std::string(reader.text())));
  }
  std::vector<Error> list;
  for (std::int64_t i = 0; i < num_errors; ++i) {
    Error error;
    error.code = reader.text();
    error.message = reader.text();
    error.hint = reader.text();
    error.where.file = reader.text();
    error.where.line = static_cast<int>(reader.number());
    error.where.column = static_cast<int>(reader.number());
    error.where.line_text = reader.text();
    error.where.text_column = static_cast<int>(reader.number());
    error.kind = reader.number() == 1 ? ErrorKind::kEnvironment : ErrorKind::kInput;
    list.push_back(std::move(error));
  }
  return std::make_exception_ptr(Errors(std::move(list)));
}

}  // namespace nereus::spread
