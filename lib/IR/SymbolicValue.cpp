// One small function per operator of shape arithmetic; of any other the elements
// are unknown. An expression stands only for what is surely no negative number:
// a bound of -1 means something else than an extent.

#include "bycc/IR/SymbolicValue.h"

#include "bycc/IR/DimArithmetic.h"
#include "bycc/Support/Element.h"
#include "bycc/Support/Integers.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace bycc {
namespace {

using Item = SymbolicInt;
using Items = std::vector<Item>;
using Result = std::optional<Items>;

constexpr uint32_t maxNodes = 256; // looked at for one answer

bool fits(DType dtype, int64_t value) {
  if (dtype == DType::Bool)
    return value == 0 || value == 1;
  int bits = static_cast<int>(sizeInBytes(dtype)) * 8;
  if (isUnsignedInt(dtype))
    return value >= 0 && (bits == 64 || value < (int64_t{1} << bits));
  return bits == 64 || (value >= -(int64_t{1} << (bits - 1)) && value < (int64_t{1} << (bits - 1)));
}

class Analysis {
public:
  explicit Analysis(Module &module) : module_(module), types_(module.types) {}

  // Of a tensor with a countable number of integers; elements may be unknown.
  Result valueOf(NodeId node) {
    std::optional<size_t> count = countOf(module_.type(node));
    if (!count)
      return std::nullopt;
    auto found = known_.find(node.index);
    if (found != known_.end())
      return found->second;
    Items unknown(*count);
    if (++visited_ > maxNodes)
      return unknown;
    Result result = compute(node);
    if (!result || result->size() != *count)
      result = unknown;
    DType dtype = types_.dtype(module_.type(node));
    for (Item &item : *result)
      if (item.number ? !fits(dtype, *item.number) : item.isNegated && isUnsignedInt(dtype))
        item = Item();
    known_[node.index] = *result;
    return result;
  }

private:
  std::optional<size_t> countOf(TypeId type) const {
    if (!types_.isTensor(type) || (!isInt(types_.dtype(type)) && types_.dtype(type) != DType::Bool))
      return std::nullopt;
    std::optional<int64_t> count = types_.numElements(type);
    if (!count || *count > static_cast<int64_t>(maxSymbolicElements))
      return std::nullopt;
    return static_cast<size_t>(*count);
  }

  NodeId operand(NodeId node, size_t index) const { return module_.operands(node)[index]; }
  Result operandValue(NodeId node, size_t index) { return valueOf(operand(node, index)); }
  size_t rankOf(NodeId node) const {
    TypeId type = module_.type(node);
    return types_.isTensor(type) ? types_.shape(type).size() : 99;
  }
  int64_t intAttr(NodeId node, std::string_view key, int64_t ifNone) const {
    const AttrValue *value = module_.attr(node, key);
    return value && value->isInt() ? value->asInt() : ifNone;
  }
  bool isFirstAxis(NodeId node, size_t rank) const { // the only one of a vector
    int64_t axis = intAttr(node, "axis", 0);
    return rank == 1 && (axis == 0 || axis == -1);
  }

  // Of a tensor whose elements can be counted.
  std::vector<int64_t> extentsOf(NodeId node) const {
    std::vector<int64_t> extents;
    for (Dim dim : types_.shape(module_.type(node)))
      extents.push_back(dim.value());
    return extents;
  }
  static std::optional<std::vector<int64_t>> numbersOf(const Result &items) {
    std::vector<int64_t> numbers;
    for (size_t i = 0; items && i < items->size(); ++i) {
      if (!(*items)[i].number)
        return std::nullopt;
      numbers.push_back(*(*items)[i].number);
    }
    return items ? std::optional(numbers) : std::nullopt;
  }
  // Empty where there is none.
  static std::vector<int64_t> listOf(const AttrValue *value) {
    std::vector<int64_t> numbers;
    if (value && value->isList())
      for (const AttrValue &item : value->asList())
        numbers.push_back(item.asInt());
    return numbers;
  }
  // Row-major: the elements at all these positions of each axis.
  static void pick(const Items &x, const std::vector<int64_t> &extents,
                   const std::vector<std::vector<int64_t>> &kept, Items &items, size_t axis = 0,
                   int64_t base = 0) {
    if (axis == extents.size())
      return items.push_back(x[static_cast<size_t>(base)]);
    for (int64_t at : kept[axis])
      pick(x, extents, kept, items, axis + 1, base * extents[axis] + at);
  }

