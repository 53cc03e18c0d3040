// Shows app::Progress on stderr: a bar on a terminal (share, rate, time left, best so far),
// otherwise a line every 30 s.
//
//   ProgressBar bar(session.err);
//   app::calibrate(request, bar.sink());
//   bar.finish();                              // also done by the destructor
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "api/text/terminal.hpp"
#include "app/progress.hpp"

namespace nereus::cli {

class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ProgressBar(const api::Terminal& terminal);
  // For tests: custom output and clock.
  ProgressBar(const api::Terminal& terminal, std::function<void(const std::string&)> write,
              std::function<Clock::time_point()> now);
  ~ProgressBar() { finish(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  app::ProgressSink sink();
  void show(const app::Progress& progress);
  void finish();  // removes the bar from the screen

 private:
  api::Terminal terminal_;
  std::function<void(const std::string&)> write_;
  std::function<Clock::time_point()> now_;
  Clock::time_point begin_;
  Clock::time_point last_;
  bool on_screen_ = false;
};

// "1,234 of 10,000 rows (12.3 %), 410/s, 21 s left, best 1.23 s"
std::string progress_text(const app::Progress& progress, double seconds);

}  // namespace nereus::cli
