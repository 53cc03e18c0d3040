#include "data/image_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "data/image.hpp"
#include "data/mapped_data.hpp"
#include "spec/source.hpp"

namespace nereus::data {

namespace {

namespace fs = std::filesystem;

bool is_picture(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return ending == ".ppm" || ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

// Sorted names of the entries in the folder that pass the test.
template <class Test>
std::vector<std::string> names_in(const fs::path& folder, Test test) {
  std::vector<std::string> names;
  std::error_code code;
  fs::directory_iterator entry(folder, code);
  for (; !code && entry != fs::directory_iterator(); entry.increment(code))
    if (test(*entry)) names.push_back(entry->path().filename().string());
  if (code)
    throw_input_error("data.unreadable",
                      fmt::format("cannot read \"{}\": {}", folder.string(), code.message()));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

ImageFolder ImageFolder::open(const std::string& path) {
  std::error_code code;
  if (!fs::exists(path, code)) spec::read_text_file(path);  // says it with the nearest name
  if (!fs::is_directory(path, code))
    throw_input_error("data.folder", fmt::format("\"{}\" is no folder of pictures", path), {},
                      "FOLDER/CLASS/NAME.png");
  ImageFolder folder;
  folder.path = path;
  folder.classes = names_in(path, [](const fs::directory_entry& entry) {
    std::error_code ignored;
    return entry.is_directory(ignored) && !entry.path().filename().string().starts_with(".");
  });
  ErrorList errors;
  for (std::size_t label = 0; label < folder.classes.size(); ++label) {
    const std::vector<std::string> names =
        names_in(fs::path(path) / folder.classes[label],
                 [](const fs::directory_entry& entry) { return is_picture(entry.path()); });
    if (names.empty())
      errors.add("data.folder",
                 fmt::format("the class \"{}\" holds no picture", folder.classes[label]), {path},
                 "names end in .ppm, .png, .jpg or .jpeg");
    for (const std::string& name : names)
      folder.entries.push_back({name, static_cast<std::int64_t>(label)});
  }
  if (folder.classes.empty())
    errors.add("data.folder", "the folder holds no folders, one for each class", {path},
               "FOLDER/CLASS/NAME.png");
  errors.throw_if_any();
  return folder;
}

std::string ImageFolder::file(const Entry& entry) const {
  return (fs::path(path) / classes[entry.label] / entry.name).string();
}

ImageFolderSamples::ImageFolderSamples(ImageFolder folder, std::int64_t size,
                                       std::int64_t model_classes, SampleOrder order)
    : folder_(std::move(folder)), size_(size), order_(order) {
  NEREUS_CHECK(size > 0 && !folder_.entries.empty(), "pictures without pixels");
  if (static_cast<std::int64_t>(folder_.classes.size()) > model_classes)
    throw_input_error("data.classes",
                      fmt::format("the folder has {} classes, the model tells {} apart",
                                  folder_.classes.size(), model_classes),
                      {folder_.path});
}

const ImageFolder::Entry& ImageFolderSamples::entry_of(std::uint64_t g) const {
  const std::uint64_t item = item_of_sample(g, folder_.entries.size(), order_);
  return folder_.entries[item];
}

void ImageFolderSamples::read(std::uint64_t g, const SampleView& into) const {
  const ImageFolder::Entry& entry = entry_of(g);
  const std::string path = folder_.file(entry);
  const MappedFile file = map_file(path);
  to_pixels(decode_image(file.text(), path), size_, into.pixels);
  if (into.label != nullptr) *into.label = entry.label;
}

}  // namespace nereus::data