  Result compute(NodeId node) {
    switch (module_.node(node).kind) {
    case NodeKind::Constant:
      return constant(node);
    case NodeKind::CallOp:
      return call(node);
    case NodeKind::Project:
      return projected(node);
    case NodeKind::Call:
      return called(node);
    default:
      return std::nullopt;
    }
  }

  Result constant(NodeId node) const {
    const Constant &constant = module_.constant(node);
    DType dtype = types_.dtype(constant.type);
    Items items;
    for (int64_t i = 0, count = *types_.numElements(constant.type); i < count; ++i)
      items.push_back(elementAsInteger(dtype, constant.data(), i));
    return items;
  }

  Result call(NodeId node);
  // Of a function that is written where it is called, as kernels are: its body with these arguments.
  Result called(NodeId node) {
    NodeId callee = operand(node, 0);
    if (module_.node(callee).kind != NodeKind::Function)
      return std::nullopt;
    const Function function = module_.function(module_.functionOf(callee));
    Analysis inside(module_);
    for (size_t i = 0; i < function.params.size() && i + 1 < module_.operands(node).size(); ++i)
      if (Result argument = operandValue(node, i + 1))
        inside.known_[function.params[i].index] = std::move(*argument);
    inside.visited_ = visited_;
    Result result = inside.valueOf(module_.block(function.body).result);
    visited_ = inside.visited_;
    return result;
  }
  Result projected(NodeId node);
  Result shapeOf(NodeId node);
  Result sizeOf(NodeId node);
  Result same(NodeId node) { return operandValue(node, 0); }
  Result filled(NodeId node, Item item) {
    std::optional<size_t> count = countOf(module_.type(node));
    return count ? Result(Items(*count, item)) : std::nullopt;
  }
  Result repeated(NodeId node, size_t from);
  Result take(NodeId node);
  Result slice(NodeId node);
  Result transpose(NodeId node);
  Result concatenate(NodeId node);
  Result stack(NodeId node);
  Result arange(NodeId node);
  Result reverse(NodeId node);
  Result cumsum(NodeId node);
  Result where(NodeId node);
  Result reduce(NodeId node);
  Result unary(NodeId node);
  Result binary(NodeId node);

