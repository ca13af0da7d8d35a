// One small function per operator; anything out of the ordinary is answered with
// "not folded", and the operator is converted like any other.
#include "OnnxFold.h"

#include "OnnxImporter.h"
#include "bycc/Support/Integers.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace bycc::onnx {
namespace {

using Item = std::optional<int64_t>;
using Result = std::optional<IntTensor>;

bool fits(DType dtype, int64_t value) {
  switch (dtype) {
  case DType::Bool:
    return value == 0 || value == 1;
  case DType::Int32:
    return value == static_cast<int32_t>(value);
  case DType::Int64:
    return true;
  default:
    return false;
  }
}

// Attributes of the node without the bookkeeping of the context.
const Attribute *find(OpContext &op, std::string_view name) {
  for (const Attribute &attribute : op.proto().attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}
int64_t intOr(OpContext &op, std::string_view name, int64_t fallback) {
  const Attribute *attribute = find(op, name);
  return attribute && attribute->kind == AttrKind::Int ? attribute->i : fallback;
}

Result foldShape(OpContext &op) {
  std::vector<Dim> shape = op.shape(op.input(0));
  int64_t rank = static_cast<int64_t>(shape.size());
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t begin = clamp(intOr(op, "start", 0)), end = clamp(intOr(op, "end", rank));
  IntTensor result;
  for (int64_t i = begin; i < end; ++i)
    result.values.push_back(shape[i].isConst() ? Item(shape[i].value()) : std::nullopt);
  return result;
}

Result foldSize(OpContext &op) {
  std::optional<int64_t> count = op.types().numElements(op.module().type(op.input(0)));
  if (!count)
    return std::nullopt;
  return IntTensor{DType::Int64, true, {count}};
}

Result foldGather(OpContext &op) {
  const IntTensor *data = op.knownInts(0), *index = op.knownInts(1);
  if (!data || !index || data->isScalar || intOr(op, "axis", 0) != 0)
    return std::nullopt;
  int64_t size = static_cast<int64_t>(data->values.size());
  IntTensor result{data->dtype, index->isScalar, {}};
  for (Item at : index->values) {
    if (!at || *at < -size || *at >= size)
      return std::nullopt;
    result.values.push_back(data->values[*at < 0 ? *at + size : *at]);
  }
  return result;
}

Result foldConcat(OpContext &op) {
  IntTensor result;
  for (size_t i = 0; i < op.numInputs(); ++i) {
    const IntTensor *part = op.knownInts(i);
    if (!part || part->isScalar || (i > 0 && part->dtype != result.dtype) ||
        part->values.size() + result.values.size() > maxFoldedElements)
      return std::nullopt;
    result.dtype = part->dtype;
    result.values.insert(result.values.end(), part->values.begin(), part->values.end());
  }
  int64_t axis = intOr(op, "axis", -2);
  return axis == 0 || axis == -1 ? Result(result) : std::nullopt;
}

// Unsqueeze, Squeeze, Reshape and Flatten between a scalar and a vector of one.
Result foldRank(OpContext &op, bool wantsScalar) {
  const IntTensor *data = op.knownInts(0);
  if (!data || data->values.size() != 1 || data->isScalar == wantsScalar)
    return std::nullopt;
  IntTensor result = *data;
  result.isScalar = wantsScalar;
  return result;
}
Result foldUnsqueeze(OpContext &op) {
  const IntTensor *axes = op.knownInts(1);
  const Attribute *attribute = find(op, "axes");
  size_t count = axes ? axes->values.size() : attribute ? attribute->ints.size() : 0;
  int64_t axis = axes && count == 1        ? axes->values[0].value_or(9)
                 : attribute && count == 1 ? attribute->ints[0]
                                           : 9;
  return axis == 0 || axis == -1 ? foldRank(op, false) : std::nullopt;
}
Result foldSqueeze(OpContext &op) { return foldRank(op, true); }

Result foldReshape(OpContext &op) {
  const IntTensor *data = op.knownInts(0), *shape = op.knownInts(1);
  if (!data || !shape || shape->isScalar || shape->values.size() > 1)
    return std::nullopt;
  IntTensor result = *data;
  result.isScalar = shape->values.empty();
  int64_t wanted = result.isScalar ? 1 : shape->values[0].value_or(0);
  if (wanted != -1 && wanted != static_cast<int64_t>(data->values.size()))
    return std::nullopt;
  return result;
}

Result foldSlice(OpContext &op) {
  const IntTensor *data = op.knownInts(0);
  auto one = [&](size_t input, std::string_view name, Item fallback) -> Item {
    if (op.has(input)) {
      const IntTensor *known = op.knownInts(input);
      return known && known->values.size() == 1 ? known->values[0] : std::nullopt;
    }
    const Attribute *attribute = find(op, name);
    return !attribute                    ? fallback
           : attribute->ints.size() == 1 ? Item(attribute->ints[0])
                                         : std::nullopt;
  };
  Item begin = one(1, "starts", std::nullopt), end = one(2, "ends", std::nullopt);
  Item axis = one(3, "axes", 0), step = one(4, "", 1);
  if (!data || data->isScalar || !begin || !end || !axis || !step || *step < 1 ||
      (*axis != 0 && *axis != -1))
    return std::nullopt;
  int64_t size = static_cast<int64_t>(data->values.size());
  auto clamp = [&](int64_t at) { return at < -size ? 0 : std::min(at < 0 ? at + size : at, size); };
  IntTensor result{data->dtype, false, {}};
  int64_t last = clamp(*end), stride = std::min(*step, size + 1);
  for (int64_t i = clamp(*begin); i < last; i += stride)
    result.values.push_back(data->values[i]);
  return result;
}

Result foldCast(OpContext &op) {
  const IntTensor *data = op.knownInts(0);
  int64_t to = intOr(op, "to", 0);
  if (!data || to <= 0 || to > 16)
    return std::nullopt;
  Expected<DType> dtype = dtypeOf(static_cast<int32_t>(to), {});
  if (!dtype || (*dtype != DType::Int32 && *dtype != DType::Int64 && *dtype != DType::Bool))
    return std::nullopt;
  IntTensor result = *data;
  result.dtype = *dtype;
  for (Item &item : result.values) {
    if (item && *dtype == DType::Bool)
      item = *item != 0;
    if (item && !fits(*dtype, *item))
      return std::nullopt;
  }
  return result;
}

// Broadcast of scalar, vector of one, and equal lengths.
std::optional<size_t> commonSize(std::initializer_list<const IntTensor *> inputs) {
  size_t size = 1;
  for (const IntTensor *input : inputs) {
    size_t count = input ? input->values.size() : 0;
    if (!input || (count != 1 && size != 1 && count != size))
      return std::nullopt;
    size = count == 1 ? size : count;
  }
  return size;
}
Item at(const IntTensor &tensor, size_t index) {
  return tensor.values[tensor.values.size() == 1 ? 0 : index];
}

using BinaryFn = Item (*)(int64_t, int64_t);

struct BinaryRow {
  std::string_view name;
  BinaryFn fn;
  bool isComparison;
};
constexpr BinaryRow binaries[] = {
    {"Add", checkedAdd, false},
    {"Sub", checkedSub, false},
    {"Mul", checkedMul, false},
    {"Div", [](int64_t a, int64_t b) { return checkedDiv(a, b, false); }, false},
    {"Mod", [](int64_t a, int64_t b) { return checkedMod(a, b, true); }, false},
    {"Max", [](int64_t a, int64_t b) { return Item(std::max(a, b)); }, false},
    {"Min", [](int64_t a, int64_t b) { return Item(std::min(a, b)); }, false},
    {"Equal", [](int64_t a, int64_t b) { return Item(a == b); }, true},
    {"Greater", [](int64_t a, int64_t b) { return Item(a > b); }, true},
    {"Less", [](int64_t a, int64_t b) { return Item(a < b); }, true},
    {"GreaterOrEqual", [](int64_t a, int64_t b) { return Item(a >= b); }, true},
    {"LessOrEqual", [](int64_t a, int64_t b) { return Item(a <= b); }, true},
    {"And", [](int64_t a, int64_t b) { return Item(a && b); }, false},
    {"Or", [](int64_t a, int64_t b) { return Item(a || b); }, false},
};

Result foldBinary(OpContext &op, const BinaryRow &row) {
  const IntTensor *a = op.knownInts(0), *b = op.knownInts(1);
  std::optional<size_t> size = commonSize({a, b});
  if (!size || a->dtype != b->dtype || op.numInputs() != 2 || intOr(op, "fmod", 0) != 0)
    return std::nullopt;
  IntTensor result{row.isComparison ? DType::Bool : a->dtype, a->isScalar && b->isScalar, {}};
  for (size_t i = 0; i < *size; ++i) {
    Item x = at(*a, i), y = at(*b, i), value;
    if (x && y) {
      value = row.fn(*x, *y);
      if (!value || !fits(result.dtype, *value))
        return std::nullopt;
    }
    result.values.push_back(value);
  }
  return result;
}

Result foldNot(OpContext &op) {
  const IntTensor *data = op.knownInts(0);
  if (!data)
    return std::nullopt;
  IntTensor result = *data;
  for (Item &item : result.values)
    item = item ? Item(*item == 0) : item;
  return result;
}

Result foldWhere(OpContext &op) {
  const IntTensor *c = op.knownInts(0), *a = op.knownInts(1), *b = op.knownInts(2);
  std::optional<size_t> size = commonSize({c, a, b});
  if (!size || a->dtype != b->dtype)
    return std::nullopt;
  IntTensor result{a->dtype, c->isScalar && a->isScalar && b->isScalar, {}};
  for (size_t i = 0; i < *size; ++i) {
    Item condition = at(*c, i);
    result.values.push_back(!condition ? Item() : *condition ? at(*a, i) : at(*b, i));
  }
  return result;
}

Result foldRange(OpContext &op) {
  const IntTensor *a = op.knownInts(0), *b = op.knownInts(1), *c = op.knownInts(2);
  for (const IntTensor *bound : {a, b, c})
    if (!bound || bound->values.size() != 1 || !bound->values[0])
      return std::nullopt;
  __int128 begin = *a->values[0], end = *b->values[0], step = *c->values[0];
  if (step == 0 || ((end - begin) / step) >= static_cast<__int128>(maxFoldedElements))
    return std::nullopt;
  IntTensor result{a->dtype, false, {}};
  for (__int128 i = begin; step > 0 ? i < end : i > end; i += step)
    result.values.push_back(static_cast<int64_t>(i));
  return result;
}

Result foldReduceProd(OpContext &op) {
  const IntTensor *data = op.knownInts(0);
  if (!data || data->isScalar)
    return std::nullopt;
  int64_t product = 1;
  for (Item item : data->values)
    if (!item || __builtin_mul_overflow(product, *item, &product) || !fits(data->dtype, product))
      return std::nullopt;
  return IntTensor{data->dtype, intOr(op, "keepdims", 1) == 0, {product}};
}

Result foldIdentity(OpContext &op) {
  const IntTensor *data = op.knownInts(0);
  return data ? Result(*data) : std::nullopt;
}

struct FoldRow {
  std::string_view name;
  Result (*fold)(OpContext &op);
};
constexpr FoldRow folds[] = {
    {"Cast", foldCast},
    {"Concat", foldConcat},
    {"Gather", foldGather},
    {"Identity", foldIdentity},
    {"Not", foldNot},
    {"Range", foldRange},
    {"ReduceProd", foldReduceProd},
    {"Reshape", foldReshape},
    {"Shape", foldShape},
    {"Size", foldSize},
    {"Slice", foldSlice},
    {"Squeeze", foldSqueeze},
    {"Unsqueeze", foldUnsqueeze},
    {"Where", foldWhere},
};

} // namespace

bool IntTensor::isComplete() const {
  return std::all_of(values.begin(), values.end(),
                     [](const Item &item) { return item.has_value(); });
}

std::vector<int64_t> IntTensor::all() const {
  std::vector<int64_t> result;
  for (const Item &item : values)
    result.push_back(*item);
  return result;
}

Result foldInts(OpContext &op) {
  if (op.numOutputs() != 1)
    return std::nullopt;
  for (const FoldRow &row : folds)
    if (row.name == op.proto().opType)
      return row.fold(op);
  for (const BinaryRow &row : binaries)
    if (row.name == op.proto().opType)
      return foldBinary(op, row);
  return std::nullopt;
}

} // namespace bycc::onnx
