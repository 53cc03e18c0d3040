#include "chart/heat_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "chart/axis.hpp"
#include "chart/canvas.hpp"
#include "chart/colours.hpp"
#include "chart/frame.hpp"
#include "chart/text.hpp"

namespace nereus::chart {

namespace {

constexpr double kLongestColumn = 170;
constexpr double kCellTurn = 40;  // degrees of column names that are wider than their column
constexpr std::size_t kMostTips = 2500;
constexpr std::size_t kMostReasons = 4;
constexpr double kCellText = 11;
constexpr double kWidest = 1000;  // picture; only where its columns have no room for their values

class Drawing {
 public:
  Drawing(const HeatMap& map, std::string_view id) : map_(map), canvas_(id) {
    std::vector<double> values;
    for (std::size_t r = 0; r < map.rows.size(); ++r)
      for (std::size_t c = 0; c < map.columns.size(); ++c) {
        const HeatCell& cell = cell_at(r, c);
        if (has_value(cell)) {
          values.push_back(cell.value);
          widest_ = std::max(widest_, text_width(human(cell.value, map.unit), kCellText));
        } else {
          note_reason(reason_of(cell));
        }
      }
    num_values_ = values.size();
    const Axis axis{.title = {}, .unit = map.unit, .log = map.log};
    scale_ = make_scale(axis, values, 0, kLegend, 5, Ends::kTight);
  }

  std::string draw() {
    if (map_.rows.empty() || map_.columns.empty())
      return empty_picture(canvas_.id(), map_.title, "There is nothing to show.");
    lay_out();
    canvas_.use_ramp();
    for (int level = 0; level < kNumLevels; ++level)
      canvas_.rule(fmt::format(".q{0}{{fill:var(--q{0})}}#{1} text.t{0}{{fill:var(--t{0})}}", level,
                               canvas_.id()));
    canvas_.rule(".best{fill:none;stroke:var(--accent);stroke-width:2.5}");
    canvas_.rule(".inner{fill:none;stroke:var(--paper);stroke-width:1.2}");
    canvas_.rule(".none{fill:var(--paper);stroke:var(--grid)}");
    canvas_.heading(kMargin, 12, map_.title, width_ - 2 * kMargin);
    names();
    if (map_.rows.size() * map_.columns.size() <= kMostTips)
      cells();
    else
      colours();
    best();
    const double bottom = legend(top_ + row_ * static_cast<double>(map_.rows.size()) + 16);
    return canvas_.finish(width_, bottom + 10, map_.title);
  }

 private:
  static constexpr double kLegend = 260;  // width of the colour scale

  const HeatCell& cell_at(std::size_t r, std::size_t c) const {
    static const HeatCell kNone;
    return r < map_.cells.size() && c < map_.cells[r].size() ? map_.cells[r][c] : kNone;
  }
  bool has_value(const HeatCell& cell) const { return has_place(cell.value, map_.log); }
  static std::string reason_of(const HeatCell& cell) {
    return cell.reason.empty() ? "no value" : cell.reason;
  }
  void note_reason(const std::string& reason) {
    if (std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end())
      reasons_.push_back(reason);
  }
  int hatch_of(const HeatCell& cell) const {
    const auto at = std::find(reasons_.begin(), reasons_.end(), reason_of(cell)) - reasons_.begin();
    return std::min(static_cast<int>(at), static_cast<int>(kMostReasons) - 1);
  }
  int level_of(double value) const {
    const double share = scale_.share(value);
    const double good = map_.lower_is_better ? 1 - share : share;
    return std::clamp(static_cast<int>(good * kNumLevels), 0, kNumLevels - 1);
  }
  double x_of(std::size_t c) const { return left_ + column_ * static_cast<double>(c); }
  double y_of(std::size_t r) const { return top_ + row_ * static_cast<double>(r); }

