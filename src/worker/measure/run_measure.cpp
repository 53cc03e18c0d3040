#include "worker/measure/run_measure.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/build_info.hpp"
#include "base/error.hpp"
#include "base/remove_tree.hpp"
#include "base/write_file.hpp"
#include "cluster/this_machine.hpp"
#include "data/disk_speed.hpp"
#include "data/image_folder.hpp"
#include "data/prepare_speed.hpp"
#include "job/reporter.hpp"
#include "worker/device/gpu.hpp"
#include "worker/device/torch_compat.hpp"
#include "worker/measure/measure_layers.hpp"
#include "worker/run/rank_messages.hpp"

namespace nereus::worker {

namespace {

namespace fs = std::filesystem;

std::string first_line_with(const char* file, const std::string& word) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.find(word) != std::string::npos) return line;
  return {};
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  ..": the first word with two dots.
std::string driver_version() {
  std::istringstream words(first_line_with("/proc/driver/nvidia/version", "NVRM"));
  for (std::string word; words >> word;)
    if (std::count(word.begin(), word.end(), '.') >= 1 && std::isdigit(word[0])) return word;
  return {};
}

profile::Context context_of(const job::MeasureJob& job, const RankOptions& place,
                            const Links& links) {
  profile::Context c;
  const bool gpu = job.device == "cuda";
  c.device = gpu ? "GPU" : "CPU";
  c.device_name = gpu ? gpu_name() : cluster::this_cpu();
  if (gpu) c.driver = driver_version();
  c.library = worker_info().library;
  c.build = build_id();
  c.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  c.host = host;
  utsname system{};
  if (uname(&system) == 0)
    c.system = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  c.backend = job.comm;
  c.cores = cluster::usable_cores();
  c.ranks = place.num_ranks;
  c.hosts = links.num_hosts();
  c.threads = job.threads;
  c.quick = job.quick;
  return c;
}

// A file that goes when this does.
struct Scratch {
  fs::path path;
  ~Scratch() { remove_tree(path); }
};

profile::Disk measure_disk(const job::MeasureJob& job, const Say& say) {
  profile::Disk disk;
  disk.folder = job.folder;
  disk.bytes = job.quick ? 64 << 20 : 512 << 20;
  const Scratch file{fs::path(job.folder) / fmt::format("nereus-measure-{}", getpid())};
  say(fmt::format("disk: writing a file to {}", job.folder));
  data::write_noise(file.path, disk.bytes);
  const auto reads = [&](bool cold) {
    say(cold ? "disk: reading it cold" : "disk: reading it from the page cache");
    const data::ReadTimes times = data::read_file_times(file.path, job.quick ? 2 : 3, cold);
    return profile::DiskReads{profile::rates_of(times.bytes, times.seconds), times.bytes_read,
                              times.bytes_loaded};
  };
  disk.cold = reads(true);
  disk.warm = reads(false);
  return disk;
}

std::vector<profile::Preparation> measure_preparation(const job::MeasureJob& job, const Say& say) {
  const Scratch folder{fs::path(job.scratch) / "prepare"};
  fs::create_directories(folder.path);
  std::vector<profile::Preparation> list;
  const auto add = [&](const char* kind, double bytes, const data::SampleSource& source) {
    say(fmt::format("preparation: {}", kind));
    const data::PrepareTimes times =
        data::prepare_times(source, depth_of(job.quick).rounds, job.quick ? 0.05 : 0.2);
    list.push_back({kind, bytes, profile::rates_of(1, times.seconds_per_sample)});
  };
  add("tokens", data::kMadeUpTokenBytes, *data::made_up_tokens(folder.path));
  if (job.data.empty()) {
    add("images", data::kMadeUpPictureBytes, *data::made_up_pictures(folder.path));
    return list;
  }
  const data::ImageFolder pictures = data::ImageFolder::open(job.data);
  double bytes = 0;
  for (const auto& entry : pictures.entries)
    bytes += static_cast<double>(fs::file_size(pictures.file(entry)));
  const auto classes = static_cast<std::int64_t>(pictures.classes.size());
  const auto count = static_cast<double>(pictures.entries.size());
  add("images", bytes / count, data::ImageFolderSamples(pictures, 224, classes, {}));
  return list;
}

void measure(const RankOptions& place, const job::MeasureJob& job, job::Reporter& reporter) {
  const at::Device device(job.device);
  if (job.device == "cuda" && job.comm == "nccl") {
    choose_gpu(place.local_rank);
    if (place.num_ranks > 1) prepare_waiting_kernels();
  }
  use_own_stream(device);
  choose_kernels(device);
  at::set_num_threads(job.threads);
  CommOptions options;
  options.backend = job.comm;
  options.rank = place.rank;
  options.num_ranks = place.num_ranks;
  options.address = place.address;
  options.port = place.port;
  options.job = fmt::format("{}-{}", place.address, place.port);
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(job.timeout_s * 1000));
  const std::unique_ptr<Comm> comm = open_comm(options);
  Links links(*comm, device, job.quick);

  std::int64_t number = 0;
  const Say say = [&](const std::string& what) { reporter.doing(++number, what); };
  const Depth depth = depth_of(job.quick);
  profile::Profile found;
  profile::Machine& machine = found.machine;
  machine.context = context_of(job, place, links);
  const bool first = place.rank == 0;
  if (first && job.wants("kernels")) machine.kernels = measure_kernels(device, depth, say);
  if (first && job.wants("memory")) machine.copies = measure_copies(device, depth, say);
  if (first && job.wants("jitter")) {
    say("jitter");
    machine.jitter = measure_jitter(device, job.quick);
  }
  if (first && job.wants("disk")) machine.disk = measure_disk(job, say);
  if (first && job.wants("prepare")) machine.preparations = measure_preparation(job, say);
  links.barrier();
  if (job.wants("links")) machine.links = links.measure_pairs(say);
  if (job.wants("collectives")) machine.collectives = links.measure_collectives(say);
  if (job.wants("layers") && job.num_jobs > 0)
    for (profile::MeasuredLayer& layer :
         measure_layers(job, place, links, machine.context.device, say)) {
      profile::mend_falling(layer, found.notes);
      found.layers.push_back(std::move(layer));
    }
  if (first) write_file(job.output, profile::profile_to_json(found));
}

}  // namespace

int run_measure(const RankOptions& place) {
  job::Reporter reporter(place.report_fd, place.rank);
  try {
    const job::MeasureJob job = job::load_measure_job(place.job_file);
    if (job.build != build_id())
      throw_input_error("train.worker-build",
                        fmt::format("the request is of build {}, this worker of build {}",
                                    job.build, build_id()));
    reporter.send(hello_of_rank());
    measure(place, job, reporter);
    job::Message done;
    done.kind = job::MessageKind::kDone;
    reporter.send(done);
    return 0;
  } catch (...) {
    return tell_failures(reporter);
  }
}

}  // namespace nereus::worker
