// `nereus export`: the files that run a plan on another engine.
//
//   ExportAnswer a = export_plan({.plan_file = "best.plan", .engine = Engine::kMegatron});
//   a.files[0].text;       // launch.sh
//
// With a directory the files are written there: a new directory appears whole or not at all; in one
// that exists each file is replaced whole.
#pragma once

#include <string>

#include "export/bundle.hpp"
#include "stack/stack.hpp"

namespace nereus::app {

inline constexpr const char* kClusterFile = "nereus_cluster.json";

struct ExportRequest {
  std::string plan_file;
  exporting::Engine engine = exporting::Engine::kMegatron;
  std::string directory;  // empty: nothing is written
};

struct ExportAnswer {
  exporting::Engine engine = exporting::Engine::kMegatron;
  exporting::Bundle files;
  std::string directory;
  // Where the plan was made for other software: what it would be on this engine.
  std::string warning;
};

// Throws Errors: a bad plan file, what the engine cannot express, a directory that cannot be
// written.
ExportAnswer export_plan(const ExportRequest& request);

// The stack that stands for an engine where nothing more is known: "generic" where no measured run
// is behind it.
std::string engine_stack(exporting::Engine engine, const cluster::Cluster& machines);

// What export/ needs to know of a stack; "generic" where the name is none of the known ones.
exporting::StackFacts stack_facts(const cost::Stack& stack);

}  // namespace nereus::app