  void lay_out() {
    longest_row_ = map_.columns.size() > 12 ? 180 : 260;
    double names = 0;
    for (const std::string& name : map_.rows)
      names = std::max(names, text_width(shortened(name, longest_row_, 12), 12));
    left_ = kMargin + names + 10;
    double heads = 0;
    for (const std::string& name : map_.columns)
      heads = std::max(heads, text_width(shortened(name, kLongestColumn, 12), 12));
    const auto columns = static_cast<double>(map_.columns.size());
    const double natural = std::clamp(std::max(widest_ + 14, heads + 10), 46.0, 110.0);
    column_ = std::clamp((kPictureWidth - kMargin - left_) / columns, 9.0, natural);
    if (column_ < widest_ + 5 && left_ + columns * (widest_ + 5) + kMargin <= kWidest)
      column_ = widest_ + 5;
    row_ = map_.rows.size() <= 24 ? 28 : map_.rows.size() <= 60 ? 20 : 9;
    turned_ = heads + 6 > column_;
    const double angle = kCellTurn * M_PI / 180;
    const double above = turned_ ? heads * std::sin(angle) + 16 : 18;
    const double beyond = turned_ ? heads * std::cos(angle) - column_ / 2 + 8 : 0;
    width_ = std::max({x_of(map_.columns.size()) + std::max(beyond, kMargin), 520.0});
    const auto lines =
        static_cast<double>(wrapped(map_.title, width_ - 2 * kMargin, 15, true).size());
    head_ = 12 + 20 * lines + 6;
    top_ = head_ + (map_.column_title.empty() && map_.row_title.empty() ? 0 : 20) + above;
  }

  void names() {
    if (!map_.column_title.empty() || !map_.row_title.empty()) {
      std::string title = map_.row_title;
      if (!map_.column_title.empty())
        title += (title.empty() ? "columns: " : "; columns: ") + map_.column_title;
      if (!map_.row_title.empty()) title = "rows: " + title;
      canvas_.text(kMargin, head_ + 10, shortened(title, width_ - 2 * kMargin, 12),
                   {.css_class = "muted"});
    }
    const auto every_row = static_cast<std::size_t>(std::ceil(14 / row_));
    for (std::size_t r = 0; r < map_.rows.size(); r += every_row) {
      const std::string name = shortened(map_.rows[r], longest_row_, 12);
      canvas_.text(left_ - 8, y_of(r) + row_ / 2 + 4, name,
                   {.anchor = "end", .tip = name == map_.rows[r] ? "" : map_.rows[r]});
    }
    const auto every = static_cast<std::size_t>(turned_ ? std::ceil(22 / column_) : 1);
    for (std::size_t c = 0; c < map_.columns.size(); c += every) {
      const std::string name = shortened(map_.columns[c], kLongestColumn, 12);
      const std::string tip = name == map_.columns[c] ? "" : map_.columns[c];
      if (turned_)
        canvas_.text(x_of(c) + column_ / 2 + 3, top_ - 8, name, {.turn = -kCellTurn, .tip = tip});
      else
        canvas_.text(x_of(c) + column_ / 2, top_ - 8, name, {.anchor = "middle", .tip = tip});
    }
  }

  void cells() {
    for (std::size_t r = 0; r < map_.rows.size(); ++r)
      for (std::size_t c = 0; c < map_.columns.size(); ++c) {
        const HeatCell& cell = cell_at(r, c);
        const bool known = has_value(cell);
        const std::string text = known ? human(cell.value, map_.unit) : reason_of(cell);
        std::string tip = fmt::format("{}, {}: {}", map_.rows[r], map_.columns[c], text);
        if (!cell.note.empty()) tip += ", " + cell.note;
        const int level = known ? level_of(cell.value) : 0;
        if (!known) canvas_.use_hatch(hatch_of(cell));
        if (!known) rectangle("none", r, c, "");
        rectangle(known ? fmt::format("q{}", level) : fmt::format("hatch{}", hatch_of(cell)), r, c,
                  tip);
        if (known && row_ >= 20 && text_width(text, kCellText) + 4 <= column_)
          canvas_.text(x_of(c) + column_ / 2, y_of(r) + row_ / 2 + 4, text,
                       {.size = kCellText,
                        .anchor = "middle",
                        .css_class = fmt::format("t{}", level),
                        .tip = tip});
      }
  }

  void rectangle(std::string_view css_class, std::size_t r, std::size_t c, std::string_view tip) {
    canvas_.add("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", css_class,
                px(x_of(c) + 0.5), px(y_of(r) + 0.5), px(column_ - 1), px(row_ - 1));
    if (tip.empty())
      canvas_.add("/>");
    else
      canvas_.add("><title>{}</title></rect>\n", escaped(tip));
  }

