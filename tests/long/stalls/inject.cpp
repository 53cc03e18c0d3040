// Stalls put into nereus-worker on purpose, from outside (LD_PRELOAD), so that what is measured of
// them can be compared with what they are.
//
//   INJECT_OPERATION_US=20 INJECT_RANK=1
//     Every operation of libtorch takes so many microseconds longer than with 0, where its delay is
//     asked for too (0.6 us on a Neoverse-V1). Without a rank: on all of them.
//   INJECT_REPORT=FOLDER/NAME
//     FOLDER/NAME.PID then has two doubles: how many operations were delayed, and the seconds that
//     it took, with what a busy machine adds to them. Written as it goes: a worker may end at any
//     time.
//   INJECT_PICTURE_MS=20
//     Every picture takes so many milliseconds longer to decode, asleep.
#include <ATen/record_function.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

double number(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atof(text) : 0;
}

const std::chrono::duration<double, std::micro> operation{number("INJECT_OPERATION_US")};
const std::chrono::duration<double, std::milli> picture{number("INJECT_PICTURE_MS")};

struct Report {
  std::atomic<double> count, seconds;
};
static_assert(sizeof(Report) == 2 * sizeof(double));
Report* report = nullptr;  // in a file, shared

void open_report() {
  const char* name = std::getenv("INJECT_REPORT");
  if (!name) return;
  const std::string path = name + ("." + std::to_string(getpid()));
  const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Report)) != 0) std::abort();
  void* const memory = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) std::abort();
  report = static_cast<Report*>(memory);
  close(file);
}

void add(std::atomic<double>& to, double value) {
  double old = to.load();
  while (!to.compare_exchange_weak(old, old + value)) {
  }
}

std::unique_ptr<at::ObserverContext> delay(const at::RecordFunction&) {
  const auto begin = std::chrono::steady_clock::now();
  const auto end = begin + operation;
  auto now = begin;
  while (now < end) now = std::chrono::steady_clock::now();
  if (report) {
    add(report->count, 1);
    add(report->seconds, std::chrono::duration<double>(now - begin).count());
  }
  return nullptr;
}

struct Start {
  Start() {
    const char* only = std::getenv("INJECT_RANK");
    const char* rank = std::getenv("RANK");
    if (!std::getenv("INJECT_OPERATION_US")) return;
    if (only && rank && std::strcmp(only, rank) != 0) return;
    open_report();
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
