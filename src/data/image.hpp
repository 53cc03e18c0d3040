// Converts images to the numbers that image models need.
//
//   const Image image = decode_image(bytes, "cat.jpg");        // PPM, PNG, JPEG, by content
//   std::vector<float> pixels(3 * 224 * 224);
//   to_pixels(image, 224, pixels);
//
// An image is scaled so that its shorter side is round(size * 8 / 7) (256 for 224), the center of
// size x size is cut out, and each channel becomes (value / 255 - mean) / deviation with ImageNet's
// means 0.485, 0.456, 0.406 and deviations 0.229, 0.224, 0.225, as in the evaluation of
// torchvision's models. Scaling is bilinear with a triangle as wide as a pixel of the smaller
// image, so that downscaling averages all pixels (like Pillow's BILINEAR).
//
// PNG (libpng) and JPEG (libjpeg) are supported if the build found the libraries; PPM (P6, 8 or 16
// bits) always. Transparency is dropped; gray becomes three equal channels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::data {

struct Image {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> rgb;  // row by row, three bytes per pixel
  bool operator==(const Image&) const = default;
};

inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;  // per image

// Throws Errors: data.image (damaged, or not an image), data.image-format (not in this build).
Image decode_image(std::string_view bytes, const std::string& path);

// pixels: 3 * size * size, channel by channel, row by row.
void to_pixels(const Image& image, std::int64_t size, std::span<float> pixels);

// One function per format; `bytes` must start with its signature.
Image decode_ppm(std::string_view bytes, const std::string& path);
Image decode_png(std::string_view bytes, const std::string& path);
Image decode_jpeg(std::string_view bytes, const std::string& path);

[[noreturn]] void broken_image(const std::string& path, const std::string& why);
void check_image_size(std::int64_t width, std::int64_t height, const std::string& path);

}  // namespace nereus::data
