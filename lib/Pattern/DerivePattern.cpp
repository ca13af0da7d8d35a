// See DerivePattern.h.
//
//   1  close    tuples and fields between the calls belong to the group; what else lies on a
//               way between two of them, or a second result, is an error
//   2  write    from the root down; what several read is written once, under `let`
#include "bycc/Pattern/DerivePattern.h"

#include "bycc/IR/Op.h"
#include "bycc/IR/Printer.h"
#include "bycc/Support/Element.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace bycc {
namespace {

// Attributes that say what is computed, not of which size.
constexpr std::string_view telling[] = {"a_max",
                                        "a_min",
                                        "alpha",
                                        "approximate",
                                        "axes",
                                        "axis",
                                        "beta",
                                        "exclude",
                                        "data_layout",
                                        "interpolation_method",
                                        "keepdims",
                                        "kernel_layout",
                                        "layout",
                                        "method",
                                        "mode",
                                        "rounding",
                                        "rounding_method",
                                        "transpose_a",
                                        "transpose_b"};

// "nn.conv2d" -> "conv2d"
std::string_view shortName(std::string_view op) { return op.substr(op.rfind('.') + 1); }

class Derivation {
public:
  Derivation(const Module &module, BlockId block, std::span<const NodeId> calls,
             std::string_view vendor)
      : module_(module), block_(block), calls_(calls.begin(), calls.end()), vendor_(vendor) {}

  Expected<DerivedPattern> run(std::string_view name) {
    addStructure();
    BYCC_TRY(checkIsConvex());
    result_.rootNode = BYCC_TRY(findRoot());
    countUses();
    result_.nodes.assign(inside_.begin(), inside_.end());
    result_.root = BYCC_TRY(expression(result_.rootNode));
    result_.name = std::string(vendor_) + "." + (name.empty() ? madeName() : std::string(name));
    collectDTypes();
    return std::move(result_);
  }

private:
  const Node &node(NodeId id) const { return module_.node(id); }
  bool isInside(NodeId id) const { return inside_.contains(id); }
  static bool isStructure(NodeKind kind) {
    return kind == NodeKind::Tuple || kind == NodeKind::Project;
  }
  std::string_view opName(NodeId call) const { return opInfo(node(call).op).name; }

  // A field of a call inside that is read in the group; a tuple that is, of which a field is
  // inside.
  void addStructure() {
    inside_ = {calls_.begin(), calls_.end()};
    std::span<const NodeId> nodes = module_.block(block_).nodes;
    std::set<NodeId> read; // by calls inside, by tuples and by what takes fields
    for (NodeId id : nodes)
      if (isInside(id) || isStructure(node(id).kind))
        read.insert(module_.operands(id).begin(), module_.operands(id).end());
    auto isOfInside = [&](NodeId operand) { return isInside(operand); };
    for (NodeKind kind : {NodeKind::Project, NodeKind::Tuple})
      for (NodeId id : nodes)
        if (node(id).kind == kind && read.contains(id) &&
            std::ranges::any_of(module_.operands(id), isOfInside))
          inside_.insert(id);
  }

  Expected<> checkIsConvex() const {
    std::vector<NodeId> members(inside_.begin(), inside_.end());
    for (NodeId id : nodesBetween(module_, block_, members, members))
      if (!isInside(id))
        return error(Status::Arg) << "the nodes are no group: " << nameOf(id)
                                  << " lies between them";
    return {};
  }

  Expected<NodeId> findRoot() const {
    std::set<NodeId> results;
    auto read = [&](NodeId id) {
      if (isInside(id))
        results.insert(id);
    };
    for (NodeId id : module_.block(block_).nodes)
      if (!isInside(id))
        std::ranges::for_each(module_.operands(id), read);
    read(module_.block(block_).result);
    if (results.size() == 1)
      return *results.begin();
    std::vector<std::string> names;
    for (NodeId id : results)
      names.push_back(nameOf(id));
    auto problem = error(Status::Arg)
                   << "a composite has one result, these nodes have " << results.size();
    return results.empty() ? std::move(problem)
                           : std::move(problem).note("read from outside: " + join(names, ", "));
  }

  std::string nameOf(NodeId id) const {
    std::string name = describe(module_, id);
    return node(id).kind == NodeKind::CallOp && name != opName(id)
               ? std::string(opName(id)) + " (" + escaped(name) + ")"
               : escaped(name);
  }

