// Members of STEM.json that tie the files of one build together.
#include "bycc/Support/GraphSet.h"

#include "bycc/Support/Hash.h"
#include "bycc/Support/Text.h"
#include "bycc/abi.h"

#include <charconv>
#include <unordered_set>

namespace bycc {
namespace {

constexpr std::string_view checksumKey = "\"checksum\": \"";
constexpr size_t checksumDigits = 16;

// Where the digits of the checksum stand; npos when there are none.
size_t findChecksum(std::string_view json) {
  size_t key = json.rfind(checksumKey);
  if (key == json.npos || json.size() - key < checksumKey.size() + checksumDigits)
    return json.npos;
  return key + checksumKey.size();
}

uint64_t checksumOf(std::string json, size_t digits) {
  json.replace(digits, checksumDigits, checksumDigits, '0');
  return hashText(json);
}

void writeFile(JsonWriter &writer, const GraphFileInfo &file) {
  writer.key("name").value(file.name).key("bytes").value(file.bytes);
  writer.key("hash").value(hexText(file.hash));
}

std::optional<uint64_t> parseHex(std::string_view text) {
  uint64_t value = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 16 || status != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

class SetReader {
public:
  SetReader(const JsonValue &bycc, const std::string &file) : bycc_(bycc), file_(file) {}

  Expected<GraphSet> read() {
    BYCC_TRY(checkAbi());
    GraphSet set;
    set.setId = BYCC_TRY(readSetId());
    const JsonValue *files = bycc_.find("files");
    if (!files || !files->isObject())
      return bad(bycc_, "files");
    const JsonValue *object = files->find("object"), *params = files->find("params");
    if (!object)
      return bad(*files, "object");
    set.object = BYCC_TRY(readInfo(*object));
    if (!params)
      return set;
    set.params = BYCC_TRY(readInfo(*params));
    set.paramsEntries = BYCC_TRY(readEntries(*params));
    return set;
  }

private:
  ErrorBuilder bad(const JsonValue &parent, const char *member) {
    return error(Status::Load, location(parent, file_))
           << "graph JSON: '" << member << "' is missing or malformed";
  }

  Expected<> checkAbi() {
    const JsonValue *abi = bycc_.find("abi");
    if (!abi || !abi->isInt())
      return error(Status::Load, location(bycc_, file_))
             << "graph JSON has no ABI version, this bycc has version " << BYCC_ABI_VERSION;
    if (abi->integer != BYCC_ABI_VERSION)
      return error(Status::Load, location(*abi, file_))
             << "graph JSON has ABI version " << abi->integer << ", this bycc has version "
             << BYCC_ABI_VERSION;
    return {};
  }

  Expected<SetId> readSetId() {
    const JsonValue *value = bycc_.find("set_id");
    if (!value || !value->isString() || value->string.size() != 32)
      return bad(bycc_, "set_id");
    SetId id;
    for (size_t i = 0; i < id.size(); ++i) {
      const char *digits = value->string.data() + 2 * i;
      if (std::from_chars(digits, digits + 2, id[i], 16).ptr != digits + 2)
        return bad(bycc_, "set_id");
    }
    return id;
  }

  Expected<GraphFileInfo> readInfo(const JsonValue &file) {
    const JsonValue *name = file.find("name"), *bytes = file.find("bytes"),
                    *hash = file.find("hash");
    if (!name || !name->isString() || name->string.empty() || name->string == ".." ||
        name->string.find('/') != std::string::npos || name->string.find('\0') != std::string::npos)
      return bad(file, "name");
    if (!bytes || !bytes->isInt() || bytes->integer < 0)
      return bad(file, "bytes");
    std::optional<uint64_t> digits =
        hash && hash->isString() ? parseHex(hash->string) : std::nullopt;
    if (!digits)
      return bad(file, "hash");
    return GraphFileInfo{name->string, static_cast<uint64_t>(bytes->integer), *digits};
  }

  Expected<std::vector<ParamsEntry>> readEntries(const JsonValue &params) {
    const JsonValue *list = params.find("entries");
    if (!list || !list->isArray())
      return bad(params, "entries");
    std::vector<ParamsEntry> entries;
    std::unordered_set<std::string_view> names;
    for (const JsonValue &item : list->items) {
      const JsonValue *name = item.find("name"), *dtype = item.find("dtype"),
                      *shape = item.find("shape");
      if (!name || !name->isString() || !dtype || !parseDType(dtype->string) || !shape ||
          !shape->isArray())
        return bad(item, "entries");
      if (!names.insert(name->string).second)
        return error(Status::Load, location(*name, file_))
               << "graph JSON: parameter '" << escaped(name->string) << "' is there twice";
      ParamsEntry entry{name->string, *parseDType(dtype->string), {}};
      for (const JsonValue &dim : shape->items) {
        if (!dim.isInt())
          return bad(*shape, "shape");
        entry.dims.push_back(dim.integer);
      }
      entries.push_back(std::move(entry));
    }
    return entries;
  }

  const JsonValue &bycc_;
  const std::string &file_;
};

} // namespace

std::string hexText(uint64_t hash) {
  char digits[17];
  auto end = std::to_chars(digits, digits + 16, hash, 16).ptr;
  return std::string(16 - (end - digits), '0') + std::string(digits, end);
}

std::string hexText(const SetId &id) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : id)
    text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

void writeGraphSet(JsonWriter &writer, const GraphSet &set) {
  writer.key("abi").value(BYCC_ABI_VERSION).key("set_id").value(hexText(set.setId));
  writer.key("files").beginObject().key("object").beginObject();
  writeFile(writer, set.object);
  writer.endObject();
  if (set.params) {
    writer.key("params").beginObject();
    writeFile(writer, *set.params);
    writer.key("entries").beginArray();
    for (const ParamsEntry &entry : set.paramsEntries) {
      writer.beginObject().key("name").value(entry.name).key("dtype").value(name(entry.dtype));
      writer.key("shape").beginArray();
      for (int64_t dim : entry.dims)
        writer.value(dim);
      writer.endArray().endObject();
    }
    writer.endArray().endObject();
  }
  writer.endObject().key("checksum").value(hexText(uint64_t{0}));
}

std::string sealed(std::string json) {
  size_t digits = findChecksum(json);
  BYCC_ASSERT(digits != std::string::npos, "the graph JSON has a checksum member");
  return json.replace(digits, checksumDigits, hexText(checksumOf(json, digits)));
}

// Puts `name` where the first member "name" behind `from` has its string; npos: there is none.
static size_t replaceName(std::string &json, size_t from, const std::string &name) {
  constexpr std::string_view key = "\"name\": \"";
  size_t begin = from == json.npos ? from : json.find(key, from);
  if (begin == json.npos)
    return begin;
  begin += key.size();
  size_t end = begin;
  while (end < json.size() && json[end] != '"')
    end += json[end] == '\\' ? 2 : 1;
  JsonWriter writer; // knows what is to be escaped
  std::string text = writer.beginObject().key("name").value(name).endObject().take();
  size_t first = text.find(key) + key.size(), last = text.rfind('"');
  json.replace(begin, end - begin, text, first, last - first);
  return begin + (last - first);
}

// No string holds what is looked for: its quotes would be escaped.
std::string withFileNames(std::string json, const std::string &object, const std::string &params) {
  size_t end = replaceName(json, json.rfind("\"files\": {"), object);
  BYCC_ASSERT(end != json.npos, "the graph JSON names its object");
  if (size_t at = json.find("\"params\": {", end); at < json.rfind(checksumKey))
    replaceName(json, at, params);
  return sealed(std::move(json));
}

bool isSealed(std::string_view json) {
  size_t digits = findChecksum(json);
  return digits != json.npos &&
         hexText(checksumOf(std::string(json), digits)) == json.substr(digits, checksumDigits);
}

Expected<GraphSet> readGraphSet(const JsonValue &bycc, const std::string &file) {
  return SetReader(bycc, file).read();
}

} // namespace bycc
