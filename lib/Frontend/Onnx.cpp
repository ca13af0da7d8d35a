// ONNX -> IR. OnnxOps.def says which operators are read and who converts them; a
// new one is a row there and, unless it is a plain rename, a converter in the file
// of its family. Import is: look at the bytes, decode (OnnxModel), walk the graph
// (OnnxImporter) with constants of shapes folded on the way (OnnxFold).
#include "bycc/Frontend/Onnx.h"

#include "OnnxConverters.h"

#include "bycc/Support/FileKind.h"
#include "bycc/Support/Messages.h"

#include <algorithm>
#include <cstring>

namespace bycc::onnx {
namespace {

constexpr OpRow rows[] = {
#define ONNX_OP(name, versions, minInputs, maxInputs, convert, relayName)                          \
  {#name, versions, minInputs, maxInputs, convert, relayName},
#define ONNX_REFUSED(name, versions, why) {#name, versions, 0, -1, nullptr, why},
#include "OnnxOps.def"
#undef ONNX_OP
#undef ONNX_REFUSED
};
static_assert(std::is_sorted(std::begin(rows), std::end(rows),
                             [](const OpRow &a, const OpRow &b) { return a.name < b.name; }));

// What converters make; written by tools/dev/onnx_makes.py.
constexpr std::pair<std::string_view, std::string_view> makes[] = {
#define ONNX_MAKES(name, ops) {#name, ops},
#include "OnnxMakes.def"
#undef ONNX_MAKES
};

std::vector<std::string_view> madeOf(const OpRow &row) {
  std::vector<std::string_view> ops;
  if (row.convert && findOp(row.relayName))
    ops.push_back(row.relayName);
  for (const auto &[name, names] : makes)
    for (size_t begin = 0, end; name == row.name && row.convert && begin < names.size();
         begin = end + 1) {
      end = std::min(names.find(' ', begin), names.size());
      ops.push_back(names.substr(begin, end - begin));
    }
  std::ranges::sort(ops);
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

Expected<Module> importBytes(std::shared_ptr<const Storage> storage, const std::string &name,
                             const std::string &folder, const OnnxImportOptions &options) {
  std::string_view bytes(reinterpret_cast<const char *>(storage->data()), storage->size());
  if (bytes.size() > options.maxFileBytes)
    return error(Status::Limit, {name})
           << "the file has " << bytes.size() << " bytes, the limit is " << options.maxFileBytes;
  if (bytes.empty())
    return error(Status::Input, {name}).as(MessageId::EmptyFile) << "the file is empty";
  if (std::string_view kind = kindOfBytes(bytes); !kind.empty() && kind != "an ONNX model")
    return withAdvice(error(Status::Input, {name}).as(MessageId::OtherFormat)
                          << "is no ONNX model, it looks like " << kind,
                      bytes, name);
  Model model = BYCC_TRY(decodeModel(bytes, name));
  TensorReader tensors(storage, folder, options.openExternal);
  Module module = BYCC_TRY(Importer(model, name, tensors, options).run());
  if (options.externalFiles)
    *options.externalFiles = tensors.externalFiles();
  return module;
}

} // namespace

const OpRow *findOpRow(std::string_view name) {
  auto row = std::lower_bound(std::begin(rows), std::end(rows), name,
                              [](const OpRow &a, std::string_view b) { return a.name < b; });
  return row != std::end(rows) && row->name == name ? row : nullptr;
}

std::vector<OpVersion> OpRow::allVersions() const {
  std::vector<OpVersion> all;
  for (size_t begin = 0, end; begin < versions.size(); begin = end + 1) {
    end = std::min(versions.find(' ', begin), versions.size());
    OpVersion version{0, convert && versions[begin] != '-'};
    for (char c : versions.substr(begin, end - begin))
      if (c != '-')
        version.opset = version.opset * 10 + (c - '0');
    all.push_back(version);
  }
  return all;
}

OpVersion OpRow::versionAt(int64_t opset) const {
  OpVersion found;
  for (OpVersion version : allVersions())
    if (version.opset <= opset)
      found = version;
  return found;
}

} // namespace bycc::onnx

namespace bycc {

std::vector<OnnxOperator> onnxOperators() {
  std::vector<OnnxOperator> all;
  for (const onnx::OpRow &row : onnx::rows)
    all.push_back(
        {row.name, row.allVersions(), row.convert ? "" : row.relayName, onnx::madeOf(row)});
  return all;
}

Expected<Module> importOnnx(std::shared_ptr<const Storage> bytes, const std::string &name,
                            const std::string &folder, const OnnxImportOptions &options) {
  return onnx::importBytes(std::move(bytes), name, folder, options);
}

Expected<Module> importOnnx(const std::string &path, const OnnxImportOptions &options) {
  std::shared_ptr<const Storage> file = BYCC_TRY(mapFile(path));
  return onnx::importBytes(std::move(file), path, onnx::folderOf(path), options);
}

} // namespace bycc