  void countUses() {
    for (NodeId id : inside_)
      for (NodeId operand : module_.operands(id))
        ++uses_[operand];
  }

  // ---- text ----
  // `role`: how an operand of the group is called.
  Expected<std::string> written(NodeId id, std::string_view role) {
    if (auto known = names_.find(id); known != names_.end())
      return "@" + known->second;
    if (!isInside(id))
      return leaf(id, role);
    std::string text = BYCC_TRY(expression(id));
    if (uses_[id] < 2)
      return text;
    std::string name = freshName(node(id).kind == NodeKind::CallOp ? shortName(opName(id)) : "t");
    result_.let.emplace_back(name, text);
    names_[id] = name;
    return "@" + name;
  }

  Expected<std::string> expression(NodeId id) {
    switch (node(id).kind) {
    case NodeKind::Tuple:
      return tuple(id);
    case NodeKind::Project: {
      std::string of = BYCC_TRY(written(module_.operands(id)[0], "x"));
      return "(" + of + ")[" + std::to_string(node(id).payload) + "]";
    }
    case NodeKind::CallOp:
      return call(id);
    default:
      return error(Status::Arg) << nameOf(id) << " is no call of an operator";
    }
  }

  Expected<std::string> tuple(NodeId id) {
    std::vector<std::string> fields;
    for (NodeId field : module_.operands(id))
      fields.push_back(BYCC_TRY(written(field, "x")));
    return "(" + join(fields, ", ") + (fields.size() == 1 ? ",)" : ")");
  }

  Expected<std::string> call(NodeId id) {
    const OpInfo &info = opInfo(node(id).op);
    std::vector<std::string> operands;
    for (size_t i = 0; i < module_.operands(id).size(); ++i) {
      std::string_view role = "x";
      if (!info.inputs.empty())
        role = info.inputs[std::min(i, info.inputs.size() - 1)];
      operands.push_back(BYCC_TRY(written(module_.operands(id)[i], role)));
    }
    return std::string(info.name) + attributes(id, info) + "(" + join(operands, ", ") + ")";
  }

  std::string attributes(NodeId id, const OpInfo &info) const {
    std::vector<std::string> tests;
    for (const AttrSpec &spec : info.attrs) {
      const AttrValue *value = module_.attr(id, spec.name);
      if (!value || value->isNone())
        continue;
      if (spec.name == "groups" && value->isInt() && value->asInt() == 1)
        tests.push_back("groups=1");
      else if (std::ranges::find(telling, spec.name) != std::end(telling))
        tests.push_back(spec.name + "=" + valueText(id, spec.name, *value));
    }
    return tests.empty() ? "" : "{" + join(tests, ", ") + "}";
  }

  // An axis can be counted from both ends.
  std::string valueText(NodeId id, std::string_view key, const AttrValue &value) const {
    TypeId type = module_.operands(id).empty() ? TypeId() : module_.type(module_.operands(id)[0]);
    if (key != "axis" || !value.isInt() || !type || !module_.types.isTensor(type))
      return value.str();
    auto rank = static_cast<int64_t>(module_.types.shape(type).size());
    int64_t axis = value.asInt(), other = axis < 0 ? axis + rank : axis - rank;
    return std::to_string(axis) + "|" + std::to_string(other);
  }

  // An operand of the group; of constants, those of one element count by value.
  std::string leaf(NodeId id, std::string_view role) {
    bool isConstant = node(id).kind == NodeKind::Constant;
    if (isConstant && module_.types.numElements(module_.type(id)) == 1)
      return scalar(id);
    if (isConstant) // that two are equal, as fresh weights are, says nothing
      return "$" + freshName(role) + ":#";
    std::string &name = leaves_[id];
    if (name.empty()) {
      name = freshName(role);
      result_.params.push_back(name);
    }
    return "$" + name;
  }

  std::string scalar(NodeId id) const {
    const Constant &constant = module_.constant(id);
    DType dtype = module_.types.dtype(module_.type(id));
    double value = elementAsDouble(dtype, constant.data(), 0);
    if (!isFloat(dtype) || value == std::floor(value) || !std::isfinite(value))
      return "#(" + formatDouble(value) + ")";
    return "#(" + formatFloat(static_cast<float>(value)) + " ~ " +
           formatFloat(static_cast<float>(std::fabs(value) * 1e-4)) + ")";
  }