  // --- numbers and expressions
  Dim dimOf(const Item &item) const { return item.extent(); }
  static Item itemOf(CheckedInt number) { return number ? Item(*number) : Item(); }
  Item expression(DimOp op, const Item &a, const Item &b) {
    return Item(types_.dim(op, dimOf(a), dimOf(b)));
  }
  Item negated(Item item) {
    if (item.number)
      return subtract(Item(int64_t{0}), item);
    item.isNegated = !item.isNegated && !item.dim.isUnknown();
    return item;
  }
  Item add(const Item &a, const Item &b) {
    if (a.number && b.number)
      return itemOf(checkedAdd(*a.number, *b.number));
    if (a.isNegated || b.isNegated)
      return a.isNegated ? subtract(b, negated(a)) : subtract(a, negated(b));
    if (b.number && *b.number < 0 && *b.number != INT64_MIN)
      return subtract(a, Item(-*b.number));
    if (a.number && *a.number < 0)
      return b.number ? Item() : add(b, a);
    return expression(DimOp::Add, a, b);
  }
  Item subtract(const Item &a, const Item &b) {
    if (a.number && b.number)
      return itemOf(checkedSub(*a.number, *b.number));
    if (a == b && a.isKnown())
      return Item(int64_t{0});
    if (b.isNegated)
      return add(a, negated(b));
    if (b.number && *b.number < 0 && *b.number != INT64_MIN)
      return add(a, Item(-*b.number));
    return isAtLeast(a, b) ? expression(DimOp::Sub, a, b) : Item();
  }
  Item multiply(const Item &a, const Item &b) {
    if (a.number && b.number)
      return itemOf(checkedMul(*a.number, *b.number));
    if ((a.number && *a.number == 0) || (b.number && *b.number == 0))
      return Item(int64_t{0});
    for (auto [item, other] : {std::pair{a, b}, std::pair{b, a}})
      if (item.number == -1)
        return negated(other);
    return expression(DimOp::Mul, a, b);
  }
  // Of an expression both roundings agree: it is not negative.
  Item divide(const Item &a, const Item &b, bool isFloor) {
    if (!a.number || !b.number)
      return b.number && *b.number <= 0 ? Item() : expression(DimOp::FloorDiv, a, b);
    return itemOf(checkedDiv(*a.number, *b.number, isFloor));
  }
  Item modulo(const Item &a, const Item &b, bool isFloor) {
    if (!a.number || !b.number)
      return b.number && *b.number <= 0 ? Item() : expression(DimOp::Mod, a, b);
    return itemOf(checkedMod(*a.number, *b.number, isFloor));
  }
  Item extreme(DimOp op, const Item &a, const Item &b) {
    if (a.number && b.number)
      return Item(op == DimOp::Max ? std::max(*a.number, *b.number)
                                   : std::min(*a.number, *b.number));
    for (auto [item, other] : {std::pair{a, b}, std::pair{b, a}})
      if (item.number && *item.number < 0) // the other is an expression, if known
        return !other.isKnown() ? Item() : op == DimOp::Max ? other : item;
    return expression(op, a, b);
  }
  // a >= b surely
  bool isAtLeast(const Item &a, const Item &b) const {
    if (!a.isKnown() || !b.isKnown())
      return false;
    if (a.number && b.number)
      return *a.number >= *b.number;
    if (b.number && *b.number < 0)
      return true;
    return !dimOf(a).isUnknown() && !dimOf(b).isUnknown() &&
           types_.isSurelyAtLeast(dimOf(a), dimOf(b));
  }
  static Item truth(bool isTrue, bool isFalse) {
    return isTrue ? Item(int64_t{1}) : isFalse ? Item(int64_t{0}) : Item();
  }
  bool isMore(const Item &a, const Item &b) {
    return isAtLeast(a, add(b, Item(int64_t{1}))) && add(b, Item(int64_t{1})).isKnown();
  }
  Item compare(OpId op, const Item &a, const Item &b);
  Result comparedWithOne(NodeId node);
  bool isOneIfOther(const Item &x, const Item &y) const {
    return x.number ? *x.number == 1 : isOneWith(types_, x.extent(), y.extent());
  }
  Item arithmetic(OpId op, const Item &a, const Item &b);

