// The classes and measures that are built in, and how the text of a class is read.

#include "bycc/Target/CostClass.h"

#include "bycc/IR/LikelyExtents.h"
#include "bycc/IR/Module.h"
#include "bycc/IR/Op.h"
#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Layout.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace bycc {

TypeId firstTensor(const Module &module, TypeId type) {
  while (module.types.isTuple(type) && !module.types.fields(type).empty())
    type = module.types.fields(type)[0];
  return module.types.isTensor(type) ? type : TypeId();
}

namespace {

std::span<const Dim> shapeOf(const Module &module, TypeId type) {
  TypeId tensor = firstTensor(module, type);
  return tensor ? module.types.shape(tensor) : std::span<const Dim>();
}

std::span<const Dim> dataShape(const Module &module, NodeId call) {
  std::span<const NodeId> operands = module.operands(call);
  return operands.empty() ? std::span<const Dim>() : shapeOf(module, module.type(operands[0]));
}

// Of an axis and its blocks; none when the layout has no such axis.
std::optional<double> extentOf(const Module &module, char letter, const Layout &layout,
                               std::span<const Dim> shape) {
  std::optional<double> extent;
  for (size_t i = 0; i < layout.rank() && i < shape.size(); ++i)
    if (layout.axes()[i].letter == letter)
      extent = extent.value_or(1) * static_cast<double>(module.types.likely(shape[i]));
  return extent;
}

// A convolution's weights, with the layout that it says they have.
struct Weights {
  Layout layout;
  std::span<const Dim> shape;
};
std::optional<Weights> weightsOf(const Module &module, NodeId call) {
  const std::vector<std::string> &inputs = opInfo(module.node(call).op).inputs;
  auto weight = static_cast<size_t>(std::ranges::find(inputs, "weight") - inputs.begin());
  const AttrValue *text = module.attr(call, "kernel_layout");
  std::span<const NodeId> operands = module.operands(call);
  if (weight >= operands.size() || !text || !text->isString())
    return std::nullopt;
  auto layout = Layout::parse(text->asString());
  if (!layout)
    return std::nullopt;
  return Weights{*layout, shapeOf(module, module.type(operands[weight]))};
}

// --- measures

std::optional<double> elements(const Module &module, NodeId call) {
  TypeId tensor = firstTensor(module, module.type(call));
  return tensor ? std::optional(likelyElements(module.types, tensor)) : std::nullopt;
}

std::optional<double> rows(const Module &module, NodeId call) {
  std::span<const Dim> shape = shapeOf(module, module.type(call));
  if (shape.empty())
    return elements(module, call);
  double product = 1;
  for (Dim dim : shape.first(shape.size() - 1))
    product *= static_cast<double>(module.types.likely(dim));
  return product;
}

std::optional<double> channelsOf(const Module &module, NodeId call, std::span<const Dim> shape) {
  for (const char *key : {"data_layout", "layout"})
    if (const AttrValue *text = module.attr(call, key); text && text->isString())
      if (auto layout = Layout::parse(text->asString()))
        return extentOf(module, 'C', *layout, shape);
  return shape.size() > 1 ? std::optional(static_cast<double>(module.types.likely(shape[1])))
                          : std::nullopt;
}

std::optional<double> channels(const Module &module, NodeId call) {
  return channelsOf(module, call, dataShape(module, call));
}

std::optional<double> multiplyAdds(const Module &module, NodeId call) {
  const OpInfo &info = opInfo(module.node(call).op);
  std::optional<double> count = elements(module, call);
  return count && *count > 0 ? std::optional(info.flops(module, call) / 2 / *count) : std::nullopt;
}

// --- classes

int64_t groups(const Module &module, NodeId call) {
  const AttrValue *value = module.attr(call, "groups");
  return value && value->isInt() ? value->asInt() : 1;
}

} // namespace

bool isDepthwise(const Module &module, NodeId call) {
  int64_t count = groups(module, call);
  return count > 1 && channels(module, call) == static_cast<double>(count);
}

