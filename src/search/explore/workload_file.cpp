#include <fmt/format.h>

#include <cmath>

#include "model/read/load_model.hpp"
#include "plan/complete.hpp"
#include "search/explore/study_sections.hpp"

namespace nereus::explore {

using spec::Reader;
using spec::Value;

namespace {

constexpr std::size_t kMostVariants = 1'000;

// One axis of a workload: its name and the texts of its values.
struct ShapeAxis {
  std::string name;
  std::vector<std::string> texts;
};

std::string text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  return spec::to_json(value);
}

// A list of values; strings with ".." are ranges of whole numbers.
ShapeAxis shape_axis(const std::string& name, const Value& value, ErrorList& errors) {
  ShapeAxis axis{name, {}};
  const auto add = [&](const Value& own) {
    const auto* text = std::get_if<std::string>(&own.data);
    if (text != nullptr && text->find("..") != std::string::npos) {
      for (const int number : read_whole_values(own, name, 0, errors))
        axis.texts.push_back(std::to_string(number));
    } else {
      axis.texts.push_back(text_of(own));
    }
  };
  if (const auto* list = std::get_if<spec::Array>(&value.data)) {
    for (const Value& own : *list) add(own);
    if (list->empty())
      errors.add("explore.empty-axis", fmt::format("{} has no values", name), value.where(),
                 "at least one, or leave it out");
  } else {
    add(value);
  }
  return axis;
}

struct Job {
  double samples = 0;
  double tokens = 0;
  double steps = 0;
  double flops = 0;
};

Job read_job(Reader& table) {
  Job job;
  int given = 0;
  for (const char* key : {"samples", "tokens", "steps"}) given += table.has(key) ? 1 : 0;
  given += table.has("flops") ? 1 : 0;
  if (given > 1)
    table.fail(
        "tokens", "explore.job-twice",
        "the job is stated more than once: samples, tokens, steps and flops are alternatives",
        "one of them");
  job.samples = table.optional_double("samples", 0, 0);
  job.tokens = table.optional_double("tokens", 0, 0);
  job.steps = table.optional_double("steps", 0, 0);
  job.flops = table.optional<Flops>("flops", Flops{}, spec::Zero::kAllowed).value;
  return job;
}

double samples_of(const Job& job, const Variant& variant) {
  if (job.samples > 0) return job.samples;
  if (job.steps > 0) return job.steps * variant.global_batch;
  if (job.tokens > 0) return job.tokens / variant.units_per_sample();
  // A fixed compute budget: larger models see fewer samples.
  if (job.flops > 0) return job.flops / variant.model.training_flops();
  return 0;
}

void load_model_of(Variant& variant, const std::string& model, const model::Overrides& overrides,
                   bool alone, Reader& table, ErrorList& errors) {
  try {
    variant.model = model::load_model(model, overrides);
  } catch (const Errors& wrong) {
    // One of many shapes may be impossible (heads that do not divide); a study with only that shape
    // is an error.
    if (alone) {
      for (Error error : wrong.list()) {
        if (error.where.file.empty()) error.where = table.where("model");
        errors.add(error);
      }
    }
    variant.unbuildable = wrong.list().front().message;
  }
}

}  // namespace

void read_workload(Reader& table, int index, const cluster::Cluster& machine, Study& study,
                   ErrorList& errors) {
  const std::string model = table.required_string("model");
  std::vector<ShapeAxis> axes;
  for (const char* key : {"global_batch", "seq", "precision"})
    if (const Value* value = table.raw(key)) axes.push_back(shape_axis(key, *value, errors));
  if (const Value* value = table.raw("shape")) {
    if (const auto* shape = std::get_if<spec::Table>(&value->data)) {
      for (const spec::Member& own : *shape)
        axes.push_back(shape_axis(own.first, own.second, errors));
    } else {
      table.fail("shape", "spec.type", "shape is a table of fields of the model",
                 "shape = { layers = [96, 128] }");
    }
  }
  const Job job = read_job(table);
  const std::string name = table.optional_string("name", model);
  table.finish();
  if (model.empty()) return;

  std::size_t count = 1;
  for (const ShapeAxis& axis : axes) count *= std::max<std::size_t>(1, axis.texts.size());
  if (count > kMostVariants) {
    errors.add("explore.many-models",
               fmt::format("workload {} has {} shapes; at most {} are looked at", name, count,
                           kMostVariants),
               table.where("shape"), "fewer values");
    return;
  }
  const auto problems = errors.list().size();
  for (std::size_t number = 0; number < count; ++number) {
    Variant variant;
    variant.workload = index;
    variant.name = name;
    std::size_t rest = number;
    model::Overrides overrides;
    std::optional<int> batch;
    std::optional<cluster::Precision> precision;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const ShapeAxis& axis = axes[i];
      if (axis.texts.empty()) continue;
      const std::string& text = axis.texts[rest % axis.texts.size()];
      rest /= axis.texts.size();
      if (axis.texts.size() > 1) {
        variant.settings.insert(variant.settings.begin(), {axis.name, text});
      }
      if (axis.name == "global_batch") {
        char* end = nullptr;
        const double own = std::strtod(text.c_str(), &end);
        if (*end != 0 || !(own >= 1 && own <= 1e9) || own != std::floor(own))
          table.fail("global_batch", "explore.bad-value",
                     fmt::format("global_batch = {} is no number of samples", text), "1024");
        else
          batch = static_cast<int>(own);
      } else if (axis.name == "precision") {
        precision = cluster::parse_precision(text);
        if (!precision)
          table.fail("precision", "explore.bad-value", fmt::format("'{}' is no precision", text),
                     "bf16");
      } else {
        overrides.emplace_back(axis.name, text);
      }
    }
    if (errors.list().size() != problems) return;
    for (const auto& [key, text] : variant.settings)
      variant.name += fmt::format(", {} {}", key, text);
    load_model_of(variant, model, overrides, count == 1, table, errors);
    if (errors.list().size() != problems) return;
    if (variant.unbuildable.empty()) {
      plan::DegreesRequest wanted;
      wanted.precision = precision;
      variant.precision = plan::complete_degrees(wanted, variant.model, machine).degrees.precision;
      variant.global_batch = batch ? *batch : plan::default_global_batch(variant.model, machine);
      variant.samples = samples_of(job, variant);
    }
    study.variants.push_back(std::move(variant));
  }
  bool any = false;
  std::string why;
  for (const Variant& variant : study.variants)
    if (variant.workload == index) {
      if (variant.unbuildable.empty())
        any = true;
      else
        why = variant.unbuildable;
    }
  if (!any)
    table.fail("shape", "explore.no-model",
               fmt::format("no shape of {} can be built: {}", name, why),
               "change its fields together: heads must divide hidden, for example");
}

}  // namespace nereus::explore
