#include "checkpoint/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>

#include "base/error.hpp"
#include "base/write_file.hpp"
#include "checkpoint/files.hpp"
#include "spec/value.hpp"

namespace nereus::checkpoint {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 20;

// One tensor of the result.
struct Item {
  StoredTensor stored;
  const LogicalTensor* from = nullptr;
};

void write_item(const Checkpoint& saved, const Item& item, std::vector<std::byte>& buffer,
                SafetensorsWriter& writer) {
  const std::size_t width = element_size(item.stored.dtype);
  const std::int64_t total = num_elements(item.stored.shape);
  const auto step = static_cast<std::int64_t>(kChunkBytes / width);
  for (std::int64_t begin = 0; begin < total; begin += step) {
    const std::int64_t end = std::min(total, begin + step);
    buffer.resize(static_cast<std::size_t>(end - begin) * width);
    saved.read_range(item.from->name, item.from->kind, {}, begin, end, buffer);
    writer.write(buffer);
  }
}

// Full files one after another, as the transformers library fills them.
std::vector<std::vector<Item>> divide(std::vector<Item> items, std::uint64_t most_bytes) {
  std::vector<std::vector<Item>> files(1);
  std::uint64_t filled = 0;
  for (Item& item : items) {
    const std::uint64_t bytes = *num_bytes(item.stored.dtype, item.stored.shape);
    if (!files.back().empty() && filled + bytes > most_bytes) {
      files.emplace_back();
      filled = 0;
    }
    filled += bytes;
    files.back().push_back(std::move(item));
  }
  return files;
}

std::uint64_t write_one(const Checkpoint& saved, const std::vector<Item>& items,
                        const std::string& path, const Metadata& metadata) {
  std::vector<StoredTensor> tensors;
  std::map<std::string_view, const Item*> by_name;
  for (const Item& item : items) {
    tensors.push_back(item.stored);
    by_name[item.stored.name] = &item;
  }
  const std::string partial = path + std::string(kPartial);
  SafetensorsWriter writer(partial, std::move(tensors), metadata);
  std::vector<std::byte> buffer;
  for (const StoredTensor& tensor : writer.tensors())
    write_item(saved, *by_name.at(tensor.name), buffer, writer);
  const FileSum sum = writer.finish();
  if (std::rename(partial.c_str(), path.c_str()) != 0) cannot_write(path, errno);
  return sum.size;
}

std::string index_json(const std::vector<std::vector<Item>>& files,
                       const std::vector<JoinedFile>& names) {
  std::map<std::string, std::string> map;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (const Item& item : files[i]) {
      map[item.stored.name] = names[i].name;
      total += *num_bytes(item.stored.dtype, item.stored.shape);
    }
  std::string text =
      fmt::format("{{\n  \"metadata\": {{\"total_size\": {}}},\n  \"weight_map\": {{", total);
  const char* separator = "";
  for (const auto& [name, file] : map) {
    text += fmt::format("{}\n    {}: \"{}\"", separator, spec::to_json({.data = name}), file);
    separator = ",";
  }
  return text + "\n  }\n}\n";
}

}  // namespace

std::vector<const LogicalTensor*> model_tensors(const Checkpoint& saved) {
  std::vector<const LogicalTensor*> tensors;
  for (const LogicalTensor& tensor : saved.manifest().tensors) {
    const bool wanted = tensor.kind == TensorKind::kWeight ||
                        tensor.kind == TensorKind::kRunningStatistic ||
                        (tensor.kind == TensorKind::kMasterWeight &&
                         saved.find(tensor.name, TensorKind::kWeight) == nullptr);
    if (wanted) tensors.push_back(&tensor);
  }
  return tensors;
}

std::vector<JoinedFile> join_tensors(const Checkpoint& saved,
                                     const std::vector<const LogicalTensor*>& tensors,
                                     const std::string& folder, const JoinOptions& options) {
  std::vector<Item> items;
  for (const LogicalTensor* tensor : tensors)
    items.push_back({{tensor->name, tensor->dtype, tensor->shape}, tensor});
  const std::vector<std::vector<Item>> files = divide(std::move(items), options.most_bytes);
  std::vector<JoinedFile> written;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name =
        files.size() == 1 ? "model.safetensors"
                          : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files.size());
    const std::uint64_t size = write_one(saved, files[i], folder + "/" + name, options.metadata);
    written.push_back({name, size});
  }
  if (files.size() > 1) {
    const std::string index = index_json(files, written);
    write_file(folder + "/model.safetensors.index.json", index);
    written.push_back({"model.safetensors.index.json", index.size()});
  }
  return written;
}

}  // namespace nereus::checkpoint