namespace {

std::optional<double> filters(const Module &module, NodeId call) {
  if (!weightsOf(module, call))
    return std::nullopt;
  std::optional<double> all = channelsOf(module, call, shapeOf(module, module.type(call)));
  return all ? std::optional(*all / static_cast<double>(groups(module, call))) : std::nullopt;
}

std::optional<double> multiplier(const Module &module, NodeId call) {
  return isDepthwise(module, call) ? filters(module, call) : std::nullopt;
}

bool isGrouped(const Module &module, NodeId call) {
  return groups(module, call) > 1 && !isDepthwise(module, call);
}

bool isPointwise(const Module &module, NodeId call) {
  std::optional<Weights> weights = weightsOf(module, call);
  return weights && std::ranges::all_of(weights->layout.without("OI"), [&](char letter) {
           return extentOf(module, letter, weights->layout, weights->shape) == 1.0;
         });
}

struct BuiltinClass {
  const char *name;
  const char *attr; // operators without it have no such calls
  const char *says;
  bool (*isIn)(const Module &module, NodeId call);
};
constexpr BuiltinClass builtinClasses[] = {
    {"depthwise", "groups", "a convolution with a group for each channel of its data, of several",
     isDepthwise},
    {"grouped", "groups", "a convolution with several groups, but fewer than channels", isGrouped},
    {"pointwise", "kernel_layout", "a convolution whose kernel is 1 on every spatial axis",
     isPointwise},
};

// Numbers of a call that a class may compare. One that it does not have is in no bounds.
struct Measure {
  const char *name;
  std::optional<double> (*of)(const Module &module, NodeId call);
};
constexpr Measure measures[] = {
    {"channels", channels},     // of the data: axis C of its layout, axis 1 without one
    {"elements", elements},     // of the result; of several, the first
    {"filters", filters},       // of a convolution: channels of the result of each group
    {"k", multiplyAdds},        // multiply-adds for each of them: what a product sums over
    {"multiplier", multiplier}, // results for each channel of a depthwise convolution
    {"rows", rows},             // of the result: all extents but the last, multiplied
};

const BuiltinClass *findClass(std::string_view name) {
  auto found = std::ranges::find(builtinClasses, name, &BuiltinClass::name);
  return found == std::end(builtinClasses) ? nullptr : found;
}

const Measure *findMeasure(std::string_view name) {
  auto found = std::ranges::find(measures, name, &Measure::name);
  return found == std::end(measures) ? nullptr : found;
}

constexpr const char *fusedClass = "fused";

bool isBare(const AttrTest &test) {
  return test.anyOf.empty() && test.noneOf.empty() && !test.range;
}

// --- axes: -1 and 3 are the same of four

// A value as the axes that it names; one counts as a list of one.
std::vector<int64_t> axesOf(const AttrValue &value) {
  std::vector<int64_t> axes;
  if (value.isInt())
    axes.push_back(value.asInt());
  if (value.isList())
    for (const AttrValue &item : value.asList())
      if (item.isInt())
        axes.push_back(item.asInt());
  return axes;
}

bool axesHold(const AttrTest &test, const AttrValue &value, int64_t rank) {
  std::vector<int64_t> found = axesOf(value);
  if (found.empty()) // None
    return holds(test, value);
  auto fromFront = [&](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  auto isSame = [&](const AttrValue &wanted) {
    return std::ranges::equal(axesOf(wanted), found, {}, fromFront, fromFront);
  };
  auto isInRange = [&](int64_t axis) {
    // A bound that counts from the end is one from the front.
    NumberRange range = *test.range;
    for (double *bound : {&range.min, &range.max})
      if (*bound < 0 && std::isfinite(*bound))
        *bound += static_cast<double>(rank);
    return range.contains(static_cast<double>(fromFront(axis)));
  };
  return (test.anyOf.empty() || std::ranges::any_of(test.anyOf, isSame)) &&
         std::ranges::none_of(test.noneOf, isSame) &&
         (!test.range || std::ranges::all_of(found, isInRange));
}

// Of the argument; of the result where an operator adds axes to its one argument.
int64_t axisCount(const Module &module, NodeId call) {
  size_t rank = dataShape(module, call).size();
  if (module.operands(call).size() == 1)
    rank = std::max(rank, shapeOf(module, module.type(call)).size());
  return static_cast<int64_t>(rank);
}

bool attrHolds(const AttrTest &test, const Module &module, NodeId call) {
  const AttrValue *value = module.attr(call, test.key);
  if (!value)
    return false;
  return test.key == "axis" ? axesHold(test, *value, axisCount(module, call)) : holds(test, *value);
}

// Does a condition ask for an attribute that the operator does not have?
const std::string *missingAttr(const Condition &condition, OpId op) {
  for (const AttrTest &test : condition.attrs)
    if (!opInfo(op).findAttr(test.key))
      return &test.key;
  for (const Condition &choice : condition.anyOf)
    if (const std::string *missing = missingAttr(choice, op))
      return missing;
  return nullptr;
}

} // namespace

Expected<CostClass::Part> CostClass::parsePart(AttrTest test, OpId op,
                                               const FileClasses &fileClasses) {
  Part part;
  std::string_view opName = op ? opInfo(op).name : "";
  if (isBare(test)) {
    if (auto own = fileClasses.find(test.key); own != fileClasses.end()) {
      part.condition = own->second;
      if (const std::string *missing = op ? missingAttr(*part.condition, op) : nullptr)
        return error(Status::Input) << "class '" << test.key << "' asks for the attribute '"
                                    << *missing << "', which " << opName << " does not have";
      return part;
    }
    const BuiltinClass *builtin = findClass(test.key);
    if (!builtin) {
      std::vector<std::string> known{fusedClass};
      for (const BuiltinClass &each : builtinClasses)
        known.emplace_back(each.name);
      for (const auto &[name, condition] : fileClasses)
        known.push_back(name);
      return error(Status::Input) << unknownName("class", test.key, known);
    }
    if (op && !opInfo(op).findAttr(builtin->attr))
      return error(Status::Input) << "no " << opName << " is '" << test.key
                                  << "': " << builtin->says;
    part.isIn = builtin->isIn;
    return part;
  }
  if (const Measure *measure = findMeasure(test.key)) {
    part.measure = measure->of;
    auto isNumber = [](const AttrValue &value) { return value.isInt() || value.isFloat(); };
    if (!std::ranges::all_of(test.anyOf, isNumber) || !std::ranges::all_of(test.noneOf, isNumber))
      return error(Status::Input) << "'" << test.key << "' is compared with numbers";
  } else if (std::vector<std::string> attrs = attrNames(op);
             std::ranges::find(attrs, test.key) == attrs.end()) {
    std::vector<std::string> known;
    for (const Measure &each : measures)
      known.emplace_back(each.name);
    known.insert(known.end(), attrs.begin(), attrs.end());
    return error(Status::Input) << (op ? std::string(opName) + ": " : "")
                                << unknownName("attribute or measure", test.key, known);
  }
  part.test = std::move(test);
  return part;
}

Expected<CostClass> CostClass::parse(std::string_view text, OpId op,
                                     const FileClasses &fileClasses) {
  CostClass result;
  for (AttrTest &test : BYCC_TRY(parseTests(text)))
    if (isBare(test) && test.key == fusedClass)
      result.isFused_ = true;
    else
      result.parts_.push_back(BYCC_TRY(parsePart(std::move(test), op, fileClasses)));
  return result;
}

Expected<> CostClass::checkName(std::string_view name) {
  if (findClass(name) || name == fusedClass)
    return error(Status::Input) << "'" << name << "' is built in";
  Expected<std::vector<AttrTest>> parts = parseTests(name);
  if (!parts || parts->size() != 1 || (*parts)[0].key != name)
    return error(Status::Input) << "'" << escaped(name) << "' is no name";
  return {};
}

bool CostClass::holds(const Part &part, const Module &module, NodeId call) {
  if (part.condition)
    return !whyNot(*part.condition, module, call);
  if (part.isIn)
    return part.isIn(module, call);
  if (!part.measure)
    return attrHolds(part.test, module, call);
  std::optional<double> measured = part.measure(module, call);
  return measured && bycc::holds(part.test, AttrValue(*measured));
}

bool CostClass::holds(const Module &module, NodeId call) const {
  return std::ranges::all_of(parts_, [&](const Part &part) { return holds(part, module, call); });
}

bool CostClass::implies(const Part &part, const Part &other) {
  return part.condition == other.condition && part.isIn == other.isIn &&
         part.measure == other.measure && part.test.key == other.test.key &&
         bycc::implies(part.test, other.test);
}

bool CostClass::implies(const CostClass &other) const {
  return std::ranges::all_of(other.parts_, [&](const Part &wanted) {
    return std::ranges::any_of(parts_, [&](const Part &part) { return implies(part, wanted); });
  });
}

} // namespace bycc
