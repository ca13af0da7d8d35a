#include "RegionCache.h"

#include "TuningRecords.h"
#include "bycc/Compiler.h"
#include "bycc/Support/File.h"
#include "bycc/Support/GraphSet.h"
#include "bycc/Support/Hash.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bycc {
namespace {

// In front of the blob; the weights follow at the next multiple of 64.
struct CacheHeader {
  char magic[8];
  uint64_t blobBytes, weightsBytes;
  uint64_t blobHash, weightsHash; // hashBytes
  uint8_t unused[24];
};
static_assert(sizeof(CacheHeader) == 64);
constexpr char cacheMagic[] = "byccreg2";

uint64_t weightsPlace(uint64_t blobBytes) {
  return sizeof(CacheHeader) + (blobBytes + 63) / 64 * 64;
}

std::string_view textOf(const uint8_t *data, uint64_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

} // namespace

// Its version, what it is set to, and the file that it came from.
const std::string &RegionCache::identityOf(const Vendor &vendor) {
  auto [known, isNew] = identities_.try_emplace(vendor.name());
  if (!isNew)
    return known->second;
  known->second =
      vendor.name() + "\n" + vendor.versionText() + "\n" + vendor.settings.text() + "\n";
  if (!vendor.origin.empty())
    if (auto file = mapFile(vendor.origin))
      known->second += hexText(hash128((*file)->data(), (*file)->size()));
  return known->second;
}

std::string RegionCache::nameOf(const Vendor &vendor, const TargetInfo &target,
                                const RegionView &seen, const RegionView &content) {
  const bycc_region &region = seen.region();
  std::string all = std::string(versionText()) + "\n" + std::to_string(BYCC_VENDOR_ABI_VERSION) +
                    "\n" + identityOf(vendor) + "\n" + machineText(target) + "\n" +
                    (target.keepsNan ? "keep" : "fast") + "\n" + hexText(contentHash(region)) +
                    hexText(contentHash(content.region())) + "\n";
  all +=
      textOf(static_cast<const uint8_t *>(region.tuning), region.tuning ? region.tuning_bytes : 0);
  return hexText(hash128(all.data(), all.size())) + ".region";
}

std::optional<RegionOutcome> RegionCache::find(const std::string &name) const {
  auto file = mapFile(folder_ + "/" + name);
  CacheHeader header;
  if (!file || (*file)->size() < sizeof header)
    return std::nullopt;
  uint64_t size = (*file)->size();
  std::memcpy(&header, (*file)->data(), sizeof header);
  if (std::memcmp(header.magic, cacheMagic, sizeof header.magic) != 0 || header.blobBytes > size ||
      header.weightsBytes > size || weightsPlace(header.blobBytes) + header.weightsBytes != size)
    return std::nullopt;
  const uint8_t *blob = (*file)->data() + sizeof header;
  const uint8_t *weights = (*file)->data() + weightsPlace(header.blobBytes);
  if (hashBytes(blob, header.blobBytes) != header.blobHash ||
      hashBytes(weights, header.weightsBytes) != header.weightsHash)
    return std::nullopt;
  RegionOutcome outcome;
  outcome.kind = RegionOutcome::Kind::Done;
  outcome.blob.assign(blob, blob + header.blobBytes);
  if (header.weightsBytes > 0) {
    outcome.weights = Storage::viewOf(weights, header.weightsBytes, *file);
    outcome.weightsHash = header.weightsHash;
  }
  return outcome;
}

Expected<> RegionCache::add(const std::string &name, const RegionOutcome &outcome) const {
  BYCC_TRY(makeFolder(folder_));
  std::string path = folder_ + "/" + name;
  std::string_view blob = textOf(outcome.blob.data(), outcome.blob.size());
  std::string_view weights =
      outcome.weights ? textOf(outcome.weights->data(), outcome.weights->size()) : "";
  CacheHeader header{};
  std::memcpy(header.magic, cacheMagic, sizeof header.magic);
  header.blobBytes = blob.size();
  header.weightsBytes = weights.size();
  header.blobHash = hashText(blob);
  header.weightsHash = outcome.weightsHash ? *outcome.weightsHash : hashText(weights);
  // Beside its place, under a name that is no other's.
  std::string temporary = temporaryPath(path);
  int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return error(Status::Io, {temporary}) << "cannot be written: " << std::strerror(errno);
  std::string gap(weightsPlace(blob.size()) - sizeof header - blob.size(), '\0');
  Expected<> written;
  for (std::string_view piece : {textOf(reinterpret_cast<const uint8_t *>(&header), sizeof header),
                                 blob, std::string_view(gap), weights})
    if (written)
      written = writeAll(file, piece, temporary);
  ::close(file);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = error(Status::Io, {path}) << "cannot be written: " << std::strerror(errno);
  if (!written)
    ::unlink(temporary.c_str());
  return written;
}

} // namespace bycc
