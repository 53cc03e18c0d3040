// Manifests of checkpoints, sealed so that the checksum does not stop everything; and ranks'
// reports. What is accepted comes back the same, and its tensors are whole.
#include "checkpoint/manifest.hpp"
#include "fuzz.hpp"

NEREUS_FUZZER(manifest)(const std::uint8_t* data, std::size_t size) {
  using namespace nereus;
  using namespace nereus::checkpoint;
  fuzz(data, size, [](std::string_view text) {
    const RankReport report = parse_report(text, "report");
    NEREUS_CHECK(parse_report(report_to_json(report), "again") == report, "a report changes");
    make_manifest({}, {}, {report});
  });
  return fuzz(data, size, [](std::string_view text) {
    std::string body(text);
    if (!body.ends_with('\n')) body += '\n';
    const Manifest manifest = parse_manifest(seal(body), "manifest.json");
    NEREUS_CHECK(parse_manifest(manifest_to_json(manifest), "again") == manifest,
                 "a manifest changes");
    for (const LogicalTensor& tensor : manifest.tensors) {
      std::int64_t elements = 0;
      for (const Piece& piece : tensor.pieces) {
        const SliceMap map(tensor.shape, piece.part);
        NEREUS_CHECK(piece.end <= map.size(), "a piece beyond its slice");
        NEREUS_CHECK(map.element(piece.end - 1) < num_elements(tensor.shape), "beyond its tensor");
        elements += piece.end - piece.begin;
      }
      NEREUS_CHECK(elements == num_elements(tensor.shape), "a tensor that is not whole");
    }
  });
}
