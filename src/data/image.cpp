#include "data/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace nereus::data {

namespace {

constexpr double kMean[3] = {0.485, 0.456, 0.406};
constexpr double kDeviation[3] = {0.229, 0.224, 0.225};

// The numbers of a PPM's head, parted by white space and comments.
class PpmHead {
 public:
  PpmHead(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  std::int64_t number() {
    while (at_ < bytes_.size() && (is_space(bytes_[at_]) || bytes_[at_] == '#')) {
      if (bytes_[at_] == '#')
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      else
        ++at_;
    }
    std::int64_t value = 0;
    const std::size_t begin = at_;
    while (at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9' && at_ - begin < 9)
      value = 10 * value + (bytes_[at_++] - '0');
    if (at_ == begin) broken_image(path_, "its head is damaged");
    return value;
  }

  std::string_view rest() {  // after the one white space that ends the head
    if (at_ >= bytes_.size() || !is_space(bytes_[at_])) broken_image(path_, "its head is damaged");
    return bytes_.substr(at_ + 1);
  }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  std::string_view bytes_;
  const std::string& path_;
  std::size_t at_ = 2;
};

// The weights of the input pixels, from `first` on, for each output pixel along one side.
struct Weights {
  std::int64_t first = 0;
  std::vector<float> weights;
};

// Pixels offset ... offset + count - 1 of a side of `from` pixels scaled to `to`.
std::vector<Weights> scale_weights(std::int64_t from, std::int64_t to, std::int64_t offset,
                                   std::int64_t count) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(scale, 1.0);
  std::vector<Weights> all;
  for (std::int64_t i = offset; i < offset + count; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    Weights w;
    w.first =
        std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - reach + 0.5)));
    const std::int64_t end =
        std::min(from, static_cast<std::int64_t>(std::floor(centre + reach + 0.5)));
    double sum = 0;
    std::vector<double> raw;
    for (std::int64_t x = w.first; x < end; ++x) {
      raw.push_back(std::max(0.0, 1 - std::abs(static_cast<double>(x) + 0.5 - centre) / reach));
      sum += raw.back();
    }
    for (const double weight : raw) w.weights.push_back(static_cast<float>(weight / sum));
    all.push_back(std::move(w));
  }
  return all;
}

}  // namespace

void broken_image(const std::string& path, const std::string& why) {
  throw_input_error("data.image", fmt::format("the picture cannot be read: {}", why), {path});
}

void check_image_size(std::int64_t width, std::int64_t height, const std::string& path) {
  if (width <= 0 || height <= 0) broken_image(path, "it has no pixels");
  if (width > kMostPixels / height)
    broken_image(path, fmt::format("{} x {} pixels are more than {}", width, height, kMostPixels));
}

Image decode_ppm(std::string_view bytes, const std::string& path) {
  PpmHead head(bytes, path);
  Image image;
  image.width = head.number();
  image.height = head.number();
  const std::int64_t largest = head.number();
  check_image_size(image.width, image.height, path);
  if (largest < 1 || largest > 65535) broken_image(path, "its largest value is not 1 to 65535");
  const std::string_view values = head.rest();
  const auto count = static_cast<std::size_t>(3 * image.width * image.height);
  const std::size_t width = largest > 255 ? 2 : 1;
  if (values.size() / width < count) broken_image(path, "it ends early");
  image.rgb.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = [&](std::size_t j) -> std::int64_t {
      return static_cast<unsigned char>(values[width * i + j]);
    };
    const std::int64_t value = width == 1 ? byte(0) : byte(0) << 8 | byte(1);
    image.rgb[i] =
        static_cast<std::uint8_t>((std::min(value, largest) * 255 + largest / 2) / largest);
  }
  return image;
}

Image decode_image(std::string_view bytes, const std::string& path) {
  if (bytes.starts_with("P6")) return decode_ppm(bytes, path);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(bytes, path);
  if (bytes.starts_with("\xFF\xD8\xFF")) return decode_jpeg(bytes, path);
  broken_image(path, "it is no PPM (P6), PNG or JPEG");
}

void to_pixels(const Image& image, std::int64_t size, std::span<float> pixels) {
  NEREUS_CHECK(size > 0 && pixels.size() == static_cast<std::size_t>(3 * size * size),
               "room for one picture");
  // The shorter side becomes `side`, the longer keeps the shape, rounded down as torchvision does.
  const std::int64_t side = (size * 8 + 3) / 7;
  const std::int64_t shorter = std::min(image.width, image.height);
  const std::int64_t width = image.width * side / shorter;
  const std::int64_t height = image.height * side / shorter;
  const auto columns = scale_weights(image.width, width, (width - size) / 2, size);
  const auto rows = scale_weights(image.height, height, (height - size) / 2, size);

  // Along rows first, of the input rows that are needed; then down columns.
  const std::int64_t top = rows.front().first;
  const std::int64_t bottom =
      rows.back().first + static_cast<std::int64_t>(rows.back().weights.size());
  std::vector<float> narrow(static_cast<std::size_t>((bottom - top) * size * 3));
  float* to = narrow.data();
  for (std::int64_t y = top; y < bottom; ++y)
    for (const Weights& column : columns) {
      const std::uint8_t* from = image.rgb.data() + 3 * (y * image.width + column.first);
      float sum[3] = {};
      for (const float weight : column.weights)
        for (float& channel : sum) channel += weight * static_cast<float>(*from++);
      for (const float channel : sum) *to++ = channel;
    }
  for (std::int64_t y = 0; y < size; ++y) {
    const Weights& row = rows[y];
    for (std::int64_t x = 0; x < size; ++x)
      for (std::int64_t channel = 0; channel < 3; ++channel) {
        const float* from = narrow.data() + ((row.first - top) * size + x) * 3 + channel;
        float sum = 0;
        for (const float weight : row.weights) {
          sum += weight * *from;
          from += 3 * size;
        }
        const double value =
            (static_cast<double>(sum) / 255 - kMean[channel]) / kDeviation[channel];
        pixels[(channel * size + y) * size + x] = static_cast<float>(value);
      }
  }
}

}  // namespace nereus::data
