// A temporary folder for a job and the files of its ranks; the destructor removes it.
//
//   const ScratchFolder scratch("train");           // TMPDIR/nereus-train-XXXXXX
//   job::save_job(scratch.path() / "job.json", job);
#pragma once

#include <filesystem>
#include <string>

namespace nereus::app {

class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& verb);  // throws Errors: VERB.scratch
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace nereus::app
