#include "base/error.hpp"
#include "data/image.hpp"

#ifdef NEREUS_JPEG
#include <csetjmp>
#include <cstdio>
// After <cstdio>, which it needs and does not include.
#include <jerror.h>
#include <jpeglib.h>
#endif

namespace nereus::data {

#ifdef NEREUS_JPEG

namespace {

struct ErrorState {
  jpeg_error_mgr manager;  // first: libjpeg knows no other part
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

ErrorState* state_of(j_common_ptr info) { return reinterpret_cast<ErrorState*>(info->err); }

extern "C" void nereus_jpeg_fail(j_common_ptr info) {
  ErrorState* state = state_of(info);
  state->manager.format_message(info, state->message);
  std::longjmp(state->escape, 1);
}

// Most warnings are harmless (bytes between parts); a file that ends early is not.
extern "C" void nereus_jpeg_warn(j_common_ptr info, int level) {
  if (level < 0 && state_of(info)->manager.msg_code == JWRN_JPEG_EOF) nereus_jpeg_fail(info);
}

// longjmp skips destructors: nothing here has one, and all that it fills belongs to the caller.
bool decode(std::string_view bytes, ErrorState& state, jpeg_decompress_struct& info, Image& image,
            bool& too_large) {
  info.err = jpeg_std_error(&state.manager);
  state.manager.error_exit = nereus_jpeg_fail;
  state.manager.emit_message = nereus_jpeg_warn;
  if (setjmp(state.escape) != 0) return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  image.width = info.image_width;
  image.height = info.image_height;
  too_large = image.width > kMostPixels / image.height;
  if (too_large) return false;
  info.out_color_space = JCS_RGB;
  info.dct_method = JDCT_ISLOW;  // the same on every machine
  jpeg_start_decompress(&info);
  image.rgb.resize(static_cast<std::size_t>(3 * image.width * image.height));
  while (info.output_scanline < info.output_height) {
    unsigned char* row =
        image.rgb.data() + 3 * static_cast<std::size_t>(image.width) * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

}  // namespace

Image decode_jpeg(std::string_view bytes, const std::string& path) {
  Image image;
  ErrorState state{};
  jpeg_decompress_struct info{};
  bool too_large = false;
  const bool good = decode(bytes, state, info, image, too_large);
  jpeg_destroy_decompress(&info);
  if (too_large) check_image_size(image.width, image.height, path);
  if (!good) broken_image(path, state.message);
  return image;
}

#else

Image decode_jpeg(std::string_view, const std::string& path) {
  throw_input_error("data.image-format", "this build of nereus reads no JPEG pictures", {path},
                    "install libjpeg62-turbo-dev and build again");
}

#endif

}  // namespace nereus::data
