#include "app/exchange/import_profile.hpp"

#include <filesystem>

#include "app/predict/profiles.hpp"
#include "base/write_file.hpp"
#include "spec/source.hpp"

namespace nereus::app {

bool are_profiles(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (!(path.ends_with(".json") || path.ends_with(".prof")) ||
        !std::filesystem::is_regular_file(path, error))
      continue;
    if (profile::form_of({path, spec::read_text_file(path)}) != profile::ProfileForm::kNone)
      return true;
  }
  return false;
}

ImportedProfile import_profile(const std::vector<std::string>& paths, const std::string& output) {
  ImportedProfile out;
  const std::vector<profile::ProfileFile> files = read_profile_files(paths);
  for (const profile::ProfileFile& file : files) out.files.push_back(file.name);
  out.profile = profile::import_profiles(files);
  if (!output.empty()) write_file(output, profile::profile_to_json(out.profile));
  return out;
}

}  // namespace nereus::app
