// `nereus export`: writes the files that run a plan on another engine.
//
//   ExportAnswer a = export_plan({.plan_file = "best.plan", .engine = Engine::kMegatron});
//   a.files[0].text;       // launch.sh
//
// With a directory, the files are written to it: a new directory appears either complete or not at
// all; in an existing directory, each file is replaced atomically.
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
  // If the plan was made for other software: what the prediction would be on this engine.
  std::string warning;
};

// Throws Errors: a bad plan file, something that the engine cannot express, a directory that cannot
// be written.
ExportAnswer export_plan(const ExportRequest& request);

// The stack to assume for an engine if nothing else is known; "generic" if there are no measured
// runs of the engine.
std::string engine_stack(exporting::Engine engine, const cluster::Cluster& machines);

// The facts about a stack that export/ needs; "generic" if the name is unknown.
exporting::StackFacts stack_facts(const cost::Stack& stack);

}  // namespace nereus::app