  Module &module_;
  TypeTable &types_;
  std::unordered_map<uint32_t, Items> known_;
  uint32_t visited_ = 0;
};

Result Analysis::shapeOf(NodeId node) {
  TypeId type = module_.type(operand(node, 0));
  Items items;
  for (Dim dim : types_.shape(type))
    items.push_back(Item(dim));
  return items;
}

Result Analysis::sizeOf(NodeId node) {
  Dim count(1);
  for (Dim dim : types_.shape(module_.type(operand(node, 0))))
    count = types_.mul(count, dim);
  return Items{Item(count)};
}

// As many elements as there are, or one for all.
Result Analysis::repeated(NodeId node, size_t from) {
  Result x = operandValue(node, from);
  std::optional<size_t> count = countOf(module_.type(node));
  if (!x || !count)
    return std::nullopt;
  return x->size() == 1 ? Items(*count, x->front()) : *x;
}

Result Analysis::take(NodeId node) {
  NodeId data = operand(node, 0);
  Result x = valueOf(data), indices = operandValue(node, 1);
  if (!x || !indices || !isFirstAxis(node, rankOf(data)) || intAttr(node, "batch_dims", 0) != 0)
    return std::nullopt;
  const AttrValue *mode = module_.attr(node, "mode");
  bool wraps =
      mode && mode->isString() && (mode->asString() == "wrap" || mode->asString() == "error");
  int64_t size = static_cast<int64_t>(x->size());
  Items items;
  for (const Item &index : *indices) {
    bool isKnown = index.number && size > 0;
    int64_t at = !isKnown ? 0
                 : wraps  ? (*index.number % size + size) % size
                          : std::clamp<int64_t>(*index.number, 0, size - 1);
    items.push_back(isKnown ? (*x)[static_cast<size_t>(at)] : Item());
  }
  return items;
}

// With bounds that are numbers.
Result Analysis::slice(NodeId node) {
  NodeId data = operand(node, 0);
  Result x = valueOf(data);
  const AttrValue *mode = module_.attr(node, "slice_mode");
  if (!x || !mode->isString() || mode->asString() != "end")
    return std::nullopt;
  std::vector<int64_t> extents = extentsOf(data);
  std::vector<int64_t> axes(extents.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (const AttrValue *given = module_.attr(node, "axes"); given && given->isList()) {
    axes.clear();
    for (const AttrValue &axis : given->asList())
      axes.push_back(axis.asInt() < 0 ? axis.asInt() + static_cast<int64_t>(extents.size())
                                      : axis.asInt());
  }
  std::vector<std::vector<int64_t>> bounds;
  static constexpr std::string_view keys[] = {"begin", "end", "strides"};
  for (size_t i = 0; i < 3; ++i) {
    auto list = module_.operands(node).size() > 1
                    ? numbersOf(operandValue(node, 1 + i))
                    : std::optional(listOf(module_.attr(node, keys[i])));
    if (!list || list->size() > axes.size())
      return std::nullopt;
    bounds.push_back(std::move(*list));
  }
  std::vector<std::vector<int64_t>> kept; // positions of each axis
  for (int64_t size : extents) {
    kept.emplace_back(static_cast<size_t>(size));
    std::iota(kept.back().begin(), kept.back().end(), 0);
  }
  for (size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] < 0 || axes[k] >= static_cast<int64_t>(extents.size()))
      return std::nullopt;
    int64_t size = extents[static_cast<size_t>(axes[k])];
    auto bound = [&](size_t which, int64_t ifNone) {
      return k < bounds[which].size() ? bounds[which][k] : ifNone;
    };
    int64_t begin = bound(0, 0), end = bound(1, size), stride = bound(2, 1);
    if (stride == 0)
      return std::nullopt;
    int64_t low = stride < 0 ? -1 : 0, high = stride < 0 ? size - 1 : size;
    int64_t from = std::clamp(begin < 0 ? begin + size : begin, low, high);
    int64_t to = std::clamp(end < 0 ? end + size : end, low, high);
    stride = std::clamp<int64_t>(stride, -size - 1, size + 1);
    std::vector<int64_t> &positions = kept[static_cast<size_t>(axes[k])];
    positions.clear();
    for (int64_t i = from; stride > 0 ? i < to : i > to; i += stride)
      positions.push_back(i);
  }
  Items items;
  pick(*x, extents, kept, items);
  return items;
}

Result Analysis::transpose(NodeId node) {
  NodeId data = operand(node, 0);
  Result x = operandValue(node, 0);
  if (!x)
    return std::nullopt;
  std::vector<int64_t> from = extentsOf(data), steps(from.size(), 1), to, by;
  for (size_t d = from.size(); d-- > 1;)
    steps[d - 1] = steps[d] * from[d];
  std::vector<int64_t> axes = listOf(module_.attr(node, "axes"));
  if (axes.empty()) {
    axes.resize(from.size());
    std::iota(axes.rbegin(), axes.rend(), 0);
  }
  for (int64_t axis : axes) {
    size_t at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(from.size()) : axis);
    if (at >= from.size())
      return std::nullopt;
    to.push_back(from[at]), by.push_back(steps[at]);
  }
  Items items;
  for (size_t i = 0; i < x->size(); ++i) {
    int64_t left = static_cast<int64_t>(i), source = 0;
    for (size_t d = to.size(); d-- > 0; left /= to[d])
      source += left % to[d] * by[d];
    items.push_back((*x)[static_cast<size_t>(source)]);
  }
  return items;
}

