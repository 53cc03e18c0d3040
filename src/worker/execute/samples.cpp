#include "worker/execute/samples.hpp"

#include <set>

#include "base/error.hpp"
#include "data/image_folder.hpp"
#include "data/loader.hpp"
#include "data/page_cache.hpp"
#include "data/synthetic.hpp"
#include "model/script_model.hpp"
#include "worker/execute/masking.hpp"
#include "worker/execute/tensor_samples.hpp"

namespace nereus::worker {

namespace {

// Vocabulary and sequence of a model that reads tokens.
std::pair<std::int64_t, std::int64_t> token_kind(const model::Model& model) {
  if (model.transformer) return {model.transformer->vocab, model.transformer->seq};
  const model::ScriptModel script = model::open_script(*model.script);
  if (!script.reads_tokens() || script.input.vocabulary < 1)
    throw_input_error("train.data-kind", model.name + " is trained on tensors of its own", {},
                      "--data FILE.safetensors, written by nereus_export.tensors");
  return {script.input.vocabulary, script.input.shape.front()};
}

// The micro-batches that a rank reads in one step, in order: its forward passes of the first and
// the last layer.
std::vector<MicroBatch> reads_of(const RankPlan& mine, int num_layers) {
  std::vector<MicroBatch> reads;
  for (const schedule::PipelineOp& op : mine.order) {
    if (op.pass != schedule::Pass::kForward) continue;
    const StageWork& work = mine.stage(op.stage);
    if (work.first_layer == 0 || work.first_layer + work.num_layers == num_layers)
      reads.push_back(work.micro_batch(op.micro_batch));
  }
  return reads;
}

// The samples of each micro-batch that a rank reads, from a step up to the job's last.
class ReadList {
 public:
  ReadList(const job::Job& job, int rank, std::int64_t first_step)
      : reads_(reads_of(rank_plan(job.plan.placement, rank), job.plan.model.num_layers())),
        first_step_(first_step),
        global_batch_(job.plan.placement.global_batch),
        size_(static_cast<std::int64_t>(reads_.size()) * (job.training.steps - first_step)) {}

  std::int64_t size() const { return size_; }
  std::int64_t step(std::int64_t k) const {
    return first_step_ + k / static_cast<std::int64_t>(reads_.size());
  }
  const MicroBatch& batch(std::int64_t k) const {
    return reads_[static_cast<std::size_t>(k) % reads_.size()];
  }
  std::vector<std::uint64_t> operator()(std::int64_t k) const {
    std::vector<std::uint64_t> samples;
    if (k >= size_) return samples;  // the end
    for (std::int64_t i = 0; i < batch(k).num_samples; ++i)
      samples.push_back(
          static_cast<std::uint64_t>(step(k) * global_batch_ + batch(k).first_sample + i));
    return samples;
  }

