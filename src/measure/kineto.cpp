#include "measure/kineto.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "timeline/trace_walk.hpp"

namespace nereus::measure {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostRanks = 1 << 24;

enum class Kind { kNone, kStep, kLoading, kCollective, kCopy, kKernel, kOperation };

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  for (const std::string_view prefix : prefixes)
    if (text.starts_with(prefix)) return true;
  return false;
}

// The known fields of an event while the parser runs.
class Handler : public nlohmann::json_sax<Json> {
 public:
  explicit Handler(Trace& out) : out_(out) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override {
    const std::string& key = walk_.key();
    if (walk_.at_field()) {
      if (key == "ph") phase_ = value;
      if (key == "cat") category_ = value;
      if (key == "name") name_ = value;
      if (key == "pid") process_ = value;
    } else if (at_ranks() && key == "backend") {
      out_.backend = value;
    }
    return true;
  }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    in_ranks_ |= walk_.at_top("distributedInfo");
    if (walk_.open_object()) {
      start_ = duration_ = NAN;
      for (std::string* text : {&phase_, &category_, &name_, &process_}) text->clear();
    }
    return true;
  }
  bool end_object() override {
    if (walk_.close_object()) finish_event();
    if (walk_.level() == 1) in_ranks_ = false;
    return true;
  }
  bool start_array(std::size_t) override {
    walk_.open_array();
    return true;
  }
  bool end_array() override {
    walk_.close_array();
    return true;
  }
  bool key(string_t& key) override {
    walk_.set_key(key);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    broken_at_ = position;
    return false;
  }

  bool has_events() const { return walk_.has_events(); }
  std::size_t broken_at() const { return broken_at_; }

 private:
  bool at_ranks() const { return in_ranks_ && walk_.level() == 2; }

  bool number(double value) {
    const std::string& key = walk_.key();
    if (walk_.at_field()) {
      if (key == "ts") start_ = value;
      if (key == "dur") duration_ = value;
    } else if (at_ranks() && value >= 0 && value < static_cast<double>(kMostRanks)) {
      if (key == "rank") out_.rank = static_cast<int>(value);
      if (key == "world_size") out_.num_ranks = static_cast<int>(value);
    }
    return true;
  }

  // Before PyTorch 1.12, names of categories had capitals; without Kineto there are no categories,
  // and processes have names.
  Kind kind_of() const {
    if (category_ == "gpu_user_annotation") return Kind::kNone;
    if (name_.starts_with("ProfilerStep#")) return Kind::kStep;
    if (name_.starts_with("enumerate(DataLoader)#")) return Kind::kLoading;
    if (category_ == "kernel" || category_ == "Kernel" || category_ == "gpu_memset" ||
        category_ == "Memset" || process_ == "CUDA functions")
      return starts_with_any(name_, {"nccl", "rccl"}) ? Kind::kCollective : Kind::kKernel;
    if (category_ == "gpu_memcpy" || category_ == "Memcpy")
      return name_.find("HtoD") != std::string::npos ? Kind::kCopy : Kind::kKernel;
    if (starts_with_any(name_, {"gloo:", "mpi:", "ucc:"})) return Kind::kCollective;
    const bool may_be = category_ == "cpu_op" || category_ == "Operator" ||
                        (category_.empty() && process_ == "CPU functions");
    if (!may_be || starts_with_any(name_, {"c10d::", "nccl:", "record_param_comms", "Optimizer.",
                                           "DistributedDataParallel."}))
      return Kind::kNone;
    return Kind::kOperation;
  }

  void finish_event() {
    const Kind kind = phase_ == "X" ? kind_of() : Kind::kNone;
    if (kind == Kind::kNone) return;
    const std::int64_t begin = timeline::nanoseconds(start_);
    const std::int64_t length = timeline::nanoseconds(duration_);
    if (begin == timeline::kNoTime || length == timeline::kNoTime || duration_ < 0) return;
    const Span span{begin, begin + length};
    switch (kind) {
      case Kind::kStep: {
        std::int64_t step = 0;
        const char* end = name_.data() + name_.size();
        const auto [stop, status] = std::from_chars(name_.data() + name_.find('#') + 1, end, step);
        if (status == std::errc{} && stop == end) out_.steps.emplace(step, span);
        return;
      }
      case Kind::kLoading:
        return out_.loading.push_back(span);
      case Kind::kCollective:
        out_.on_gpu |= starts_with_any(name_, {"nccl", "rccl"});
        return out_.collectives.push_back(span);
      case Kind::kCopy:
        out_.on_gpu = true;
        return out_.copies.push_back(span);
      case Kind::kKernel:
        out_.on_gpu = true;
        return kernels.push_back(span);
      case Kind::kOperation:
        return out_.work.push_back(span);
      case Kind::kNone:
        return;
    }
  }

 public:
  std::vector<Span> kernels;  // used instead of operations if there is one

 private:
  Trace& out_;
  timeline::TraceWalk walk_;
  std::string phase_, category_, name_, process_;
  double start_ = 0, duration_ = 0;
  bool in_ranks_ = false;
  std::size_t broken_at_ = 0;
};

}  // namespace

Trace read_kineto(std::istream& in, const std::string& file) {
  Trace trace;
  trace.file = file;
  Handler handler(trace);
  if (!Json::sax_parse(in, &handler)) {
    // If the end of the text was reached, it is truncated; otherwise it is broken at this place.
    in.clear();
    const bool at_end = in.peek() == std::istream::traits_type::eof();
    if (at_end && handler.broken_at() > 1)
      throw_input_error(
          "measure.trace-truncated",
          fmt::format("the trace ends early, after {} bytes of JSON", handler.broken_at() - 1),
          {file}, "the whole file; a job that is killed leaves half of it");
    throw_input_error("measure.trace-broken",
                      fmt::format("not JSON at byte {}", handler.broken_at()), {file},
                      "a file as torch.profiler's export_chrome_trace writes it");
  }
  if (!handler.has_events())
    throw_input_error("measure.no-trace", timeline::kNoEvents, {file},
                      "a file as torch.profiler's export_chrome_trace writes it");
  if (trace.on_gpu) trace.work = std::move(handler.kernels);
  return trace;
}

}  // namespace nereus::measure