Result Analysis::concatenate(NodeId node) {
  NodeId tuple = operand(node, 0);
  if (module_.node(tuple).kind != NodeKind::Tuple || !isFirstAxis(node, rankOf(node)))
    return std::nullopt;
  Items items;
  for (NodeId field : module_.operands(tuple)) {
    Result part = valueOf(field);
    if (!part)
      return std::nullopt;
    items.insert(items.end(), part->begin(), part->end());
  }
  return items;
}

// Scalars, or vectors along either axis.
Result Analysis::stack(NodeId node) {
  NodeId tuple = operand(node, 0);
  size_t rank = rankOf(node);
  if (module_.node(tuple).kind != NodeKind::Tuple || rank > 2)
    return std::nullopt;
  std::vector<Items> parts;
  for (NodeId field : module_.operands(tuple)) {
    Result part = valueOf(field);
    if (!part || (!parts.empty() && part->size() != parts[0].size()))
      return std::nullopt;
    parts.push_back(std::move(*part));
  }
  int64_t axis = intAttr(node, "axis", 0);
  bool isRows = rank == 1 || axis == 0 || axis == -2;
  size_t outer = isRows ? parts.size() : parts[0].size(),
         inner = isRows ? parts[0].size() : parts.size();
  Items items;
  for (size_t i = 0; i < outer; ++i)
    for (size_t k = 0; k < inner; ++k)
      items.push_back(isRows ? parts[i][k] : parts[k][i]);
  return items;
}

Result Analysis::arange(NodeId node) {
  if (module_.operands(node).size() != 3)
    return std::nullopt;
  Result start = operandValue(node, 0), step = operandValue(node, 2);
  std::optional<size_t> count = countOf(module_.type(node));
  if (!start || !step || !count)
    return std::nullopt;
  Items items;
  for (size_t i = 0; i < *count; ++i)
    items.push_back(add(start->front(), multiply(step->front(), Item(static_cast<int64_t>(i)))));
  return items;
}

Result Analysis::reverse(NodeId node) {
  Result x = operandValue(node, 0);
  if (x && rankOf(node) == 1)
    std::ranges::reverse(*x);
  return rankOf(node) == 1 ? x : std::nullopt;
}

Result Analysis::cumsum(NodeId node) {
  Result x = operandValue(node, 0);
  if (!x || rankOf(node) != 1)
    return std::nullopt;
  const AttrValue *value = module_.attr(node, "exclusive");
  bool isExclusive = value && value->isBool() && value->asBool();
  Item sum(int64_t{0});
  for (Item &item : *x) {
    Item next = add(sum, item);
    item = isExclusive ? sum : next;
    sum = next;
  }
  return x;
}

// Of a call that asks which elements are 1: these. where(y == 1, x, y) is y if x is 1
// wherever y is: ONNX's Expand asks so for the larger of two extents.
Result Analysis::comparedWithOne(NodeId node) {
  if (!module_.isOp(node, ops::equal))
    return std::nullopt;
  Result one = operandValue(node, 1);
  bool isOne = one && std::ranges::all_of(*one, [](const Item &item) { return item.number == 1; });
  return isOne ? operandValue(node, 0) : std::nullopt;
}

Result Analysis::where(NodeId node) {
  Result condition = operandValue(node, 0), a = operandValue(node, 1), b = operandValue(node, 2);
  Result ones = comparedWithOne(operand(node, 0));
  std::optional<size_t> count = countOf(module_.type(node));
  if (!condition || !a || !b || !count || rankOf(node) > 1)
    return std::nullopt;
  Items items;
  for (size_t i = 0; i < *count; ++i) {
    auto at = [&](const Items &list) { return list[list.size() == 1 ? 0 : i]; };
    Item which = at(*condition), x = at(*a), y = at(*b);
    if (which.number)
      items.push_back(*which.number ? x : y);
    else
      items.push_back(x == y || (ones && at(*ones) == y && isOneIfOther(x, y)) ? y : Item());
  }
  return items;
}

