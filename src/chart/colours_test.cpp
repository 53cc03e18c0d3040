#include "chart/colours.hpp"

#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>

#include "chart/chart_testing.hpp"

namespace nereus::chart::colours_test {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

Vector times(const Matrix& m, const Vector& v) {
  Vector out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) out[i] += m[i][j] * v[j];
  return out;
}

Vector linear_rgb(std::string_view colour) {
  Vector rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    int value = 0;
    std::from_chars(colour.data() + 1 + 2 * i, colour.data() + 3 + 2 * i, value, 16);
    const double c = value / 255.0;
    rgb[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return rgb;
}

// Ottosson, "A perceptual color space for image processing", 2020.
Vector oklab(const Vector& rgb) {
  constexpr Matrix kToCones = {{{0.4122214708, 0.5363325363, 0.0514459929},
                                {0.2119034982, 0.6806995451, 0.1073969566},
                                {0.0883024619, 0.2817188376, 0.6299787005}}};
  constexpr Matrix kToLab = {{{0.2104542553, 0.7936177850, -0.0040720468},
                              {1.9779984951, -2.4285922050, 0.4505937099},
                              {0.0259040371, 0.7827717662, -0.8086757660}}};
  Vector cones = times(kToCones, rgb);
  for (double& c : cones) c = std::cbrt(std::max(0.0, c));
  return times(kToLab, cones);
}

// Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision
// deficiency", 2009, severity 1: normal, protanopia, deuteranopia, tritanopia.
constexpr std::array<Matrix, 4> kEyes = {{{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                                          {{{0.152286, 1.052583, -0.204868},
                                            {0.114503, 0.786281, 0.099216},
                                            {-0.003882, -0.048116, 1.051998}}},
                                          {{{0.367322, 0.860646, -0.227968},
                                            {0.280085, 0.672501, 0.047413},
                                            {-0.011820, 0.042940, 0.968881}}},
                                          {{{1.255528, -0.076749, -0.178779},
                                            {-0.078411, 0.930809, 0.147602},
                                            {0.004733, 0.691367, 0.303900}}}}};

double lightness(std::string_view colour) {  // CIE L*
  return 116 * std::cbrt(luminance(colour)) - 16;
}

class ColoursTest : public ::testing::TestWithParam<const Theme*> {};
INSTANTIATE_TEST_SUITE_P(Modes, ColoursTest, ::testing::Values(&kLight, &kDark));

TEST_P(ColoursTest, TextCanBeRead) {
  const Theme& theme = *GetParam();
  for (const std::string_view text : {theme.ink, theme.muted, theme.warn, theme.accent})
    EXPECT_GE(contrast(text, theme.paper), 4.5) << text;
  for (const std::string_view level : theme.ramp)
    EXPECT_GE(contrast(text_on(level), level), 4.5) << level;
}

TEST_P(ColoursTest, MarksCanBeSeen) {
  const Theme& theme = *GetParam();
  for (const std::string_view colour : theme.series)
    EXPECT_GE(contrast(colour, theme.paper), 3) << colour;
  EXPECT_GE(contrast(theme.line, theme.paper), 3);
  EXPECT_GE(contrast(theme.accent, theme.paper), 3);
}

TEST_P(ColoursTest, SeriesDifferToEverybody) {
  const Theme& theme = *GetParam();
  for (std::size_t eye = 0; eye < kEyes.size(); ++eye)
    for (std::size_t i = 0; i < kNumSeries; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const auto seen = [&](std::size_t k) {
          return oklab(times(kEyes[eye], linear_rgb(theme.series[k])));
        };
        const Vector a = seen(i), b = seen(j);
        EXPECT_GE(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), 0.06)
            << theme.series[i] << " and " << theme.series[j] << " to eye " << eye;
      }
}

// Even steps of lightness, from the side of the paper away from it.
TEST_P(ColoursTest, RampIsEven) {
  const Theme& theme = *GetParam();
  const double whole = lightness(theme.ramp.back()) - lightness(theme.ramp.front());
  EXPECT_GT(std::abs(whole), 60);
  EXPECT_LT(std::abs(lightness(theme.ramp.front()) - lightness(theme.paper)), 15);
  for (std::size_t i = 1; i < kNumLevels; ++i)
    EXPECT_NEAR(lightness(theme.ramp[i]) - lightness(theme.ramp[i - 1]), whole / (kNumLevels - 1),
                0.6)
        << i;
}

TEST(Colours, ContrastIsThatOfWcag) {
  EXPECT_NEAR(contrast("#000000", "#ffffff"), 21, 1e-9);
  EXPECT_NEAR(contrast("#ffffff", "#767676"), 4.54, 0.005);  // the lightest grey for text on white
  EXPECT_DOUBLE_EQ(contrast("#123456", "#123456"), 1);
  EXPECT_EQ(text_on("#31476d"), "#ffffff");
  EXPECT_EQ(text_on("#e8f3c7"), "#000000");
}

TEST(Colours, CssHasBothModes) {
  const std::string css = theme_css("#fig1", true);
  EXPECT_TRUE(testing::has(css, "#fig1{--paper:#ffffff;"));
  EXPECT_TRUE(
      testing::has(css, "@media screen and (prefers-color-scheme:dark){#fig1{--paper:#16181d;"));
  EXPECT_TRUE(testing::has(css, "--q15:#31476d;--t15:#ffffff"));
  EXPECT_FALSE(testing::has(theme_css("#fig1"), "--q0"));
}

}  // namespace
}  // namespace nereus::chart::colours_test
