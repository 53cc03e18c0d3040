// TensorBoard event files with scalars, without protobuf and TensorFlow.
//
// A file is a sequence of TFRecords (tensorflow/core/lib/io/record_writer.h):
//   uint64 length | uint32 masked crc32c(length) | data | uint32 masked crc32c(data)
// all little-endian; masked(c) = ((c >> 15) | (c << 17)) + 0xa282ead8. CRC-32C is Castagnoli's
// polynomial (RFC 3720, B.4). The data are protobuf messages (tensorflow/core/util/event.proto,
// tensorflow/core/framework/summary.proto):
//   Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
//   Summary { repeated Value value = 1; }     Value { string tag = 1; float simple_value = 2; }
// The first event of a file is file_version "brain.Event:2". TensorBoard finds files by
// "tfevents" in their names.
//
//   EventFile events("runs/today", time);
//   events.add(time, step, {{"loss", 3.2}, {"tokens_per_s", 1.2e4}});   // on disk on return
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nereus::launch {

using Scalars = std::vector<std::pair<std::string, double>>;

std::uint32_t crc32c(std::string_view bytes);
std::string tf_record(std::string_view data);
// The data of one event, without its record header.
std::string version_event(double wall_time);
std::string scalar_event(double wall_time, std::int64_t step, const Scalars& scalars);

class EventFile {
 public:
  // Creates the folder. Throws Errors (environment) if the folder or the file cannot be created.
  EventFile(const std::string& folder, double wall_time);
  void add(double wall_time, std::int64_t step, const Scalars& scalars);
  const std::string& path() const { return path_; }

 private:
  void write(std::string_view data);

  std::string path_;
  std::ofstream file_;
};

}  // namespace nereus::launch