// All elements of a vector (or of a scalar) to one.
Result Analysis::reduce(NodeId node) {
  Result x = operandValue(node, 0);
  if (!x || countOf(module_.type(node)) != 1u || rankOf(operand(node, 0)) > 1)
    return std::nullopt;
  const AttrValue *axes = module_.attr(node, "axis"), *excludes = module_.attr(node, "exclude");
  bool isNone = axes && axes->isList() && axes->asList().empty();
  if (isNone || (excludes && excludes->isBool() && excludes->asBool()))
    return std::nullopt;
  OpId op = module_.node(node).op;
  bool isProduct = op == ops::prod, isSum = op == ops::sum;
  Item result(int64_t{isProduct ? 1 : 0});
  for (size_t i = 0; i < x->size(); ++i)
    result = isProduct        ? multiply(result, (*x)[i])
             : isSum          ? add(result, (*x)[i])
             : i == 0         ? (*x)[i]
             : op == ops::max ? extreme(DimOp::Max, result, (*x)[i])
                              : extreme(DimOp::Min, result, (*x)[i]);
  return x->empty() && !isProduct && !isSum ? std::nullopt : Result(Items{result});
}

Result Analysis::unary(NodeId node) {
  Result x = operandValue(node, 0);
  if (!x)
    return std::nullopt;
  OpId op = module_.node(node).op;
  DType from = types_.dtype(module_.type(operand(node, 0))), to = types_.dtype(module_.type(node));
  for (Item &item : *x) {
    Item zero(int64_t{0});
    if (op == ops::negative)
      item = negated(item);
    else if (op == ops::abs)
      item = item.isNegated || (item.number && *item.number < 0) ? negated(item) : item;
    else if (op == ops::logical_not)
      item = compare(ops::equal, item, zero);
    else if (to == DType::Bool && from != DType::Bool) // cast
      item = compare(ops::not_equal, item, zero);
  }
  return x;
}

Item Analysis::compare(OpId op, const Item &a, const Item &b) {
  bool isEqual = a.isKnown() && a == b;
  bool isLess = isMore(b, a), isGreater = isMore(a, b);
  if (op == ops::equal)
    return truth(isEqual, isLess || isGreater);
  if (op == ops::not_equal)
    return truth(isLess || isGreater, isEqual);
  if (op == ops::less)
    return truth(isLess, isAtLeast(a, b));
  if (op == ops::greater_equal)
    return truth(isAtLeast(a, b), isLess);
  if (op == ops::greater)
    return truth(isGreater, isAtLeast(b, a));
  return truth(isAtLeast(b, a), isGreater); // less_equal
}

Item Analysis::arithmetic(OpId op, const Item &a, const Item &b) {
  if (op == ops::add)
    return add(a, b);
  if (op == ops::subtract)
    return subtract(a, b);
  if (op == ops::multiply)
    return multiply(a, b);
  if (op == ops::divide || op == ops::trunc_divide || op == ops::floor_divide)
    return divide(a, b, op == ops::floor_divide);
  if (op == ops::mod || op == ops::trunc_mod || op == ops::floor_mod)
    return modulo(a, b, op == ops::floor_mod);
  if (op == ops::maximum || op == ops::minimum)
    return extreme(op == ops::maximum ? DimOp::Max : DimOp::Min, a, b);
  if (op == ops::logical_and || op == ops::logical_or) {
    bool isOr = op == ops::logical_or;
    for (const Item &item : {a, b})
      if (item.number && (*item.number != 0) == isOr)
        return Item(int64_t{isOr});
    return a.number && b.number ? Item(int64_t{!isOr}) : Item();
  }
  return compare(op, a, b);
}

// Scalars, vectors of one, and equal lengths.
Result Analysis::binary(NodeId node) {
  Result a = operandValue(node, 0), b = operandValue(node, 1);
  std::optional<size_t> count = countOf(module_.type(node));
  if (!a || !b || !count ||
      (rankOf(node) > 1 && a->size() != 1 && b->size() != 1 && a->size() != b->size()))
    return std::nullopt;
  bool fitsLeft = a->size() == 1 || a->size() == *count,
       fitsRight = b->size() == 1 || b->size() == *count;
  if (!fitsLeft || !fitsRight)
    return std::nullopt;
  Items items;
  for (size_t i = 0; i < *count; ++i)
    items.push_back(arithmetic(module_.node(node).op, (*a)[a->size() == 1 ? 0 : i],
                               (*b)[b->size() == 1 ? 0 : i]));
  return items;
}

