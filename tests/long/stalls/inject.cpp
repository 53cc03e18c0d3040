// Stalls put into nereus-worker on purpose, from outside (LD_PRELOAD), so that what is measured of
// them can be compared with what they are.
//
//   INJECT_OPERATION_US=20 INJECT_RANK=1
//     Every operation of libtorch takes so many microseconds longer than with 0, where its delay is
//     asked for too (0.6 us on a Neoverse-V1). Without a rank: on all of them.
//   INJECT_PICTURE_MS=20
//     Every picture takes so many milliseconds longer to decode, asleep.
#include <ATen/record_function.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

double number(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atof(text) : 0;
}

const std::chrono::duration<double, std::micro> operation{number("INJECT_OPERATION_US")};
const std::chrono::duration<double, std::milli> picture{number("INJECT_PICTURE_MS")};

std::unique_ptr<at::ObserverContext> delay(const at::RecordFunction&) {
  const auto end = std::chrono::steady_clock::now() + operation;
  while (std::chrono::steady_clock::now() < end) {
  }
  return nullptr;
}

struct Start {
  Start() {
    const char* only = std::getenv("INJECT_RANK");
    const char* rank = std::getenv("RANK");
    if (!std::getenv("INJECT_OPERATION_US")) return;
    if (only && rank && std::strcmp(only, rank) != 0) return;
    at::addGlobalCallback(at::RecordFunctionCallback(delay).scopes(
        {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  }
} const start;

}  // namespace

// libpng's first call of a picture.
extern "C" int png_image_begin_read_from_memory(void* image, const void* memory, std::size_t size) {
  using Begin = int (*)(void*, const void*, std::size_t);
  static const auto real =
      reinterpret_cast<Begin>(dlsym(RTLD_NEXT, "png_image_begin_read_from_memory"));
  if (picture.count() > 0) std::this_thread::sleep_for(picture);
  return real(image, memory, size);
}
