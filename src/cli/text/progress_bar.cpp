#include "cli/text/progress_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "api/form/report.hpp"

namespace nereus::cli {

namespace {
constexpr auto kBarPeriod = std::chrono::milliseconds(100);
constexpr auto kLinePeriod = std::chrono::seconds(30);
constexpr int kBarWidth = 20;
}  // namespace

ProgressBar::ProgressBar(const api::Terminal& terminal)
    : ProgressBar(
          terminal, [](const std::string& text) { fmt::print(stderr, "{}", text); },
          [] { return Clock::now(); }) {}

ProgressBar::ProgressBar(const api::Terminal& terminal,
                         std::function<void(const std::string&)> write,
                         std::function<Clock::time_point()> now)
    : terminal_(terminal),
      write_(std::move(write)),
      now_(std::move(now)),
      begin_(now_()),
      last_(begin_) {}

app::ProgressSink ProgressBar::sink() {
  return [this](const app::Progress& progress) { show(progress); };
}

void ProgressBar::show(const app::Progress& progress) {
  const Clock::time_point now = now_();
  if (now - last_ < (terminal_.tty ? Clock::duration(kBarPeriod) : Clock::duration(kLinePeriod))) {
    return;
  }
  last_ = now;
  const std::string text =
      progress_text(progress, std::chrono::duration<double>(now - begin_).count());
  if (!terminal_.tty) {
    write_(text + "\n");
    return;
  }
  std::string line = text;
  if (progress.total > 0) {
    const std::string filled = bar(progress.done / progress.total, kBarWidth, terminal_);
    const int empty = std::max(0, kBarWidth - api::display_width(filled));
    line = fmt::format("[{}{:{}}] {}", filled, "", empty, text);
  }
  const int width = terminal_.width > 0 ? terminal_.width - 1 : 79;
  write_("\r" + truncated(line, width, terminal_) + "\033[K");
  on_screen_ = true;
}

void ProgressBar::finish() {
  if (on_screen_) write_("\r\033[K");
  on_screen_ = false;
}

std::string progress_text(const app::Progress& progress, double seconds) {
  std::string text = human(progress.done, Unit::kCount);
  if (progress.total > 0) {
    text += fmt::format(" of {} {} ({})", human(progress.total, Unit::kCount), progress.what,
                        human(progress.done / progress.total, Unit::kShare));
  } else {
    text += " " + progress.what;
  }
  if (seconds > 0 && progress.done > 0) {
    const double rate = progress.done / seconds;
    text += fmt::format(", {}/s", human(rate, Unit::kParameters));
    if (progress.total > progress.done) {
      text +=
          fmt::format(", {} left", human((progress.total - progress.done) / rate, Unit::kSeconds));
    }
  }
  if (!progress.best.empty()) text += ", best " + progress.best;
  return text;
}

}  // namespace nereus::cli
