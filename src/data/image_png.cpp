#include <fmt/format.h>

#include "base/error.hpp"
#include "data/image.hpp"

#ifdef NEREUS_PNG
#include <png.h>
#endif

namespace nereus::data {

#ifdef NEREUS_PNG

Image decode_png(std::string_view bytes, const std::string& path) {
  png_image reader{};
  reader.version = PNG_IMAGE_VERSION;
  struct Free {
    png_image* image;
    ~Free() { png_image_free(image); }
  } const free_at_end{&reader};
  if (png_image_begin_read_from_memory(&reader, bytes.data(), bytes.size()) == 0)
    broken_image(path, reader.message);
  check_image_size(reader.width, reader.height, path);
  // Reads transparency and drops it; otherwise libpng would blend with a background.
  reader.format = PNG_FORMAT_RGBA;
  std::vector<std::uint8_t> rgba(PNG_IMAGE_SIZE(reader));
  if (png_image_finish_read(&reader, nullptr, rgba.data(), 0, nullptr) == 0)
    broken_image(path, reader.message);
  Image image{.width = reader.width, .height = reader.height};
  image.rgb.resize(rgba.size() / 4 * 3);
  for (std::size_t i = 0; i < rgba.size() / 4; ++i)
    for (std::size_t channel = 0; channel < 3; ++channel)
      image.rgb[3 * i + channel] = rgba[4 * i + channel];
  return image;
}

#else

Image decode_png(std::string_view, const std::string& path) {
  throw_input_error("data.image-format", "this build of nereus reads no PNG pictures", {path},
                    "install libpng-dev and build again");
}

#endif

}  // namespace nereus::data
