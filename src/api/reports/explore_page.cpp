#include "api/reports/explore_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/form/report.hpp"
#include "api/reports/explore_pictures.hpp"
#include "api/reports/explore_report.hpp"
#include "api/reports/page_table.hpp"
#include "base/build_info.hpp"
#include "base/format.hpp"
#include "chart/page.hpp"

namespace nereus::api {

namespace {

using app::ExploreAnswer;
using app::PointDetail;

std::string percent(double gain) { return fmt::format("{:.1f} %", 100 * gain); }

// "10 % more network bandwidth buys 3.1 %."
std::vector<std::string> sensitivity_sentences(const ExploreAnswer& answer) {
  std::vector<std::string> out;
  for (const explore::Sensitivity& own : answer.sensitivities) {
    const double gain = own.best_plan > 0 ? own.step / own.best_plan - 1 : 0;
    if (gain > 5e-4)
      out.push_back(fmt::format("10 % more {} gains {}.", info(own.axis).title, percent(gain)));
    if (own.axis == explore::Axis::kMemory && own.surplus > 0)
      out.push_back(fmt::format("The last {} of each device's memory gain nothing.",
                                format_bytes(Bytes{own.surplus})));
  }
  if (out.empty()) out.emplace_back("10 % more of any single resource gains nothing here.");
  return {fmt::format("{}", fmt::join(out, " "))};
}

std::string lead(const ExploreAnswer& answer) {
  const explore::Answers& all = answer.answers;
  std::string text = fmt::format(
      "The study has {} with {} in total. Of these, {} and the others were pruned by a bound that "
      "never prunes the best.",
      counted(format_count(all.points), "pair of cluster and model", "pairs of cluster and model"),
      counted(format_count(all.strategies), "candidate plan"),
      counted(format_count(all.evaluated), "was predicted", "were predicted"));
  if (answer.best.empty()) return text + " Nothing fits.";
  const PointDetail& best = answer.best.front();
  return text + fmt::format(" The best is {} with {} per step; it waits most for {}.", best.name,
                            format_seconds(Seconds{best.answer.found.step}),
                            to_string(best.answer.found.binding));
}

const Table* find(const Report& report, std::string_view name) {
  for (const Table& table : report.tables)
    if (table.name == name) return &table;
  return nullptr;
}

}  // namespace

std::string explore_page(const ExploreAnswer& answer) {
  const Report report = explore_report(answer);
  chart::Page page{.title = answer.study.name, .lead = lead(answer)};
  const auto tables = [&](chart::PageSection& section, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (const Table* table = find(report, name)) {
        section.tables.push_back(page_table(*table));
        // The notes about sensitivities are written as sentences.
        if (std::string_view(name) != "sensitivity")
          for (const std::string& note : table->notes) section.paragraphs.push_back(note);
      }
  };
  const std::vector<StudyPicture> all = explore_pictures(answer);
  const auto pictures = [&](chart::PageSection& section, StudyPicture::Kind kind) {
    for (const StudyPicture& own : all)
      if (own.kind == kind) section.pictures.push_back({own.svg, own.caption});
  };
  if (!answer.best.empty()) {
    chart::PageSection best{.title = answer.study.goals.size() > 1 ? "Pareto front" : "Best"};
    pictures(best, StudyPicture::Kind::kFront);
    tables(best, {"pareto", "best"});
    page.sections.push_back(std::move(best));

    chart::PageSection time{.title = "Where the time of a step goes"};
    pictures(time, StudyPicture::Kind::kTime);
    tables(time, {"machines"});
    page.sections.push_back(std::move(time));

    chart::PageSection axes{.title = "Along each axis"};
    pictures(axes, StudyPicture::Kind::kAxis);
    if (!axes.pictures.empty()) page.sections.push_back(std::move(axes));

    chart::PageSection more{.title = "Gain from more of each resource"};
    more.paragraphs = sensitivity_sentences(answer);
    tables(more, {"sensitivity", "break_even"});
    page.sections.push_back(std::move(more));
  }
  chart::PageSection how{.title = "Method"};
  how.paragraphs = {
      "Every plan is predicted in closed form by a cost model that was fitted to measured runs. "
      "The devices of this study have the efficiencies of the device they were derived from. "
      "Prices and power come from the study and the catalogue."};
  for (std::string& note : study_notes(answer.study)) how.paragraphs.push_back(std::move(note));
  page.sections.push_back(std::move(how));
  page.footer.command = fmt::format("nereus explore {}", answer.study.source);
  page.footer.version = fmt::format("Nereus {} ({})", build_info().version, build_info().commit);
  page.footer.inputs = {answer.study.text};
  return html_of(page);
}

}  // namespace nereus::api
