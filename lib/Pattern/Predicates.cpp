// Tests of attributes, types and constants. Messages say what was found and what
// is wanted: "groups is 2, it takes 1".

#include "bycc/Pattern/Predicates.h"

#include "bycc/Support/Element.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace bycc {

namespace {

std::string numberText(double value) {
  bool isWhole = value == std::floor(value) && std::abs(value) < 1e15;
  return isWhole ? std::to_string(static_cast<int64_t>(value)) : formatDouble(value);
}

template <typename T, typename F>
std::string listed(const std::vector<T> &values, F &&text, const char *separator = " or ") {
  std::vector<std::string> parts;
  for (const T &value : values)
    parts.push_back(text(value));
  return join(parts, separator);
}

std::string wanted(const AttrTest &test) {
  auto text = [](const AttrValue &value) { return value.str(); };
  std::vector<std::string> parts;
  if (!test.anyOf.empty())
    parts.push_back("it takes " + listed(test.anyOf, text));
  if (test.range)
    parts.push_back("it takes " + test.range->str());
  if (!test.noneOf.empty())
    parts.push_back("it does not take " + listed(test.noneOf, text));
  return join(parts, ", ");
}

bool isInRange(const AttrValue &value, const NumberRange &range) {
  if (value.isInt())
    return range.contains(static_cast<double>(value.asInt()));
  if (value.isFloat())
    return range.contains(value.asFloat());
  return value.isList() && std::ranges::all_of(value.asList(), [&](const AttrValue &item) {
           return isInRange(item, range);
         });
}

bool holds(const DimTest &test, Dim dim) {
  if (!test.range && test.multipleOf == 1)
    return true;
  return dim.isConst() && (!test.range || test.range->contains(static_cast<double>(dim.value()))) &&
         dim.value() % test.multipleOf == 0;
}

std::string shapeText(const TypeTest &test) {
  auto text = [](const DimTest &dim) { return dim.text; };
  std::string front = listed(test.shape, text, ", "), back = listed(test.tail, text, ", ");
  std::string middle = test.isOpen ? "..." : "";
  std::string result = front;
  for (const std::string &part : {middle, back})
    if (!part.empty())
      result += (result.empty() ? "" : ", ") + part;
  return "(" + result + ")";
}

bool shapeHolds(const TypeTest &test, std::span<const Dim> shape) {
  size_t least = test.shape.size() + test.tail.size();
  if (test.isOpen ? shape.size() < least : shape.size() != least)
    return false;
  for (size_t i = 0; i < test.shape.size(); ++i)
    if (!holds(test.shape[i], shape[i]))
      return false;
  for (size_t i = 0; i < test.tail.size(); ++i)
    if (!holds(test.tail[i], shape[shape.size() - test.tail.size() + i]))
      return false;
  return true;
}

std::string layoutText(std::string_view layout) {
  return layout.empty() ? "row-major" : std::string(layout);
}

WhyNot whyNotTensor(const TypeTest &test, const Module &module, TypeId type) {
  std::span<const Dim> shape = module.types.shape(type);
  DType dtype = module.types.dtype(type);
  if (!test.dtypes.empty() && std::ranges::find(test.dtypes, dtype) == test.dtypes.end())
    return "is " + std::string(name(dtype)) + ", it takes " +
           listed(test.dtypes, [](DType d) { return std::string(name(d)); }, ", ");
  int64_t rank = static_cast<int64_t>(shape.size());
  if (!test.ranks.empty() && std::ranges::find(test.ranks, rank) == test.ranks.end())
    return "has rank " + std::to_string(rank) + ", it takes " +
           listed(test.ranks, [](int64_t r) { return std::to_string(r); });
  if (test.hasShape && !shapeHolds(test, shape))
    return "is " + module.types.str(type) + ", it takes shape " + shapeText(test);
  std::string layout(module.types.layout(type));
  if (!test.layouts.empty() && std::ranges::find(test.layouts, layout) == test.layouts.end())
    return "has layout " + layoutText(layout) + ", it takes " +
           listed(test.layouts, [](const std::string &l) { return layoutText(l); });
  return std::nullopt;
}

// A tolerance of 0 still means the value as the dtype can write it.
bool isCloseTo(double found, double wanted, double tolerance, DType dtype) {
  if (std::isnan(wanted) || std::isinf(wanted))
    return std::isnan(wanted) ? std::isnan(found) : found == wanted;
  double slack = tolerance;
  if (tolerance <= 0 && isFloat(dtype)) {
    bool isShort = dtype == DType::Float16 || dtype == DType::BFloat16;
    slack = std::abs(wanted) * (isShort ? 8e-3 : 1e-6);
  }
  return std::abs(found - wanted) <= slack;
}

} // namespace

