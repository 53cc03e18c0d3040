// `nereus explore`: runs a study from its file to its answers.
//
//   ExploreAnswer a = explore({.study = "study.toml"}, *spread::alone());
//   a.answers.best[0]->found.step;
//
// Every rank calls explore(); only rank 0 keeps the database and gets a non-empty answer. Points
// are computed in pieces of a fixed size and stored in order, so that an interrupted study can
// continue and ends with the same bytes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/progress.hpp"
#include "search/explore/answers.hpp"
#include "search/explore/sensitivity.hpp"
#include "search/explore/study_file.hpp"
#include "search/explore/study_slice.hpp"
#include "spread/ranks.hpp"
#include "stack/error_table.hpp"

namespace nereus::app {

struct ExploreRequest {
  std::string study;
  explore::StudyOverrides overrides;
  std::string database;  // empty: next to the study, with the ending .sqlite
  bool in_memory = false;
  bool restart = false;
  bool yes = false;  // run it however long it takes
  int threads = 0;
  bool slices = false;  // also compute slices, for pictures
  std::function<bool()> stop;
};

// All details of a point that tables and pictures show.
struct PointDetail {
  explore::Answer answer;
  std::string name;
  cluster::Cluster cluster;
  cost::Prediction prediction;
  cost::Roofline roofline;
  explore::ResourceSeconds seconds{};
  explore::Running running;
  std::optional<cost::ErrorBand> error;  // of its step; none if nothing is known

  double value(explore::Goal goal) const {
    return answer.found.values[static_cast<std::size_t>(goal)];
  }
};

// The size of a study, estimated from a few of its points.
struct StudySize {
  std::int64_t clusters = 0;    // clusters x variants
  double strategies = 0;        // over all of them
  double seconds = 0;           // on all threads of this machine
  std::int64_t per_piece = 1;   // clusters per piece
  std::int64_t per_commit = 1;  // pieces per commit
};

struct ExploreAnswer {
  explore::Study study;
  explore::Answers answers;
  std::string database;      // empty: in memory
  std::int64_t resumed = 0;  // points that were in the database already
  bool complete = true;
  double seconds = 0;
  std::string why;                    // if nothing was found: the nearest miss, with its numbers
  std::vector<PointDetail> best;      // by goal of the study
  std::vector<PointDetail> front;     // at most kShown
  std::vector<PointDetail> machines;  // machines with an answer
  std::vector<PointDetail> along;     // best per value of the first axis with several values
  std::vector<explore::Sensitivity> sensitivities;  // at the best point
  std::vector<explore::BreakEven> break_evens;
  std::vector<explore::Slice> slices;
  std::vector<std::string> lost_ranks;
  std::optional<explore::Database> results;  // on rank 0
};
inline constexpr std::size_t kShown = 200;

StudySize study_size(const explore::Study& study, int threads);

ExploreAnswer explore(const ExploreRequest& request, spread::Ranks& ranks,
                      const ProgressSink& progress = {});

PointDetail detail(const explore::Study& study, const explore::Answer& answer);

}  // namespace nereus::app