// A part of a vector that was split.
Result Analysis::projected(NodeId node) {
  NodeId split = operand(node, 0);
  if (!module_.isOp(split, ops::split) || rankOf(operand(split, 0)) != 1)
    return std::nullopt;
  Result x = operandValue(split, 0);
  size_t begin = 0, field = module_.node(node).payload;
  for (size_t i = 0; i <= field; ++i) {
    std::optional<size_t> count = countOf(types_.fields(module_.type(split))[i]);
    if (!x || !count || begin + *count > x->size())
      return std::nullopt;
    if (i == field)
      return Items(x->begin() + static_cast<long>(begin),
                   x->begin() + static_cast<long>(begin + *count));
    begin += *count;
  }
  return std::nullopt;
}

Result Analysis::call(NodeId node) {
  struct Row {
    OpId op;
    Result (Analysis::*compute)(NodeId);
  };
  static const Row rows[] = {
      {ops::abs, &Analysis::unary},
      {ops::add, &Analysis::binary},
      {ops::arange, &Analysis::arange},
      {ops::cast, &Analysis::unary},
      {ops::cast_like, &Analysis::unary},
      {ops::concatenate, &Analysis::concatenate},
      {ops::copy, &Analysis::same},
      {ops::cumsum, &Analysis::cumsum},
      {ops::divide, &Analysis::binary},
      {ops::dyn_expand_dims, &Analysis::same},
      {ops::dyn_reshape, &Analysis::same},
      {ops::dyn_squeeze, &Analysis::same},
      {ops::dyn_strided_slice, &Analysis::slice},
      {ops::equal, &Analysis::binary},
      {ops::expand_dims, &Analysis::same},
      {ops::floor_divide, &Analysis::binary},
      {ops::floor_mod, &Analysis::binary},
      {ops::greater, &Analysis::binary},
      {ops::greater_equal, &Analysis::binary},
      {ops::less, &Analysis::binary},
      {ops::less_equal, &Analysis::binary},
      {ops::logical_and, &Analysis::binary},
      {ops::logical_not, &Analysis::unary},
      {ops::logical_or, &Analysis::binary},
      {ops::max, &Analysis::reduce},
      {ops::maximum, &Analysis::binary},
      {ops::min, &Analysis::reduce},
      {ops::minimum, &Analysis::binary},
      {ops::mod, &Analysis::binary},
      {ops::multiply, &Analysis::binary},
      {ops::ndarray_size, &Analysis::sizeOf},
      {ops::negative, &Analysis::unary},
      {ops::not_equal, &Analysis::binary},
      {ops::prod, &Analysis::reduce},
      {ops::reshape, &Analysis::same},
      {ops::reshape_like, &Analysis::same},
      {ops::reverse, &Analysis::reverse},
      {ops::shape_of, &Analysis::shapeOf},
      {ops::squeeze, &Analysis::same},
      {ops::stack, &Analysis::stack},
      {ops::strided_slice, &Analysis::slice},
      {ops::subtract, &Analysis::binary},
      {ops::sum, &Analysis::reduce},
      {ops::take, &Analysis::take},
      {ops::transpose, &Analysis::transpose},
      {ops::trunc_divide, &Analysis::binary},
      {ops::trunc_mod, &Analysis::binary},
      {ops::where, &Analysis::where},
  };
  OpId op = module_.node(node).op;
  for (const Row &row : rows)
    if (row.op == op)
      return (this->*row.compute)(node);
  if (op == ops::ones || op == ops::ones_like || op == ops::dyn_ones)
    return filled(node, Item(int64_t{1}));
  if (op == ops::zeros || op == ops::zeros_like || op == ops::dyn_zeros)
    return filled(node, Item(int64_t{0}));
  if (op == ops::full || op == ops::dyn_full || op == ops::broadcast_to ||
      op == ops::dyn_broadcast_to)
    return repeated(node, 0);
  return op == ops::full_like ? repeated(node, 1) : std::nullopt;
}

} // namespace

std::optional<std::vector<SymbolicInt>> symbolicValue(Module &module, NodeId node) {
  return Analysis(module).valueOf(node);
}

} // namespace bycc