std::string NumberRange::str() const {
  if (min == max)
    return numberText(min);
  std::vector<std::string> parts;
  if (min > -std::numeric_limits<double>::infinity())
    parts.push_back((minIsOpen ? "> " : ">= ") + numberText(min));
  if (max < std::numeric_limits<double>::infinity())
    parts.push_back((maxIsOpen ? "< " : "<= ") + numberText(max));
  return join(parts, " and ");
}

bool holds(const AttrTest &test, const AttrValue &value) {
  auto equals = [&](const AttrValue &other) { return value.equalsLoosely(other); };
  return (test.anyOf.empty() || std::ranges::any_of(test.anyOf, equals)) &&
         std::ranges::none_of(test.noneOf, equals) &&
         (!test.range || isInRange(value, *test.range));
}

bool NumberRange::isWithin(const NumberRange &other) const {
  bool isAbove = min > other.min || (min == other.min && (minIsOpen || !other.minIsOpen));
  bool isBelow = max < other.max || (max == other.max && (maxIsOpen || !other.maxIsOpen));
  return isAbove && isBelow;
}

bool implies(const AttrTest &test, const AttrTest &other) {
  // 3 may be the axis -1: only what is written alike is compared.
  bool isAxis = test.key == "axis";
  if (!test.anyOf.empty() && !isAxis)
    return std::ranges::all_of(test.anyOf, [&](const AttrValue &value) {
      return !holds(test, value) || holds(other, value);
    });
  auto isIn = [](const AttrValue &value, const std::vector<AttrValue> &values) {
    return std::ranges::any_of(values,
                               [&](const AttrValue &each) { return value.equalsLoosely(each); });
  };
  auto isOther = [&](const AttrValue &value) { return isIn(value, other.anyOf); };
  auto isExcluded = [&](const AttrValue &value) { return isIn(value, test.noneOf); };
  bool isWithin = !other.range || (test.range && test.range->isWithin(*other.range) &&
                                   (!isAxis || other.range->isWithin(*test.range)));
  return isWithin && std::ranges::all_of(other.noneOf, isExcluded) &&
         (other.anyOf.empty() || (!test.anyOf.empty() && std::ranges::all_of(test.anyOf, isOther)));
}

WhyNot whyNot(const AttrTest &test, const Module &module, NodeId call) {
  const AttrValue *value = module.attr(call, test.key);
  if (value && holds(test, *value))
    return std::nullopt;
  return test.key + " is " + (value ? value->str() : "absent") + ", " + wanted(test);
}

std::optional<DimTest> parseDimTest(std::string_view text) {
  DimTest test;
  test.text = text;
  auto bounded = [&](std::string_view word, int64_t least) -> std::optional<int64_t> {
    std::optional<int64_t> value = parseInt(word);
    return value && *value >= least ? value : std::nullopt;
  };
  if (text == "?")
    return test;
  NumberRange range;
  if (text.starts_with("%")) {
    auto factor = bounded(text.substr(1), 1);
    test.multipleOf = factor.value_or(1);
    return factor ? std::optional(test) : std::nullopt;
  }
  std::optional<int64_t> low, high;
  if (text.starts_with(">=")) {
    low = bounded(text.substr(2), 0);
    high = low;
    range.min = static_cast<double>(low.value_or(0));
  } else if (text.starts_with("<=")) {
    low = high = bounded(text.substr(2), 0);
    range.max = static_cast<double>(high.value_or(0));
  } else {
    size_t dots = text.find("..");
    low = bounded(text.substr(0, dots), 0);
    high = dots == std::string_view::npos ? low : bounded(text.substr(dots + 2), 0);
    range = {static_cast<double>(low.value_or(0)), static_cast<double>(high.value_or(0))};
  }
  if (!low || !high || range.min > range.max)
    return std::nullopt;
  test.range = range;
  return test;
}

WhyNot whyNot(const TypeTest &test, const Module &module, TypeId type) {
  for (TypeId part : module.types.flatten(type)) {
    if (!module.types.isTensor(part))
      return "is no tensor";
    if (WhyNot why = whyNotTensor(test, module, part))
      return why;
  }
  return std::nullopt;
}

bool holds(const ValueTest &test, const Module &module, NodeId node) {
  if (!module.isConstant(node))
    return false;
  const Constant &constant = module.constant(node);
  DType dtype = module.types.dtype(constant.type);
  uint64_t count = constant.bytes / static_cast<uint64_t>(sizeInBytes(dtype));
  if (count == 0 || (test.isList && count != test.values.size()))
    return false;
  for (uint64_t i = 0; i < count; ++i) {
    double found = elementAsDouble(dtype, constant.data(), static_cast<int64_t>(i));
    if (!test.values.empty() &&
        !isCloseTo(found, test.values[test.isList ? i : 0], test.tolerance, dtype))
      return false;
    if (test.range && !test.range->contains(found))
      return false;
  }
  return true;
}

} // namespace bycc
