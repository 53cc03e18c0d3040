#include "data/image.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "data/image_folder.hpp"

#ifdef NEREUS_JPEG
#include <cstdio>
#include <cstdlib>
// After <cstdio>, which it needs and does not include.
#include <jpeglib.h>
#endif

namespace nereus::data::image_test {
namespace {

using nereus::testing::codes_of;
using ::testing::ElementsAre;

std::string ppm(const Image& image) {
  return fmt::format("P6\n# a comment\n{} {}\n255\n", image.width, image.height) +
         std::string(image.rgb.begin(), image.rgb.end());
}

Image plain(std::int64_t width, std::int64_t height, std::uint8_t r, std::uint8_t g,
            std::uint8_t b) {
  Image image{.width = width, .height = height};
  for (std::int64_t i = 0; i < width * height; ++i) image.rgb.insert(image.rgb.end(), {r, g, b});
  return image;
}

// The output of Python's zlib and struct for a 3 x 2 image with transparency: red, green, blue,
// white, gray 128, black, with different transparency; rows unfiltered.
const std::string kPng = [] {
  const std::string_view hex =
      "89504e470d0a1a0a0000000d49484452000000030000000208060000009d74661a0000001d4944415478da1d"
      "c7b10d000008803036dfe67334a653097a2415ea85599b170aff1239796a0000000049454e44ae426082";
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}();

RC_GTEST_PROP(Image, PpmGivesBackItsPixels, ()) {
  const std::int64_t width = *rc::gen::inRange<std::int64_t>(1, 6);
  const std::int64_t height = *rc::gen::inRange<std::int64_t>(1, 6);
  const Image image{
      .width = width,
      .height = height,
      .rgb = *rc::gen::container<std::vector<std::uint8_t>>(
          static_cast<std::size_t>(3 * width * height), rc::gen::arbitrary<std::uint8_t>())};
  RC_ASSERT(decode_image(ppm(image), "a.ppm") == image);
}

TEST(Image, PpmOfSixteenBitsAndOfOtherLargestValues) {
  const std::string head = "P6 1 1 ";
  using namespace std::string_literals;
  EXPECT_THAT(decode_image(head + "65535\n\xFF\xFF\x80\x00\x00\x00"s, "a").rgb,
              ElementsAre(255, 128, 0));
  EXPECT_THAT(decode_image(head + "15\n\x0F\x00\x07"s, "a").rgb, ElementsAre(255, 0, 119));
}

TEST(Image, SaysWhatIsBroken) {
  for (const std::string bytes : {"", "P6", "P6 1", "P6 1 1 255", "P6 1 1 255\nab", "P6 0 1 255\n",
                                  "P6 1 1 0\nabc", "P6 99999999 99999999 255\n", "P5 1 1 255\na",
                                  "GIF89a", "\x89PNG\r\n\x1a\nrubbish", "\xFF\xD8\xFF\xE0rubbish"})
    EXPECT_THAT(codes_of([&] { decode_image(bytes, "x"); }),
                ElementsAre(::testing::AnyOf("data.image", "data.image-format")))
        << bytes;
}

#ifdef NEREUS_PNG
TEST(Image, ReadsPng) {
  const Image image = decode_image(kPng, "a.png");
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.height, 2);
  EXPECT_THAT(image.rgb,
              ElementsAre(255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255, 128, 128, 128, 0, 0, 0));
  for (std::size_t size = 8; size + 12 < kPng.size(); ++size)
    EXPECT_THAT(codes_of([&] { decode_image(kPng.substr(0, size), "a.png"); }),
                ElementsAre("data.image"))
        << size;
}
#endif

#ifdef NEREUS_JPEG
std::string jpeg(const Image& image) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (std::int64_t y = 0; y < image.height; ++y) {
    auto* row = const_cast<unsigned char*>(image.rgb.data() + 3 * y * image.width);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string text(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return text;
}

TEST(Image, ReadsJpeg) {
  Image image{.width = 20, .height = 9};
  for (int y = 0; y < 9; ++y)
    for (int x = 0; x < 20; ++x)
      for (const int value : {12 * x, 25 * y, 255 - 12 * x})
        image.rgb.push_back(static_cast<std::uint8_t>(value));
  const std::string bytes = jpeg(image);
  const Image back = decode_image(bytes, "a.jpg");
  ASSERT_EQ(back.rgb.size(), image.rgb.size());
  EXPECT_EQ(back.width, 20);
  double error = 0;
  for (std::size_t i = 0; i < image.rgb.size(); ++i) error += std::abs(back.rgb[i] - image.rgb[i]);
  EXPECT_LT(error / static_cast<double>(image.rgb.size()), 4);  // colours are stored coarser
  for (const std::size_t size : {std::size_t{3}, bytes.size() / 4, bytes.size() - 30})
    EXPECT_THAT(codes_of([&] { decode_image(bytes.substr(0, size), "a.jpg"); }),
                ElementsAre("data.image"))
        << size;
}
#endif

TEST(Image, IsNormalised) {
  // One colour stays itself, whatever the scale: (value / 255 - mean) / deviation.
  for (const std::int64_t side : {3, 32, 500}) {
    std::vector<float> pixels(3 * 32 * 32);
    to_pixels(plain(side, side + 7, 255, 0, 128), 32, pixels);
    for (std::size_t i = 0; i < 32 * 32; ++i) {
      ASSERT_NEAR(pixels[i], (1 - 0.485) / 0.229, 1e-5);
      ASSERT_NEAR(pixels[i + 32 * 32], -0.456 / 0.224, 1e-5);
      ASSERT_NEAR(pixels[i + 2 * 32 * 32], (128.0 / 255 - 0.406) / 0.225, 1e-5);
    }
  }
}

TEST(Image, IsScaledAndCutInTheMiddle) {
  // A ramp along x: scaled, it stays one. Value v at x of the input's width 64; the shorter side of
  // 64 becomes 8 * 8 / 7 = 9, so one output pixel spans 64 / 9 and the cut starts at 0 of 9 - 8.
  Image image{.width = 64, .height = 64};
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 64; ++x)
      image.rgb.insert(image.rgb.end(), 3, static_cast<std::uint8_t>(2 * x));
  std::vector<float> pixels(3 * 8 * 8);
  to_pixels(image, 8, pixels);
  for (std::size_t y = 0; y < 8; ++y)
    for (std::size_t x = 1; x < 7; ++x) {  // away from the edge, where the triangle is cut
      const double centre = (static_cast<double>(x) + 0.5) * 64 / 9 - 0.5;
      EXPECT_NEAR(pixels[y * 8 + x] * 0.229 + 0.485, 2 * centre / 255, 0.003) << x;
    }
  // Wide pictures lose their sides: the middle of three colours remains.
  Image wide{.width = 90, .height = 30};
  for (int y = 0; y < 30; ++y)
    for (int x = 0; x < 90; ++x) wide.rgb.insert(wide.rgb.end(), 3, x < 29 ? 0 : x < 61 ? 200 : 90);
  to_pixels(wide, 8, pixels);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(pixels[i] * 0.229 + 0.485, 200.0 / 255, 0.02);
}

TEST(ImageFolder, NumbersClassesByName) {
  const TemporaryFolder folder;
  folder.write("f/dog/2.ppm", ppm(plain(4, 4, 10, 0, 0)));
  folder.write("f/dog/1.PPM", ppm(plain(4, 4, 20, 0, 0)));
  folder.write("f/cat/x.ppm", ppm(plain(4, 4, 30, 0, 0)));
  folder.write("f/cat/notes.txt", "no picture");
  folder.write("f/.hidden/x.ppm", "x");
  const ImageFolder images = ImageFolder::open(folder / "f");
  EXPECT_THAT(images.classes, ElementsAre("cat", "dog"));
  const ImageFolderSamples samples(images, 2, 2, {.shuffle = false});
  EXPECT_EQ(samples.samples_per_epoch(), 3U);
  std::vector<float> pixels(12);
  std::vector<std::pair<int, int>> seen;
  for (std::uint64_t g = 0; g < 4; ++g) {
    std::int64_t label = -1;
    samples.read(g, {.pixels = pixels, .label = &label});
    seen.emplace_back(label, std::lround((pixels[0] * 0.229 + 0.485) * 255));
  }
  EXPECT_THAT(seen,
              ElementsAre(std::pair(0, 30), std::pair(1, 20), std::pair(1, 10), std::pair(0, 30)));
  EXPECT_THAT(codes_of([&] { ImageFolderSamples(images, 2, 1, {}); }), ElementsAre("data.classes"));
}

TEST(ImageFolder, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  folder.write("f/empty/notes.txt", "");
  folder.write("f/void/notes.txt", "");
  EXPECT_THAT(codes_of([&] { ImageFolder::open(folder / "f"); }),
              ElementsAre("data.folder", "data.folder"));
  EXPECT_THAT(codes_of([&] { ImageFolder::open(folder / "f/empty"); }), ElementsAre("data.folder"));
  EXPECT_THAT(codes_of([&] { ImageFolder::open(folder / "f/empty/notes.txt"); }),
              ElementsAre("data.folder"));
  EXPECT_THAT(codes_of([&] { ImageFolder::open(folder / "g"); }), ElementsAre("spec.no-file"));
}

}  // namespace
}  // namespace nereus::data::image_test
