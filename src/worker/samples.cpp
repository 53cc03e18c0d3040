#include "worker/samples.hpp"

#include "base/error.hpp"
#include "data/image_folder.hpp"
#include "data/loader.hpp"
#include "data/synthetic.hpp"
#include "model/script.hpp"
#include "worker/masking.hpp"
#include "worker/tensor_samples.hpp"

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

std::shared_ptr<const data::SampleSource> open_source(const job::Job& job) {
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

// The micro-batches that a rank reads in one step, in turn: its forward passes of the first and the
// last layer.
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

struct Reader {
  std::vector<MicroBatch> reads;
  std::unique_ptr<data::Loader> loader;
  std::int64_t seq = 0;
  std::int64_t image = 0;                           // height and width; 0: tokens
  std::optional<model::TransformerShape> masked{};  // of a model that tells hidden words
  std::uint64_t seed = 0;
};

Batch to_batch(data::Batch& read, const Reader& reader, std::int64_t step, std::int64_t first) {
  const auto count = static_cast<std::int64_t>(read.samples.size());
  Batch batch;
  if (reader.image > 0) {
    batch.inputs = at::tensor(read.pixels).view({count, 3, reader.image, reader.image});
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

ReadBatch make_reader(const job::Job& job, int rank, std::int64_t first_step) {
  if (job.data.kind == job::Data::Kind::kTensors) return tensor_reader(job);
  const auto reader = std::make_shared<Reader>();
  reader->reads = reads_of(rank_plan(job.plan.placement, rank), job.plan.model.num_layers());
  const model::Model& model = job.plan.model;
  if (model.cnn)
    reader->image = model.cnn->image;
  else
    reader->seq = token_kind(model).second;
  if (model.family == "bert") reader->masked = model.transformer;
  reader->seed = job.training.seed;
  const std::int64_t global_batch = job.plan.placement.global_batch;
  const auto reads = static_cast<std::int64_t>(reader->reads.size());
  const std::int64_t num_reads = reads * (job.training.steps - first_step);
  const auto list = [reader = reader.get(), first_step, global_batch, reads,
                     num_reads](std::int64_t k) {
    std::vector<std::uint64_t> samples;
    if (k >= num_reads) return samples;  // the end
    const MicroBatch& batch = reader->reads[static_cast<std::size_t>(k % reads)];
    const std::int64_t step = first_step + k / reads;
    for (std::int64_t i = 0; i < batch.num_samples; ++i)
      samples.push_back(static_cast<std::uint64_t>(step * global_batch + batch.first_sample + i));
    return samples;
  };
  if (reads > 0)
    reader->loader = std::make_unique<data::Loader>(
        open_source(job), list,
        data::LoaderOptions{.workers = job.data.workers, .prefetch = job.data.prefetch});

  return [reader, global_batch](std::int64_t step, std::int64_t first, std::int64_t count) {
    std::optional<data::Batch> read = reader->loader->next();
    NEREUS_CHECK(
        read && static_cast<std::int64_t>(read->samples.size()) == count &&
            read->samples.front() == static_cast<std::uint64_t>(step * global_batch + first),
        "samples are read in the order of the passes");
    return to_batch(*read, *reader, step, first);
  };
}

}  // namespace nereus::worker
