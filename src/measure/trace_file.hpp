// A file as a stream, decompressed if it is gzip: traces of gigabytes are read with a buffer of a
// few kilobytes.
//
//   TraceFile file("trace.json.gz");
//   std::istream in(&file);
//   parse(in);
//   file.throw_if_broken();                        // the parser would see the end of the text
#pragma once

#include <streambuf>
#include <string>
#include <vector>

struct gzFile_s;

namespace nereus::measure {

class TraceFile : public std::streambuf {
 public:
  explicit TraceFile(const std::string& path);  // throws Errors such as spec.no-file
  ~TraceFile() override;
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void throw_if_broken() const;  // gzip errors: measure.trace-truncated, measure.trace-broken

 protected:
  int_type underflow() override;

 private:
  std::string path_;
  gzFile_s* file_ = nullptr;
  std::vector<char> buffer_;
  std::string fault_;
  bool ends_early_ = false;
};

}  // namespace nereus::measure