 private:
  std::vector<MicroBatch> reads_;
  std::int64_t first_step_;
  std::int64_t global_batch_;
  std::int64_t size_;
};

struct Reader {
  std::unique_ptr<data::Loader> loader;
  std::int64_t seq = 0;
  std::int64_t image = 0;                           // height and width; 0: tokens
  std::optional<model::TransformerShape> masked{};  // of a model that tells hidden words
  std::uint64_t seed = 0;
};

// Uses the numbers without a copy: images of a batch are tens of megabytes, and a copy takes as
// long as reading them from memory twice.
at::Tensor take_pixels(std::vector<float>&& pixels, const std::vector<std::int64_t>& shape) {
  const auto kept = std::make_shared<std::vector<float>>(std::move(pixels));
  return at::from_blob(
      kept->data(), shape, [kept](void*) {}, at::kFloat);
}

// Memory that a GPU copies from by itself, while the host goes on.
std::span<float> pinned_room(data::Batch& read, std::size_t count) {
  const auto pinned = std::make_shared<at::Tensor>(
      at::empty({static_cast<std::int64_t>(count)},
                at::TensorOptions(at::kCPU).dtype(at::kFloat).pinned_memory(true)));
  read.elsewhere = pinned;
  return {pinned->data_ptr<float>(), count};
}

Batch to_batch(data::Batch& read, const Reader& reader, std::int64_t step, std::int64_t first) {
  const auto count = static_cast<std::int64_t>(read.samples.size());
  Batch batch;
  if (reader.image > 0) {
    const std::vector<std::int64_t> shape = {count, 3, reader.image, reader.image};
    batch.inputs = read.elsewhere
                       ? std::static_pointer_cast<at::Tensor>(read.elsewhere)->view(shape)
                       : take_pixels(std::move(read.pixels), shape);
    batch.targets = at::tensor(read.labels);
    return batch;
  }
  const at::Tensor tokens = at::tensor(read.tokens).view({count, reader.seq + 1});
  if (reader.masked)
    return hide_words(tokens.narrow(1, 0, reader.seq), *reader.masked, reader.seed, step, first);
  batch.inputs = tokens.narrow(1, 0, reader.seq).contiguous();
  batch.targets = tokens.narrow(1, 1, reader.seq).contiguous();
  return batch;
}

}  // namespace

Source open_source(const job::Job& job) {
  const data::SampleOrder order{job.training.seed, job.data.shuffle};
  const model::Model& model = job.plan.model;
  if (model.cnn) {
    const std::int64_t classes = model.cnn->classes, size = model.cnn->image;
    if (job.data.kind == job::Data::Kind::kSynthetic)
      return std::make_shared<data::SyntheticImages>(classes, size, order.seed);
    return std::make_shared<data::ImageFolderSamples>(data::ImageFolder::open(job.data.path), size,
                                                      classes, order);
  }
  const auto [vocabulary, seq] = token_kind(model);
  if (job.data.kind == job::Data::Kind::kSynthetic)
    return std::make_shared<data::SyntheticTokens>(vocabulary, seq, order.seed);
  return std::make_shared<data::TokenFileSamples>(data::TokenFile::open(job.data.path), seq,
                                                  vocabulary, order);
}

ReadBatch make_reader(const job::Job& job, int rank, std::int64_t first_step, Source source) {
  if (job.data.kind == job::Data::Kind::kTensors) return tensor_reader(job);
  const auto reader = std::make_shared<Reader>();
  const model::Model& model = job.plan.model;
  if (model.cnn)
    reader->image = model.cnn->image;
  else
    reader->seq = token_kind(model).second;
  if (model.family == "bert") reader->masked = model.transformer;
  reader->seed = job.training.seed;
  const std::int64_t global_batch = job.plan.placement.global_batch;
  const ReadList list(job, rank, first_step);
  data::LoaderOptions options{.workers = job.data.workers, .prefetch = job.data.prefetch};
  if (model.cnn && job.data.pinned && at::Device(job.machine.device).is_cuda())
    options.room = pinned_room;
  if (list.size() > 0)
    reader->loader = std::make_unique<data::Loader>(source ? source : open_source(job), list,
                                                    std::move(options));

  return [reader, global_batch](std::int64_t step, std::int64_t first, std::int64_t count) {
    std::optional<data::Batch> read = reader->loader->next();
    NEREUS_CHECK(
        read && static_cast<std::int64_t>(read->samples.size()) == count &&
            read->samples.front() == static_cast<std::uint64_t>(step * global_batch + first),
        "samples are read in the order of the passes");
    return to_batch(*read, *reader, step, first);
  };
}

bool make_cold(const job::Job& job, int rank, std::int64_t first_step, Source source) {
  if (job.data.kind == job::Data::Kind::kSynthetic) return false;
  if (job.data.kind == job::Data::Kind::kTensors) return data::evict(job.data.path);
  if (!source) source = open_source(job);
  std::set<std::string> files;
  const ReadList list(job, rank, first_step);
  for (std::int64_t k = 0; k < list.size(); ++k)
    for (const std::uint64_t g : list(k)) files.insert(source->file_of(g));
  source.reset();  // what is mapped stays
  bool all = true;
  for (const std::string& file : files) all = data::evict(file) && all;
  return all;
}

bool make_warm(const job::Job& job, int rank, std::int64_t first_step, Source source) {
  if (job.data.kind == job::Data::Kind::kSynthetic) return false;
  const ReadList list(job, rank, first_step);
  if (job.data.kind == job::Data::Kind::kTensors) {
    const ReadBatch read = tensor_reader(job);
    for (std::int64_t k = 0; k < list.size(); ++k)
      read(list.step(k), list.batch(k).first_sample, list.batch(k).num_samples);
    return true;
  }
  if (!source) source = open_source(job);
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(source->shape().num_tokens));
  std::vector<float> pixels(static_cast<std::size_t>(source->shape().num_pixels));
  for (std::int64_t k = 0; k < list.size(); ++k)
    for (const std::uint64_t g : list(k)) source->read(g, {.tokens = tokens, .pixels = pixels});
  return true;
}

}  // namespace nereus::worker
