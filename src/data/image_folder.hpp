// Images in folders by class: FOLDER/CLASS/NAME.{ppm,png,jpg,jpeg}. Classes are numbered in the
// order of their names (as bytes), and so are images within a class, so that a folder has the same
// meaning on every machine.
//
//   ImageFolder folder = ImageFolder::open("imagenet/train");          // throws Errors
//   ImageFolderSamples samples(std::move(folder), 224, 1000, {.seed = 1});
//   samples.read(g, {.pixels = pixels, .label = &label});
//
// Opening a folder only lists the images; each is decoded (data/image.hpp) when its sample is read.
// There is no random flipping, rotating or cropping.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/sample_source.hpp"

namespace nereus::data {

struct ImageFolder {
  static ImageFolder open(const std::string& path);

  struct Entry {
    std::string name;  // name in the folder of its class
    std::int64_t label = 0;
  };
  std::string path;
  std::vector<std::string> classes;
  std::vector<Entry> entries;  // by class, then by name

  std::string file(const Entry& entry) const;
};

class ImageFolderSamples : public SampleSource {
 public:
  // Throws Errors: data.classes (more classes than the model has).
  ImageFolderSamples(ImageFolder folder, std::int64_t size, std::int64_t model_classes,
                     SampleOrder order);

  SampleShape shape() const override { return {.num_pixels = 3 * size_ * size_}; }
  std::uint64_t samples_per_epoch() const override { return folder_.entries.size(); }
  void read(std::uint64_t g, const SampleView& into) const override;
  std::string file_of(std::uint64_t g) const override { return folder_.file(entry_of(g)); }

 private:
  const ImageFolder::Entry& entry_of(std::uint64_t g) const;

  ImageFolder folder_;
  std::int64_t size_;
  SampleOrder order_;
};

}  // namespace nereus::data
