// Reading of tensors; see the header.
#include "TensorText.h"

#include "bycc/Support/Base64.h"
#include "bycc/Support/Messages.h"

namespace bycc {

Expected<> checkTensorType(const Module &module, TypeId type, const SourceLocation &location) {
  auto shape = module.types.shape(type);
  if (shape.size() > maxRank)
    return error(Status::Limit, location)
           << "a tensor has rank " << shape.size() << ", at most " << maxRank << " is supported";
  if (!module.types.isStatic(type))
    return {};
  auto bytes = module.types.sizeBytes(type);
  if (!bytes || *bytes > maxTensorBytes)
    return error(Status::Limit, location).as(MessageId::TooLarge)
           << "a tensor of type " << module.types.str(type) << " is larger than 16 GiB";
  return {};
}

namespace {

struct TensorReader {
  Module &module;
  const JsonValue &value;
  const std::string &file;

  ErrorBuilder fail(const JsonValue &at) const { return error(Status::Input, location(at, file)); }

  Expected<const JsonValue *> member(std::string_view key) const {
    if (const JsonValue *found = value.find(key))
      return found;
    return fail(value) << "a tensor has no member '" << key << "'";
  }

  Expected<> checkKeys() const {
    if (!value.isObject())
      return fail(value) << "a tensor is not an object";
    for (const auto &[key, ignored] : value.members)
      if (key != "dtype" && key != "shape" && key != "data" && key != "file" && key != "offset" &&
          key != "name" && key != "given")
        return fail(value) << "a tensor has an unknown member '" << key << "'";
    return {};
  }

  Expected<TypeId> type() const {
    const JsonValue *dtypeText = BYCC_TRY(member("dtype"));
    auto dtype = dtypeText->isString() ? parseDType(dtypeText->string) : std::nullopt;
    if (!dtype)
      return fail(*dtypeText) << "a tensor has an unknown dtype '" << dtypeText->string << "'";
    const JsonValue *shape = BYCC_TRY(member("shape"));
    if (!shape->isArray())
      return fail(*shape) << "a tensor's shape is not a list";
    std::vector<Dim> dims;
    for (const JsonValue &dim : shape->items) {
      if (!dim.isInt() || dim.integer < 0)
        return fail(dim) << "a tensor's dim is not an integer of at least 0";
      dims.emplace_back(dim.integer);
    }
    TypeId type = module.types.tensor(*dtype, dims);
    BYCC_TRY(checkTensorType(module, type, location(*shape, file)));
    return type;
  }

  Expected<Constant> fromData(const JsonValue &data, TypeId type) const {
    auto bytes = data.isString() ? decodeBase64(data.string) : std::nullopt;
    if (!bytes)
      return fail(data) << "a tensor's data is not base64";
    Constant constant;
    constant.type = type;
    constant.bytes = bytes->size();
    constant.storage = Storage::own(std::move(*bytes));
    return constant;
  }

  Expected<Constant> fromFile(const JsonValue &name, TypeId type,
                              const ParseOptions &options) const {
    if (!name.isString())
      return fail(name) << "a tensor's file is not a string";
    const std::string &folder = options.dataFolder;
    if (folder.empty())
      return fail(name) << "a tensor's data is in a file, which needs a program in a folder";
    auto mapped = options.openData ? options.openData(folder, name.string)
                                   : mapContained(folder, name.string);
    if (!mapped) {
      Error problem = mapped.takeError();
      problem.diagnostics().front().location = location(name, file);
      return problem;
    }
    Constant constant;
    constant.storage = mapped.takeValue();
    constant.type = type;
    const JsonValue *offset = value.find("offset");
    if (offset && (!offset->isInt() || offset->integer < 0))
      return fail(*offset) << "a tensor's offset is not an integer of at least 0";
    constant.offset = offset ? static_cast<uint64_t>(offset->integer) : 0;
    constant.bytes = static_cast<uint64_t>(*module.types.sizeBytes(type));
    uint64_t size = constant.storage->size();
    if (constant.offset > size || constant.bytes > size - constant.offset)
      return fail(value) << "a tensor of " << constant.bytes << " bytes at " << constant.offset
                         << " lies past the end of '" << name.string << "', which has " << size;
    return constant;
  }
};

} // namespace

Expected<std::optional<ConstantId>> readGiven(Module &module, const JsonValue &value,
                                              const std::string &file, size_t count) {
  TensorReader reader{module, value, file};
  BYCC_TRY(reader.checkKeys());
  const JsonValue *given = value.find("given");
  if (!given)
    return std::optional<ConstantId>();
  for (const char *other : {"data", "file", "offset"})
    if (const JsonValue *member = value.find(other))
      return reader.fail(*member) << "a tensor has '" << other << "' and 'given'";
  if (!given->isInt() || given->integer < 0 || static_cast<uint64_t>(given->integer) >= count)
    return reader.fail(*given) << "a tensor is given by a number that nobody gave to this program";
  ConstantId id(static_cast<uint32_t>(given->integer));
  TypeId type = BYCC_TRY(reader.type()), actual = module.constants[id.index].type;
  if (type != actual)
    return reader.fail(value) << "constant " << given->integer << " has type "
                              << module.types.str(actual) << ", not " << module.types.str(type);
  return std::optional(id);
}

Expected<Constant> readTensor(Module &module, const JsonValue &value, const std::string &file,
                              const ParseOptions &options) {
  TensorReader reader{module, value, file};
  BYCC_TRY(reader.checkKeys());
  TypeId type = BYCC_TRY(reader.type());
  const JsonValue *data = value.find("data"), *name = value.find("file");
  if ((data != nullptr) == (name != nullptr))
    return reader.fail(value) << "a tensor has one of the members 'data' and 'file'";
  Constant constant = data ? BYCC_TRY(reader.fromData(*data, type))
                           : BYCC_TRY(reader.fromFile(*name, type, options));
  uint64_t wanted = static_cast<uint64_t>(*module.types.sizeBytes(type));
  if (constant.bytes != wanted)
    return reader.fail(value) << "a tensor of type " << module.types.str(type) << " has "
                              << constant.bytes << " bytes of data, " << wanted << " are needed";
  if (const JsonValue *hint = value.find("name"); hint && hint->isString())
    constant.name = hint->string;
  return constant;
}

} // namespace bycc