  // One path a colour.
  void colours() {
    std::array<std::string, kNumLevels + kMostReasons> paths;
    for (std::size_t r = 0; r < map_.rows.size(); ++r)
      for (std::size_t c = 0; c < map_.columns.size(); ++c) {
        const HeatCell& cell = cell_at(r, c);
        const int kind = has_value(cell) ? level_of(cell.value) : kNumLevels + hatch_of(cell);
        paths[kind] += fmt::format("M{} {}h{}v{}h-{}z", px(x_of(c)), px(y_of(r)), px(column_),
                                   px(row_), px(column_));
      }
    for (int kind = 0; kind < static_cast<int>(paths.size()); ++kind) {
      const std::string& path = paths[kind];
      if (path.empty()) continue;
      if (kind >= kNumLevels) canvas_.use_hatch(kind - kNumLevels);
      canvas_.add("<path class=\"{}{}\" d=\"{}\"/>\n", kind < kNumLevels ? "q" : "hatch",
                  kind < kNumLevels ? kind : kind - kNumLevels, path);
    }
  }

  // Marks the cells that are as good as the best of their column; several if they are equal.
  void best() {
    for (std::size_t c = 0; c < map_.columns.size(); ++c) {
      double best = std::numeric_limits<double>::quiet_NaN();
      for (std::size_t r = 0; r < map_.rows.size(); ++r) {
        const HeatCell& cell = cell_at(r, c);
        if (!has_value(cell)) continue;
        const bool better = map_.lower_is_better ? cell.value < best : cell.value > best;
        if (std::isnan(best) || better) best = cell.value;
      }
      for (std::size_t r = 0; r < map_.rows.size(); ++r)
        if (const HeatCell& cell = cell_at(r, c); has_value(cell) && cell.value == best) {
          outline("best", r, c, 1.5);
          outline("inner", r, c, 3.5);  // parts the outline from a colour like its own
        }
    }
  }

  void outline(std::string_view css_class, std::size_t r, std::size_t c, double inset) {
    canvas_.add("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", css_class,
                px(x_of(c) + inset), px(y_of(r) + inset), px(std::max(1.0, column_ - 2 * inset)),
                px(std::max(1.0, row_ - 2 * inset)));
  }

  double legend(double y) {
    if (num_values_ > 0) y = colour_scale(y);
    std::vector<LegendEntry> entries;
    if (num_values_ > 0) entries.push_back({"best of its column", LegendMark::kOutline, "best"});
    for (std::size_t i = 0; i < std::min(reasons_.size(), kMostReasons); ++i) {
      const bool rest = i + 1 == kMostReasons && reasons_.size() > kMostReasons;
      canvas_.use_hatch(static_cast<int>(i));
      entries.push_back({rest ? "other reasons" : reasons_[i], LegendMark::kHatchedBox,
                         fmt::format("hatch{}", i), "none"});
    }
    return draw_legend(canvas_, kMargin, y, width_ - 2 * kMargin, entries);
  }

  double colour_scale(double y) {
    const std::string which = map_.lower_is_better ? "lower is better" : "higher is better";
    canvas_.text(kMargin, y + 11,
                 shortened(map_.value_title.empty() ? which : map_.value_title + " (" + which + ")",
                           width_ - 2 * kMargin, 12),
                 {.css_class = "muted"});
    y += 18;
    const double step = kLegend / kNumLevels;
    for (int i = 0; i < kNumLevels; ++i)
      canvas_.add("<rect class=\"q{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\"/>",
                  map_.lower_is_better ? kNumLevels - 1 - i : i, px(kMargin + step * i), px(y),
                  px(step + (i + 1 < kNumLevels ? 0.5 : 0)));
    canvas_.add("\n");
    double free_from = 0;
    for (const Tick& tick : scale_.ticks) {
      const double half = text_width(tick.label, 11) / 2;
      const double x = std::max(kMargin + scale_.at(tick.value), 2 + half);
      if (x - half < free_from) continue;
      free_from = x + half + 8;
      canvas_.line("axis", kMargin + scale_.at(tick.value), y + 12, kMargin + scale_.at(tick.value),
                   y + 16);
      canvas_.text(x, y + 27, tick.label, {.size = 11, .anchor = "middle"});
    }
    return y + 38;
  }

  const HeatMap& map_;
  Canvas canvas_;
  AxisScale scale_;
  std::vector<std::string> reasons_;  // in the order in which they come
  std::size_t num_values_ = 0;
  double widest_ = 0;  // text of a value
  double left_ = 0, top_ = 0, head_ = 0, width_ = 0;
  double column_ = 0, row_ = 0;
  double longest_row_ = 0;  // name of a row
  bool turned_ = false;     // column names
};

}  // namespace

std::string svg_of(const HeatMap& map, std::string_view id) { return Drawing(map, id).draw(); }

}  // namespace nereus::chart
