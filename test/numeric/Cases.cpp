// Reads the cases and compares results.

#include "Cases.h"

#include "bycc/IR/Builder.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Json.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace bycc::numeric {
namespace {

double toDouble(const JsonValue &value) {
  if (value.string == "nan")
    return std::nan("");
  if (value.isString())
    return value.string == "inf" ? INFINITY : -INFINITY;
  return value.number;
}

Tensor toTensor(const JsonValue &json) {
  DType dtype = parseDType(json.find("dtype")->string).value();
  std::vector<int64_t> shape;
  for (const JsonValue &extent : json.find("shape")->items)
    shape.push_back(extent.integer);
  const auto &items = json.find("data")->items;
  if (isFloat(dtype) || sizeInBytes(dtype) < 8) {
    std::vector<double> values;
    for (const JsonValue &item : items)
      values.push_back(toDouble(item));
    return *Tensor::fromDoubles(dtype, shape, values);
  }
  std::vector<uint64_t> values; // 64-bit integers exactly
  for (const JsonValue &item : items)
    values.push_back(item.kind == JsonValue::Kind::UInt ? item.unsignedInteger
                                                        : static_cast<uint64_t>(item.integer));
  return *Tensor::fromBytes(dtype, shape, values.data());
}

Value toValue(const JsonValue &json) {
  const JsonValue *fields = json.find("tuple");
  if (!fields)
    return toTensor(json);
  Value::Tuple tuple;
  for (const JsonValue &field : fields->items)
    tuple.emplace_back(toTensor(field));
  return tuple;
}

AttrValue toAttr(const JsonValue &json) {
  switch (json.kind) {
  case JsonValue::Kind::Bool:
    return AttrValue(json.boolean);
  case JsonValue::Kind::Int:
    return AttrValue(json.integer);
  case JsonValue::Kind::Float:
    return AttrValue(json.number);
  case JsonValue::Kind::String:
    return AttrValue(json.string);
  case JsonValue::Kind::Array: {
    AttrValue::List list;
    for (const JsonValue &item : json.items)
      list.push_back(toAttr(item));
    return AttrValue(std::move(list));
  }
  default:
    return AttrValue();
  }
}

Case toCase(const JsonValue &json, OpId op, std::string name) {
  Case result;
  result.name = std::move(name);
  result.op = op;
  for (const auto &[key, value] : json.find("attrs")->members)
    result.attrs.push_back({key, toAttr(value)});
  for (const JsonValue &input : json.find("inputs")->items)
    result.inputs.push_back(toValue(input));
  if (const JsonValue *error = json.find("error")) {
    result.error = error->string;
    const std::string &status = json.find("status")->string;
    result.status = status == "LIMIT"   ? Status::Limit
                    : status == "ARG"   ? Status::Arg
                    : status == "UNSUP" ? Status::Unsup
                                        : Status::Input;
    return result;
  }
  for (const JsonValue &output : json.find("outputs")->items)
    result.outputs.push_back(toTensor(output));
  return result;
}

TypeId typeOf(Module &module, const Value &value, Extents extents) {
  if (value.isTuple()) {
    std::vector<TypeId> fields;
    for (const Value &field : value.fields())
      fields.push_back(typeOf(module, field, extents));
    return module.types.tuple(fields);
  }
  std::vector<Dim> shape;
  bool isVector = isInt(value.tensor().dtype) && value.tensor().shape.size() == 1;
  for (int64_t extent : value.tensor().shape)
    shape.push_back(extents == Extents::Known || isVector ? Dim(extent)
                    : extents == Extents::Unknown
                        ? Dim::unknown()
                        : module.types.symbol("n" + std::to_string(extent)));
  return module.types.tensor(value.tensor().dtype, shape);
}

// The inputs that are constants when they may be.
bool isConstantInput(const Case &each, size_t index) {
  const Value &value = each.inputs[index];
  if (each.op == ops::nn_dense_weight_only)
    return index > 0;
  if (value.isTuple() || value.tensor().shape.size() > 1)
    return false;
  const std::vector<std::string> &names = opInfo(each.op).inputs;
  return isInt(value.tensor().dtype) || value.tensor().shape.empty() ||
         (index < names.size() && names[index].ends_with("_scale"));
}

// Parameters for a value: one, or one per field and a tuple of them.
NodeId addInput(Module &module, Builder &builder, FunctionId main, const Value &value,
                bool isConstant, Extents extents) {
  if (value.isTuple()) {
    std::vector<NodeId> fields;
    for (const Value &field : value.fields())
      fields.push_back(addInput(module, builder, main, field, false, extents));
    return builder.tuple(fields);
  }
  const Tensor &tensor = value.tensor();
  if (isConstant) {
    std::vector<Dim> shape(tensor.shape.begin(), tensor.shape.end());
    return module.addConstant(tensor.dtype, shape, tensor.bytes.get(),
                              static_cast<uint64_t>(tensor.sizeBytes()));
  }
  NodeId param = module.addParam("x" + std::to_string(module.function(main).params.size()),
                                 typeOf(module, value, extents));
  module.function(main).params.push_back(param);
  return param;
}

Value toBFloat16(const Value &value) {
  if (value.isTuple()) {
    Value::Tuple fields;
    for (const Value &field : value.fields())
      fields.push_back(toBFloat16(field));
    return fields;
  }
  const Tensor &tensor = value.tensor();
  if (!isFloat(tensor.dtype))
    return value;
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    values.push_back(tensor.real(i));
  return *Tensor::fromDoubles(DType::BFloat16, tensor.shape, values);
}

struct Tolerance {
  double relative, absolute;
};

Tolerance toleranceOf(DType dtype) {
  switch (dtype) {
  case DType::Float16:
    return {2e-3, 1e-3};
  case DType::BFloat16:
    return {1e-2, 1e-2};
  case DType::Float32:
    return {2e-5, 2e-6};
  case DType::Float64:
    return {1e-8, 1e-9};
  default:
    return {0, 0};
  }
}

} // namespace

