// Writer and reader of STEM.params. The reader trusts nothing: every offset and
// length is checked against the real size before it is used.
#include "bycc/Support/ParamsFile.h"

#include "bycc/Support/Hash.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace bycc {

static constexpr char paramsMagic[] = "BYCCPRM1";
static constexpr char zeros[64] = {};
static constexpr uint32_t maxParamRank = 32;

static uint64_t padded(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

uint64_t ParamsWriter::add(const std::string &name, DType dtype, const std::vector<int64_t> &dims,
                           std::shared_ptr<const Storage> storage, uint64_t begin, uint64_t bytes) {
  BYCC_ASSERT(begin <= storage->size() && bytes <= storage->size() - begin,
              "a constant lies inside its storage");
  BYCC_ASSERT(dims.size() <= maxParamRank, "the rank of a constant is within the limit");
  const uint8_t *data = storage->data() + begin;
  auto [known, isNew] = offsets_.try_emplace({data, bytes, dtype, dims}, end_);
  if (!isNew)
    return known->second;
  return addEntry({name, dtype, dims, end_, bytes, hashBytes(data, bytes)}, std::move(storage),
                  begin);
}

uint64_t ParamsWriter::addPacked(const std::string &name, std::shared_ptr<const Storage> storage,
                                 std::optional<uint64_t> hash) {
  uint64_t size = storage->size();
  ParamsEntry entry{name, DType::UInt8, {static_cast<int64_t>(size)},
                    end_, size,         hash ? *hash : hashBytes(storage->data(), size),
                    true};
  for (size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].isPacked && entries_[i].hash == entry.hash &&
        entries_[i].bytes == entry.bytes &&
        std::memcmp(payloads_[i].data(), storage->data(), entry.bytes) == 0)
      return entries_[i].offset;
  return addEntry(std::move(entry), std::move(storage), 0);
}

uint64_t ParamsWriter::addEntry(ParamsEntry entry, std::shared_ptr<const Storage> storage,
                                uint64_t begin) {
  std::string base = entry.name.substr(0, maxNameBytes - 16);
  entry.name = base;
  while (!names_.try_emplace(entry.name, 0).second)
    entry.name = base + "." + std::to_string(++names_[base]);
  payloads_.emplace_back(reinterpret_cast<const char *>(storage->data() + begin), entry.bytes);
  storages_.push_back(std::move(storage));
  end_ += padded(entry.bytes, paramsAlignment);
  entries_.push_back(std::move(entry));
  return entries_.back().offset;
}

