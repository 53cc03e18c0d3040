// The constants of MLCommons Chakra's execution traces: fields of its protobuf messages, kinds of
// nodes and collectives. Source: github.com/mlcommons/chakra, schema/protobuf/et_def.proto (2025),
// and, for the types of attributes, src/feeder/et_feeder_node.cpp, which accepts only one type for
// each attribute.
//
// A file is a stream of messages, each preceded by its length as a varint: one GlobalMetadata, then
// Nodes. ASTRA-sim (its workload/Workload.cc) interprets nodes as follows:
//   compute     takes duration_micros, or num_ops and tensor_size under its roofline
//   collective  all-reduce, all-gather, reduce-scatter, all-to-all; pg_name is a key in the file of
//               communicator groups, a whole number above 0
//   comm_size   all-reduce, reduce-scatter, all-to-all: the rank's whole buffer; all-gather: the
//               rank's own part
#pragma once

#include <cstdint>

namespace nereus::chakra {

namespace field {
// GlobalMetadata
inline constexpr int kVersion = 1;
inline constexpr int kMetadataAttribute = 2;
// Node
inline constexpr int kId = 1;
inline constexpr int kName = 2;
inline constexpr int kType = 3;
inline constexpr int kDataDependencies = 5;
inline constexpr int kDuration = 7;
inline constexpr int kAttribute = 10;
// AttributeProto
inline constexpr int kAttributeName = 1;
inline constexpr int kInt32 = 7;
inline constexpr int kInt64 = 9;
inline constexpr int kUint64 = 13;
inline constexpr int kBool = 27;
inline constexpr int kString = 29;
}  // namespace field

enum class NodeType : std::uint8_t { kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7 };
enum class CommType : std::uint8_t {
  kAllReduce = 0,
  kAllGather = 2,
  kAllToAll = 6,
  kReduceScatter = 7
};

}  // namespace nereus::chakra