std::vector<Case> loadCases(const std::string &folder) {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json")
      paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  std::vector<Case> cases;
  for (const std::string &path : paths) {
    std::string text = *readFile(path);
    auto json = parseJson(text, path);
    BYCC_ASSERT(json, json.error().str());
    std::string op = json->find("op")->string;
    BYCC_ASSERT(findOp(op), path + " names an operator of Ops.def");
    size_t number = 0;
    for (const JsonValue &each : json->find("cases")->items)
      cases.push_back(toCase(each, findOp(op), op + "[" + std::to_string(number++) + "]"));
  }
  return cases;
}

Expected<NodeId> addCall(Module &module, FunctionId function, const Case &each, bool constants,
                         Extents extents) {
  Builder builder(module, module.function(function).body);
  std::vector<NodeId> operands;
  for (size_t i = 0; i < each.inputs.size(); ++i)
    operands.push_back(addInput(module, builder, function, each.inputs[i],
                                constants && isConstantInput(each, i), extents));
  return builder.call(each.op, operands, each.attrs);
}

Expected<Module> makeModule(const Case &each, bool constants, Extents extents) {
  Module module;
  FunctionId main = module.addFunction("main");
  NodeId result = BYCC_TRY(addCall(module, main, each, constants, extents));
  module.block(module.function(main).body).result = result;
  return module;
}

std::optional<Case> inBFloat16(const Case &given) {
  Case each = given;
  bool hasFloats = false;
  for (Value &input : each.inputs) {
    for (const Tensor &tensor : input.flatten())
      hasFloats = hasFloats || isFloat(tensor.dtype);
    input = toBFloat16(input);
  }
  for (auto &[key, value] : each.attrs)
    if (value.isString() && value.asString().starts_with("float"))
      value = AttrValue(std::string("bfloat16"));
  auto module = makeModule(each, true, Extents::Known);
  bool isQuantised = each.name.starts_with("qnn.") || each.op == ops::nn_dense_weight_only;
  if (!hasFloats || (!module && isQuantised) || each.op == ops::reinterpret)
    return std::nullopt;
  BYCC_ASSERT(module, each.name + " takes bfloat16");
  auto outputs = evaluate(*module, module->main(), parameters(each, true));
  BYCC_ASSERT(outputs, each.name + " evaluates in bfloat16");
  each.outputs = *outputs;
  return each;
}

std::vector<Tensor> parameters(const Case &each, bool constants) {
  std::vector<Tensor> result;
  for (size_t i = 0; i < each.inputs.size(); ++i)
    if (!constants || !isConstantInput(each, i))
      for (const Tensor &tensor : each.inputs[i].flatten())
        result.push_back(tensor);
  return result;
}

std::string difference(const Tensor &actual, const Tensor &expected) {
  if (actual.dtype != expected.dtype)
    return "dtype " + std::string(name(actual.dtype)) + ", wanted " +
           std::string(name(expected.dtype));
  if (actual.shape != expected.shape) {
    std::string text = "shape (";
    for (int64_t extent : actual.shape)
      text += std::to_string(extent) + ",";
    return text + ")";
  }
  Tolerance tolerance = toleranceOf(expected.dtype);
  for (int64_t i = 0; i < expected.numElements(); ++i) {
    double a = actual.real(i), e = expected.real(i);
    bool isSame = a == e || (std::isnan(a) && std::isnan(e)) ||
                  std::fabs(a - e) <= tolerance.absolute + tolerance.relative * std::fabs(e);
    if (!isFloat(expected.dtype))
      isSame = actual.integer(i) == expected.integer(i);
    if (!isSame)
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", wanted " +
             std::to_string(e);
  }
  return "";
}

} // namespace bycc::numeric