template <typename T> static void append(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

static void appendEntry(std::string &out, const ParamsEntry &entry) {
  append(out, static_cast<uint32_t>(entry.name.size()));
  append(out, static_cast<uint32_t>(entry.dims.size()));
  append(out, static_cast<uint32_t>(entry.dtype));
  append(out, static_cast<uint32_t>(entry.isPacked));
  for (int64_t dim : entry.dims)
    append(out, dim);
  append(out, entry.offset);
  append(out, entry.bytes);
  append(out, entry.hash);
  out += entry.name;
  out.append(padded(entry.name.size(), 8) - entry.name.size(), '\0');
}

std::vector<std::string_view> ParamsWriter::finish(const SetId &setId) {
  table_.clear();
  for (const ParamsEntry &entry : entries_)
    appendEntry(table_, entry);
  header_ = {};
  std::memcpy(header_.magic, paramsMagic, 8);
  header_.version = paramsVersion;
  header_.headerBytes = sizeof header_;
  std::memcpy(header_.setId, setId.data(), setId.size());
  header_.numEntries = entries_.size();
  header_.tableOffset = end_;
  header_.tableBytes = table_.size();
  header_.fileBytes = end_ + table_.size();
  header_.tableHash = hashBytes(table_.data(), table_.size());
  header_.headerHash = hashBytes(&header_, offsetof(ParamsHeader, headerHash));

  std::vector<std::string_view> pieces;
  pieces.emplace_back(reinterpret_cast<const char *>(&header_), sizeof header_);
  for (std::string_view payload : payloads_) {
    pieces.push_back(payload);
    pieces.emplace_back(zeros, padded(payload.size(), paramsAlignment) - payload.size());
  }
  pieces.emplace_back(table_);
  return pieces;
}

uint64_t ParamsWriter::fileBytes() const { return header_.fileBytes; }

namespace {

// Reads the table front to back within its bounds.
class TableReader {
public:
  TableReader(const uint8_t *data, uint64_t size) : at_(data), left_(size) {}
  template <typename T> bool read(T &value) {
    if (left_ < sizeof value)
      return false;
    std::memcpy(&value, at_, sizeof value);
    return skip(sizeof value);
  }
  bool readText(std::string &text, uint64_t size) {
    if (left_ < padded(size, 8))
      return false;
    text.assign(reinterpret_cast<const char *>(at_), size);
    return skip(padded(size, 8));
  }
  bool atEnd() const { return left_ == 0; }

private:
  bool skip(uint64_t size) {
    at_ += size;
    left_ -= size;
    return true;
  }
  const uint8_t *at_;
  uint64_t left_;
};

ErrorBuilder refuse(const std::string &file) { return error(Status::Load, {file}); }

Expected<ParamsHeader> readHeader(const uint8_t *data, uint64_t size, const std::string &file) {
  ParamsHeader header;
  if (size < sizeof header)
    return refuse(file) << "params file is cut: " << size << " bytes, the header alone has "
                        << sizeof header;
  std::memcpy(&header, data, sizeof header);
  if (std::memcmp(header.magic, paramsMagic, 8) != 0)
    return refuse(file) << "not a params file of bycc";
  if (header.version != paramsVersion)
    return refuse(file) << "params file has version " << header.version
                        << ", this bycc reads version " << paramsVersion;
  if (header.headerHash != hashBytes(&header, offsetof(ParamsHeader, headerHash)) ||
      header.headerBytes != sizeof header)
    return refuse(file) << "header of the params file is damaged";
  if (header.fileBytes != size)
    return refuse(file) << "params file has " << size << " bytes, its header says "
                        << header.fileBytes;
  if (header.tableOffset < sizeof header || header.tableOffset > size ||
      header.tableBytes != size - header.tableOffset)
    return refuse(file) << "table of the params file lies outside it";
  return header;
}

Expected<ParamsEntry> readEntry(TableReader &reader, const ParamsHeader &header,
                                const std::string &file) {
  ParamsEntry entry;
  uint32_t nameBytes = 0, rank = 0, dtype = 0, packed = 0;
  auto cut = [&] { return refuse(file) << "table of the params file is cut"; };
  if (!reader.read(nameBytes) || !reader.read(rank) || !reader.read(dtype) || !reader.read(packed))
    return cut();
  if (nameBytes > maxNameBytes || rank > maxParamRank || dtype >= numDTypes || packed > 1)
    return refuse(file) << "bad entry in the table of the params file";
  entry.dtype = static_cast<DType>(dtype);
  entry.isPacked = packed == 1;
  entry.dims.resize(rank);
  for (int64_t &dim : entry.dims)
    if (!reader.read(dim))
      return cut();
  if (!reader.read(entry.offset) || !reader.read(entry.bytes) || !reader.read(entry.hash) ||
      !reader.readText(entry.name, nameBytes))
    return cut();

  int64_t bytes = sizeInBytes(entry.dtype);
  bool fits = true;
  for (int64_t dim : entry.dims)
    fits &= dim >= 0 && !__builtin_mul_overflow(bytes, dim, &bytes);
  if (!fits || static_cast<uint64_t>(bytes) != entry.bytes)
    return refuse(file) << "parameter '" << escaped(entry.name) << "': " << entry.bytes
                        << " bytes do not fit its shape and dtype";
  if (entry.offset % paramsAlignment != 0 || entry.offset < sizeof header ||
      entry.offset > header.tableOffset || entry.bytes > header.tableOffset - entry.offset)
    return refuse(file) << "parameter '" << escaped(entry.name) << "' lies outside the file";
  return entry;
}

} // namespace

static Expected<ParamsFile> readTable(const ParamsHeader &header, const uint8_t *table,
                                      const std::string &file) {
  if (header.tableHash != hashBytes(table, header.tableBytes))
    return refuse(file) << "table of the params file is damaged";
  ParamsFile params;
  std::memcpy(params.setId.data(), header.setId, sizeof header.setId);
  params.bytes = header.fileBytes;
  params.tableHash = header.tableHash;
  TableReader reader(table, header.tableBytes);
  std::set<std::string> names;
  for (uint64_t i = 0; i < header.numEntries; ++i) {
    params.entries.push_back(BYCC_TRY(readEntry(reader, header, file)));
    if (!names.insert(params.entries.back().name).second)
      return refuse(file) << "parameter '" << escaped(params.entries.back().name)
                          << "' is there twice";
  }
  if (!reader.atEnd())
    return refuse(file) << "table of the params file has more than its " << header.numEntries
                        << " entries";
  return params;
}

Expected<ParamsFile> readParams(const uint8_t *data, uint64_t size, const std::string &file) {
  ParamsHeader header = BYCC_TRY(readHeader(data, size, file));
  return readTable(header, data + header.tableOffset, file);
}

Expected<ParamsFile> readParams(std::span<const std::string_view> pieces, const std::string &file) {
  auto bytes = [](std::string_view piece) {
    return reinterpret_cast<const uint8_t *>(piece.data());
  };
  uint64_t size = 0;
  for (std::string_view piece : pieces)
    size += piece.size();
  if (pieces.empty() || pieces.front().size() < sizeof(ParamsHeader))
    return refuse(file) << "params file begins without its header";
  ParamsHeader header = BYCC_TRY(readHeader(bytes(pieces.front()), size, file));
  if (pieces.back().size() != header.tableBytes)
    return refuse(file) << "params file does not end in its table";
  return readTable(header, bytes(pieces.back()), file);
}

Expected<> verifyPayloads(const ParamsFile &params, const uint8_t *data, const std::string &file) {
  for (const ParamsEntry &entry : params.entries)
    if (hashBytes(data + entry.offset, entry.bytes) != entry.hash)
      return refuse(file) << "parameter '" << escaped(entry.name) << "' is damaged: wrong hash";
  return {};
}

} // namespace bycc