  std::string freshName(std::string_view base) {
    std::string name = asIdentifier(base);
    int &count = used_[name];
    return ++count == 1 ? name : name + std::to_string(count);
  }

  // Of the operators that compute most: what a reader would call it.
  std::string madeName() const {
    std::vector<std::string> parts;
    for (NodeId id : result_.nodes)
      if (node(id).kind == NodeKind::CallOp && opInfo(node(id).op).kind != OpKind::Injective)
        if (std::string part = asIdentifier(shortName(opName(id)));
            std::ranges::find(parts, part) == parts.end())
          parts.push_back(part);
    if (parts.empty())
      parts.push_back(asIdentifier(shortName(opName(result_.rootNode))));
    if (parts.size() > 4)
      parts = {parts.front(), "to", parts.back()};
    return join(parts, "_");
  }

  // Products have the dtype that the vendor was shown; without one the root has.
  void collectDTypes() {
    std::map<std::string, std::set<std::string>> found;
    for (NodeId id : result_.nodes)
      if (node(id).kind == NodeKind::CallOp && opInfo(node(id).op).kind == OpKind::OutFusable)
        found[std::string(opName(id))].insert(dtypeOfData(id));
    if (found.empty() && node(result_.rootNode).kind == NodeKind::CallOp)
      found[std::string(opName(result_.rootNode))].insert(dtypeOfData(result_.rootNode));
    for (const auto &[op, dtypes] : found)
      if (dtypes.size() == 1 && !dtypes.begin()->empty())
        result_.dtypes.emplace_back(op, *dtypes.begin());
  }

  // "" when its arguments have several.
  std::string dtypeOfData(NodeId id) const {
    std::set<std::string> dtypes;
    for (NodeId operand : module_.operands(id))
      if (TypeId type = module_.type(operand); module_.types.isTensor(type))
        dtypes.insert(std::string(name(module_.types.dtype(type))));
    return dtypes.size() == 1 ? *dtypes.begin() : "";
  }

  const Module &module_;
  BlockId block_;
  std::vector<NodeId> calls_;
  std::string_view vendor_;
  std::set<NodeId> inside_;
  std::map<NodeId, uint32_t> uses_;      // by nodes inside
  std::map<NodeId, std::string> names_;  // under `let`
  std::map<NodeId, std::string> leaves_; // without `$`
  std::map<std::string, int> used_;
  DerivedPattern result_;
};

} // namespace

std::vector<NodeId> nodesBetween(const Module &module, BlockId block, std::span<const NodeId> from,
                                 std::span<const NodeId> to) {
  std::span<const NodeId> nodes = module.block(block).nodes;
  std::set<NodeId> after(from.begin(), from.end()), before(to.begin(), to.end());
  for (NodeId id : nodes)
    if (std::ranges::any_of(module.operands(id),
                            [&](NodeId operand) { return after.contains(operand); }))
      after.insert(id);
  for (size_t i = nodes.size(); i-- > 0;)
    if (before.contains(nodes[i]))
      for (NodeId operand : module.operands(nodes[i]))
        before.insert(operand);
  std::vector<NodeId> between;
  for (NodeId id : nodes)
    if (after.contains(id) && before.contains(id))
      between.push_back(id);
  return between;
}

Expected<DerivedPattern> derivePattern(const Module &module, BlockId block,
                                       std::span<const NodeId> calls, std::string_view vendor,
                                       std::string_view name) {
  return Derivation(module, block, calls, vendor).run(name);
}

Expected<Pattern> DerivedPattern::parse() const {
  PatternText text{root, {let.begin(), let.end()}};
  Pattern pattern = BYCC_TRY(parsePattern(name, text));
  pattern.params = params;
  return pattern;
}

std::string DerivedPattern::json() const {
  JsonWriter json;
  json.beginObject().key("name").value(name).key("root").value(root);
  if (!let.empty()) {
    json.key("let").beginObject();
    for (const auto &[key, text] : let)
      json.key(key).value(text);
    json.endObject();
  }
  json.key("params").beginArray();
  for (const std::string &param : params)
    json.value(param);
  json.endArray().key("where").beginArray();
  for (const auto &[op, dtype] : dtypes)
    json.beginObject()
        .key("op")
        .value(op)
        .key("dtype")
        .beginArray()
        .value(dtype)
        .endArray()
        .endObject();
  json.endArray().endObject();
  return json.take();
}

} // namespace bycc
