// Layout: 16 bytes checksum of the rest, magic, then the fields in order,
// little-endian; texts and the object with their length in front.
#include "Blob.h"

#include "bycc/Support/Hash.h"

#include <cstring>

namespace bycc::ccompiler {

namespace {

constexpr uint64_t magic = 0x31434f4343; // "CCOC1"
constexpr size_t sumBytes = 16;
constexpr uint64_t maxArena = uint64_t{1} << 46;

class BlobWriter {
public:
  void number(uint64_t value) {
    for (int i = 0; i < 8; ++i)
      bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
  }
  void list(const void *data, size_t size) {
    number(size);
    auto begin = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  }
  std::vector<uint8_t> bytes = std::vector<uint8_t>(sumBytes);
};

// Reads past the end give nothing and are remembered.
class BlobReader {
public:
  explicit BlobReader(std::span<const uint8_t> bytes) : left_(bytes) {}
  uint64_t number() {
    std::span<const uint8_t> from = take(8);
    uint64_t value = 0;
    for (size_t i = 0; i < from.size(); ++i)
      value |= uint64_t{from[i]} << 8 * i;
    return value;
  }
  std::span<const uint8_t> list() { return take(number()); }
  std::string text() {
    std::span<const uint8_t> from = list();
    return {from.begin(), from.end()};
  }
  bool isWhole() const { return ok_ && left_.empty(); }
  bool ok() const { return ok_; }

private:
  std::span<const uint8_t> take(uint64_t size) {
    ok_ = ok_ && size <= left_.size();
    if (!ok_)
      return {};
    std::span<const uint8_t> front = left_.first(size);
    left_ = left_.subspan(size);
    return front;
  }
  std::span<const uint8_t> left_;
  bool ok_ = true;
};

} // namespace

std::vector<uint8_t> writeBlob(const Blob &blob) {
  BlobWriter writer;
  for (uint64_t field : {magic, uint64_t{blob.numInputs}, uint64_t{blob.numOutputs},
                         blob.arenaBytes, blob.weightsEnd, uint64_t{blob.steps.size()}})
    writer.number(field);
  for (const BlobStep &step : blob.steps) {
    writer.list(step.name.data(), step.name.size());
    writer.list(step.source.data(), step.source.size());
  }
  writer.list(blob.object.data(), blob.object.size());
  auto sum = hash128(writer.bytes.data() + sumBytes, writer.bytes.size() - sumBytes);
  std::memcpy(writer.bytes.data(), sum.data(), sumBytes);
  return writer.bytes;
}

Expected<Blob> readBlob(std::span<const uint8_t> bytes) {
  auto damaged = [] { return error(Status::Load) << "ccompiler: the region's code is damaged"; };
  if (bytes.size() < sumBytes)
    return damaged();
  std::span<const uint8_t> rest = bytes.subspan(sumBytes);
  auto sum = hash128(rest.data(), rest.size());
  BlobReader reader(rest);
  if (std::memcmp(sum.data(), bytes.data(), sumBytes) != 0 || reader.number() != magic)
    return damaged();
  Blob blob;
  blob.numInputs = static_cast<uint32_t>(reader.number());
  blob.numOutputs = static_cast<uint32_t>(reader.number());
  blob.arenaBytes = reader.number();
  blob.weightsEnd = reader.number();
  for (uint64_t left = reader.number(); left > 0 && reader.ok(); --left) {
    BlobStep step;
    step.name = reader.text();
    step.source = reader.text();
    blob.steps.push_back(std::move(step));
  }
  std::span<const uint8_t> object = reader.list();
  blob.object.assign(object.begin(), object.end());
  if (!reader.isWhole() || blob.arenaBytes > maxArena)
    return damaged();
  return blob;
}

} // namespace bycc::ccompiler
