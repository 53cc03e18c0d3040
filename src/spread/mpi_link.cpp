#include "spread/mpi_link.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/format.hpp"
#include "spread/mpi_module.hpp"

namespace nereus::spread {

namespace {

constexpr const char* kHowToGet =
    "install Open MPI's development files (Debian: openmpi-bin libopenmpi-dev) and build again: "
    "./nereus does both when it runs under mpirun";

class MpiLink : public Link {
 public:
  MpiLink(const NereusMpiModule& module, const NereusMpiFacts& facts)
      : module_(module), facts_(facts) {}
  int rank() const override { return facts_.rank; }
  int size() const override { return facts_.size; }
  int threads() const override { return facts_.threads; }
  std::string host() const override { return facts_.host; }
  bool send(int to, std::string bytes) override {
    return module_.send(to, bytes.data(), bytes.size()) == 0;
  }
  bool receive(int& from, std::string& bytes) override {
    const char* data = nullptr;
    std::size_t size = 0;
    if (module_.receive(&from, &data, &size) == 0) return false;
    bytes.assign(data, size);
    return true;
  }
  std::size_t num_pending(int to) override { return module_.num_pending(to); }
  void close(bool all_there, int exit_code) override {
    module_.close(all_there ? 1 : 0, exit_code);
  }

 private:
  const NereusMpiModule& module_;
  const NereusMpiFacts facts_;
};

// Never closed: Open MPI's threads and exit handlers live in it.
const NereusMpiModule& load(const std::string& path, const std::string& build) {
  if (!std::filesystem::exists(path)) {
    throw_environment_error("mpi.no-module",
                            fmt::format("several ranks were started, but there is no {}", path),
                            kHowToGet);
  }
  // Global, because Open MPI's own plugins look for its symbols in the process.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    throw_environment_error("mpi.not-loaded", fmt::format("cannot load {}", dlerror()), kHowToGet);
  }
  const auto get = reinterpret_cast<NereusMpiModuleFunction>(dlsym(handle, kNereusMpiSymbol));
  const NereusMpiModule* module = get != nullptr ? get() : nullptr;
  if (module == nullptr || module->interface_version != kNereusMpiInterface ||
      module->build != build) {
    throw_environment_error(
        "mpi.other-build",
        fmt::format("{} belongs to another build of this program: {}, not {}", path,
                    module != nullptr && module->interface_version == kNereusMpiInterface
                        ? module->build
                        : "an unknown one",
                    build),
        "build both again, e.g. with ./nereus version");
  }
  return *module;
}

}  // namespace

std::string mpi_module_path() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / "nereus_mpi.so").string();
}

std::unique_ptr<Link> open_mpi_link(const std::string& module_path, const std::string& build) {
  const NereusMpiModule& module = load(module_path, build);
  NereusMpiFacts facts{};
  char error[512] = "";
  if (module.open(&facts, error, sizeof(error)) != 0) {
    throw_environment_error("mpi.init", fmt::format("Open MPI does not start: {}", error));
  }
  return std::make_unique<MpiLink>(module, facts);
}

std::unique_ptr<Ranks> open_ranks(const Launch& launch, Settings settings) {
  if (launch.kind == Launch::Kind::kAlone) return alone();
  if (launch.kind == Launch::Kind::kOther) {
    throw_environment_error("mpi.other-launcher",
                            fmt::format("{} started by {}, which this program cannot join",
                                        counted(launch.size, "rank was", "ranks were"), launch.by),
                            "start them with Open MPI's mpirun, or with srun --mpi=pmix");
  }
  auto link = open_mpi_link(mpi_module_path(), settings.build);
  if (link->size() != launch.size) {
    throw_environment_error("mpi.ranks-apart",
                            fmt::format("{} started {}, but Open MPI sees {}", launch.by,
                                        counted(launch.size, "rank"), link->size()),
                            "the launcher and the program's Open MPI must be of the same kind");
  }
  return over(std::move(link), std::move(settings));
}

}  // namespace nereus::spread
