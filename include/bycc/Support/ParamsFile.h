// STEM.params, the weights of a compiled model: little-endian, 64-bit offsets,
// payloads at multiples of 64 bytes so that a mapping can be used as it is. The
// table stands after the payloads: an offset is final when a constant is added.
//
//   0    header, 128 bytes (ParamsHeader)
//   128  payloads, each padded with zeros to 64 bytes
//   T    table: per entry  u32 name bytes, u32 rank, u32 dtype, u32 packed,
//        i64 dims[rank], u64 offset, u64 bytes, u64 hash, the name padded with
//        zeros to 8 bytes
//
// Offsets count from the start of the file, which is bycc_exec::weights.
#pragma once

#include "bycc/Support/DType.h"
#include "bycc/Support/File.h"

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace bycc {

using SetId = std::array<uint8_t, 16>;

struct ParamsHeader {
  char magic[8];        // "BYCCPRM1"
  uint32_t version;     // 1
  uint32_t headerBytes; // 128
  uint8_t setId[16];
  uint64_t fileBytes;
  uint64_t numEntries;
  uint64_t tableOffset;
  uint64_t tableBytes;
  uint64_t tableHash;  // hashBytes of the table, which holds the payloads' hashes
  uint64_t headerHash; // hashBytes of the 72 bytes before it
  uint8_t zero[48];
};
static_assert(sizeof(ParamsHeader) == 128);
inline constexpr uint32_t paramsVersion = 1;
inline constexpr uint64_t paramsAlignment = 64;

struct ParamsEntry {
  std::string name;
  DType dtype = DType::Float32;
  std::vector<int64_t> dims;
  uint64_t offset = 0; // from the start of the file
  uint64_t bytes = 0;
  uint64_t hash = 0;     // hashBytes of the payload
  bool isPacked = false; // bytes that a vendor made for a region, no tensor of the model
};

// Collects constants, then gives the file as pieces for OutputSet::add.
class ParamsWriter {
public:
  // Returns the payload's offset in the file. The bytes are not copied; adding
  // the same view again gives the same offset. A name that is taken gets ".1", ...
  uint64_t add(const std::string &name, DType dtype, const std::vector<int64_t> &dims,
               std::shared_ptr<const Storage> storage, uint64_t begin, uint64_t bytes);
  // Bytes that a vendor made; equal ones share an entry. `hash`: hashBytes of them, where it is
  // known already.
  uint64_t addPacked(const std::string &name, std::shared_ptr<const Storage> storage,
                     std::optional<uint64_t> hash = {});
  bool empty() const { return entries_.empty(); }
  const std::vector<ParamsEntry> &entries() const { return entries_; }
  // Makes header and table. Views stay valid while the writer lives; the file's
  // hash (ArtifactFile::hash) is tableHash().
  std::vector<std::string_view> finish(const SetId &setId);
  uint64_t fileBytes() const;
  uint64_t tableHash() const { return header_.tableHash; }

private:
  uint64_t addEntry(ParamsEntry entry, std::shared_ptr<const Storage> storage, uint64_t begin);

  std::vector<ParamsEntry> entries_;
  std::vector<std::string_view> payloads_;
  std::vector<std::shared_ptr<const Storage>> storages_;
  std::map<std::tuple<const uint8_t *, uint64_t, DType, std::vector<int64_t>>, uint64_t> offsets_;
  std::map<std::string, int> names_;
  uint64_t end_ = sizeof(ParamsHeader);
  ParamsHeader header_ = {};
  std::string table_;
};

// A checked view of a params file or of its embedded copy.
struct ParamsFile {
  SetId setId = {};
  uint64_t bytes = 0; // of the file
  uint64_t tableHash = 0;
  std::vector<ParamsEntry> entries;
};

// Checks header and table (sizes, bounds, hashes of both); Status::Load with
// `file` in the message. Payloads are not read.
Expected<ParamsFile> readParams(const uint8_t *data, uint64_t size, const std::string &file);
// The same for a file in pieces, as a ParamsWriter gives them: the first has the header,
// the last is the table.
Expected<ParamsFile> readParams(std::span<const std::string_view> pieces, const std::string &file);
// Re-hashes every payload; Status::Load names the first that differs.
Expected<> verifyPayloads(const ParamsFile &params, const uint8_t *data, const std::string &file);

} // namespace bycc
