// Pictures to the numbers that image models take.
//
//   const Image image = decode_image(bytes, "cat.jpg");        // PPM, PNG, JPEG by content
//   std::vector<float> pixels(3 * 224 * 224);
//   to_pixels(image, 224, pixels);
//
// A picture is scaled so that its shorter side is round(size * 8 / 7) (256 for 224), the middle
// size x size is cut out, and each channel becomes (value / 255 - mean) / deviation with ImageNet's
// means 0.485, 0.456, 0.406 and deviations 0.229, 0.224, 0.225: what torchvision's models are
// evaluated with. Scaling is bilinear with a triangle as wide as a pixel of the smaller picture, so
// that making a picture smaller blurs rather than skips (as Pillow's BILINEAR).
//
// PNG (libpng) and JPEG (libjpeg) are read where the build found the libraries; PPM (P6, 8 or 16
// bits) always. Transparency is dropped, grey becomes three equal channels.
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
  std::vector<std::uint8_t> rgb;  // row by row, three bytes a pixel
  bool operator==(const Image&) const = default;
};

inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;  // of one picture

// Throws Errors: data.image (damaged or no picture), data.image-format (not in this build).
Image decode_image(std::string_view bytes, const std::string& path);

// pixels: 3 * size * size, channel by channel, row by row.
void to_pixels(const Image& image, std::int64_t size, std::span<float> pixels);

// One a format; bytes start with its signature.
Image decode_ppm(std::string_view bytes, const std::string& path);
Image decode_png(std::string_view bytes, const std::string& path);
Image decode_jpeg(std::string_view bytes, const std::string& path);

[[noreturn]] void broken_image(const std::string& path, const std::string& why);
void check_image_size(std::int64_t width, std::int64_t height, const std::string& path);

}  // namespace nereus::data
