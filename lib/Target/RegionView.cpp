// Flattening. Each level (the region, and the body of each composite in it) has
// its own values and nodes. A node's tensors are numbered when it is met; tuples
// and projections only rename numbers, so they leave no trace.

#include "bycc/Target/RegionView.h"

#include "bycc/IR/Op.h"
#include "bycc/IR/Printer.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Support/Sized.h"
#include "bycc/Support/Text.h"

#include "RegionExtents.h"
#include "VendorReply.h"

#include <algorithm>
#include <deque>

namespace bycc {

std::string nodeName(const Module &module, NodeId node) {
  const Node &n = module.node(node);
  if (std::string_view hint = module.string(n.name); n.kind == NodeKind::Param && !hint.empty())
    return "%" + std::string(hint);
  if (n.kind == NodeKind::Constant && !module.constant(node).name.empty())
    return module.constant(node).name;
  return describe(module, node);
}

namespace {

// A region under construction. Deques keep addresses while they grow.
struct Level {
  std::vector<bycc_value> values;
  std::vector<TypeId> types; // of the values
  std::vector<bycc_node> nodes;
  std::vector<NodeId> nodeIds;
  std::vector<uint32_t> inputs, outputs;
  std::unordered_map<NodeId, std::vector<uint32_t>> numbers; // tensors of a node, flattened
  std::deque<std::vector<uint32_t>> lists;
  bycc_region region{};

  const bycc_region *finish(const char *symbol) {
    region = sized<bycc_region>();
    region.symbol = symbol;
    region.num_values = static_cast<uint32_t>(values.size());
    region.values = values.data();
    region.num_nodes = static_cast<uint32_t>(nodes.size());
    region.nodes = nodes.data();
    region.num_inputs = static_cast<uint32_t>(inputs.size());
    region.inputs = inputs.data();
    region.num_outputs = static_cast<uint32_t>(outputs.size());
    region.outputs = outputs.data();
    return &region;
  }
};

} // namespace

struct RegionView::Impl {
  const Module &module;
  OffsetOf offsetOf;
  std::deque<Level> levels; // 0: the region itself
  std::deque<std::string> strings;
  std::deque<std::vector<int64_t>> shapes;
  std::deque<std::vector<bycc_attr>> attrs;
  std::deque<std::vector<bycc_role>> roles;
  std::vector<uint8_t> tuning;
  RegionExtents extents;
  bool isOpen = false; // tensors from outside become inputs when they are met

  explicit Impl(const Module &m) : module(m), extents(m) {}

  const char *text(std::string_view value) { return strings.emplace_back(value).c_str(); }

  bycc_value valueOf(TypeId type, const char *name) {
    auto value = sized<bycc_value>();
    value.name = name;
    value.layout = "";
    if (!module.types.isTensor(type))
      return value;
    std::vector<int64_t> &dims = shapes.emplace_back();
    for (Dim dim : module.types.shape(type))
      dims.push_back(dim.isConst() ? dim.value() : -1);
    value.dtype = static_cast<int32_t>(module.types.dtype(type));
    value.rank = static_cast<int32_t>(dims.size());
    value.dims = dims.data();
    value.device = module.types.device(type);
    if (std::string_view layout = module.types.layout(type); !layout.empty())
      value.layout = text(layout);
    return value;
  }

  uint32_t addValue(Level &level, const bycc_value &value) {
    level.values.push_back(value);
    return static_cast<uint32_t>(level.values.size() - 1);
  }

  // Numbers for the tensors of `node`, made anew.
  std::vector<uint32_t> &number(Level &level, NodeId node) {
    std::vector<uint32_t> &numbers = level.numbers[node];
    const char *name = text(nodeName(module, node));
    for (TypeId type : module.types.flatten(module.type(node))) {
      numbers.push_back(addValue(level, valueOf(type, name)));
      level.types.push_back(type);
    }
    return numbers;
  }

  void addConstant(Level &level, NodeId node) {
    const Constant &constant = module.constant(node);
    uint32_t index = number(level, node)[0];
    bycc_value &value = level.values[index];
    value.data = constant.data();
    value.bytes = constant.bytes;
    if (offsetOf)
      value.weights_offset = offsetOf(constant);
    if (!constant.name.empty())
      value.name = text(constant.name);
  }

  void addInput(Level &level, NodeId node, const std::vector<bycc_value> *outer, size_t &next) {
    if (level.numbers.contains(node))
      return;
    for (uint32_t index : number(level, node)) {
      if (outer && next < outer->size()) {
        const char *name = level.values[index].name;
        level.values[index] = (*outer)[next];
        level.values[index].name = name;
      }
      ++next;
      level.inputs.push_back(index);
    }
  }

  // Tensors of an operand; constants, tuples and projections appear on demand.
  const std::vector<uint32_t> &operand(Level &level, NodeId node) {
    if (auto found = level.numbers.find(node); found != level.numbers.end())
      return found->second;
    const Node &n = module.node(node);
    if (n.kind == NodeKind::Constant) {
      addConstant(level, node);
      return level.numbers[node];
    }
    if (isOpen && n.kind != NodeKind::Tuple && n.kind != NodeKind::Project) {
      size_t next = 0;
      addInput(level, node, nullptr, next);
      return level.numbers[node];
    }
    std::vector<uint32_t> numbers;
    if (n.kind == NodeKind::Tuple) {
      for (NodeId field : module.operands(node)) {
        const std::vector<uint32_t> &part = operand(level, field);
        numbers.insert(numbers.end(), part.begin(), part.end());
      }
    } else {
      BYCC_ASSERT(n.kind == NodeKind::Project, "a region's operand is inside it or an input");
      numbers = fieldOf(level, node);
    }
    return level.numbers[node] = std::move(numbers);
  }

  std::vector<uint32_t> fieldOf(Level &level, NodeId project) {
    NodeId tuple = module.operands(project)[0];
    std::vector<uint32_t> all = operand(level, tuple);
    auto [begin, count] = module.types.leavesOf(module.type(tuple), module.node(project).payload);
    return {all.begin() + static_cast<long>(begin), all.begin() + static_cast<long>(begin + count)};
  }

  bycc_attr attrOf(const char *name, const AttrValue &value) {
    auto attr = sized<bycc_attr>();
    attr.name = name;
    if (value.isBool()) {
      attr.kind = BYCC_ATTR_BOOL;
      attr.i = value.asBool();
    } else if (value.isInt()) {
      attr.kind = BYCC_ATTR_INT;
      attr.i = value.asInt();
    } else if (value.isFloat()) {
      attr.kind = BYCC_ATTR_FLOAT;
      attr.f = value.asFloat();
    } else if (value.isString()) {
      attr.kind = BYCC_ATTR_STRING;
      attr.s = text(value.asString());
    } else if (value.isList()) {
      attr.kind = BYCC_ATTR_LIST;
      std::vector<bycc_attr> items;
      for (const AttrValue &item : value.asList())
        items.push_back(attrOf(nullptr, item));
      std::vector<bycc_attr> &kept = attrs.emplace_back(std::move(items));
      attr.items = kept.data();
      attr.count = static_cast<uint32_t>(kept.size());
    }
    return attr;
  }

  void setAttrs(bycc_node &out, NodeId node) {
    std::vector<bycc_attr> list;
    for (const AttrSpec &spec : opInfo(module.node(node).op).attrs)
      list.push_back(attrOf(text(spec.name), *module.attr(node, spec.name)));
    std::ranges::sort(list, {}, [](const bycc_attr &attr) { return std::string_view(attr.name); });
    std::vector<bycc_attr> &kept = attrs.emplace_back(std::move(list));
    out.attrs = kept.data();
    out.num_attrs = static_cast<uint32_t>(kept.size());
  }

  // A node over `operands`; outputs are numbered for `result`.
  bycc_node &addNode(Level &level, const char *op, std::span<const NodeId> operands,
                     NodeId result) {
    std::vector<uint32_t> inputs;
    for (NodeId node : operands) {
      const std::vector<uint32_t> &part = operand(level, node);
      inputs.insert(inputs.end(), part.begin(), part.end());
    }
    std::vector<uint32_t> outputs = number(level, result);
    auto node = sized<bycc_node>();
    node.op = op;
    std::vector<uint32_t> &ins = level.lists.emplace_back(std::move(inputs));
    node.inputs = ins.data();
    node.num_inputs = static_cast<uint32_t>(ins.size());
    std::vector<uint32_t> &outs = level.lists.emplace_back(std::move(outputs));
    node.outputs = outs.data();
    node.num_outputs = static_cast<uint32_t>(outs.size());
    node.source = text(nodeName(module, result));
    level.nodes.push_back(node);
    level.nodeIds.push_back(result);
    return level.nodes.back();
  }

  void addCall(Level &level, NodeId node) {
    const Node &n = module.node(node);
    if (n.kind == NodeKind::CallOp) {
      setAttrs(addNode(level, opInfo(n.op).name.data(), module.operands(node), node), node);
      return;
    }
    if (n.kind != NodeKind::Call)
      return; // tuples and projections come on demand, functions are called
    std::optional<FunctionId> composite = compositeOf(module, node);
    BYCC_ASSERT(composite, "a region calls operators and composites only");
    const char *name = text(module.functionAttr(*composite, "Composite")->asString());
    bycc_node &out = addNode(level, name, module.operands(node).subspan(1), node);
    size_t at = level.nodes.size() - 1;
    const Function &function = module.function(*composite);
    const Block &block = module.block(function.body);
    std::vector<bycc_value> outer = inputValues(level, out);
    Level &body = addBody(name, function.params, block.nodes, block.result, &outer);
    level.nodes[at].body = &body.region;
    setRoles(level.nodes[at], rolesOfFunction(*composite), body);
  }

  static std::vector<bycc_value> inputValues(const Level &level, const bycc_node &node) {
    std::vector<bycc_value> values;
    for (uint32_t i = 0; i < node.num_inputs; ++i)
      values.push_back(level.values[node.inputs[i]]);
    return values;
  }

  Level &addBody(const char *symbol, std::span<const NodeId> params, std::span<const NodeId> nodes,
                 NodeId result, const std::vector<bycc_value> *outer) {
    Level &level = levels.emplace_back();
    fill(level, params, nodes, result, outer);
    level.finish(symbol);
    return level;
  }

  void fill(Level &level, std::span<const NodeId> params, std::span<const NodeId> nodes,
            NodeId result, const std::vector<bycc_value> *outer) {
    size_t next = 0;
    for (NodeId param : params)
      addInput(level, param, outer, next);
    for (NodeId node : nodes)
      addCall(level, node);
    level.outputs = operand(level, result);
  }

  // Texts as rolesOf() writes them; others are no roles.
  void setRoles(bycc_node &out, const std::vector<std::string> &texts, const Level &body) {
    std::vector<bycc_role> found;
    for (const std::string &role : texts)
      if (std::optional<bycc_role> read = readRole(role, out, body))
        found.push_back(*read);
    std::vector<bycc_role> &kept = roles.emplace_back(std::move(found));
    out.roles = kept.data();
    out.num_roles = static_cast<uint32_t>(kept.size());
  }

  std::optional<bycc_role> readRole(const std::string &role, const bycc_node &out,
                                    const Level &body) {
    size_t equals = role.find('=');
    if (equals == std::string::npos || role.empty())
      return std::nullopt;
    char sign = role[0];
    bool isInput = sign != '@' && sign != '#' && sign != '%';
    const char *name = text(role.substr(isInput ? 0 : 1, equals - (isInput ? 0 : 1)));
    std::vector<std::string> numbers = split(role.substr(equals + 1), '.');
    size_t wanted = sign == '#' || sign == '%' ? 2 : 1;
    std::vector<size_t> at;
    for (const std::string &number : numbers)
      if (std::optional<int64_t> value = parseInt(number); value && *value >= 0)
        at.push_back(static_cast<size_t>(*value));
    if (at.size() != wanted || numbers.size() != wanted)
      return std::nullopt;
    auto made = sized<bycc_role>();
    made.name = name;
    made.index = static_cast<uint32_t>(at[0]);
    if (isInput) {
      made.kind = BYCC_ROLE_INPUT;
      return at[0] < out.num_inputs ? std::optional(made) : std::nullopt;
    }
    if (at[0] >= body.nodes.size())
      return std::nullopt;
    made.kind = sign == '@' ? BYCC_ROLE_NODE : BYCC_ROLE_VALUE;
    if (sign == '@')
      return made;
    const bycc_node &node = body.nodes[at[0]];
    if (at[1] >= (sign == '#' ? node.num_inputs : node.num_outputs))
      return std::nullopt;
    made.index = (sign == '#' ? node.inputs : node.outputs)[at[1]];
    return made;
  }

  std::vector<std::string> rolesOfFunction(FunctionId composite) const {
    std::vector<std::string> texts;
    if (const AttrValue *list = module.functionAttr(composite, "Roles"); list && list->isList())
      for (const AttrValue &item : list->asList())
        if (item.isString())
          texts.push_back(item.asString());
    return texts;
  }

  bool isCall(NodeId node) const {
    return module.node(node).kind == NodeKind::CallOp || compositeOf(module, node);
  }

  // What ifs and calls of other functions use of the block, inside of them too.
  std::vector<NodeId> usedByOthers(const Block &block) const {
    std::vector<NodeId> used;
    auto addOperands = [&](NodeId node) {
      for (NodeId operand : module.operands(node))
        used.push_back(operand);
      for (BlockId inner : innerBlocks(module, node))
        used.push_back(module.block(inner).result);
    };
    for (NodeId node : block.nodes) {
      NodeKind kind = module.node(node).kind;
      if (isCall(node) || kind == NodeKind::Tuple || kind == NodeKind::Project)
        continue;
      addOperands(node);
      for (BlockId inner : innerBlocks(module, node))
        forEachNode(module, inner, addOperands);
    }
    used.push_back(block.result);
    return used;
  }

  void fillBlock(Level &level, const Block &block) {
    isOpen = true;
    for (NodeId node : block.nodes)
      if (isCall(node))
        addCall(level, node);
    std::vector<bool> isOutput(level.values.size());
    for (const bycc_node &node : level.nodes)
      for (uint32_t i = 0; i < node.num_outputs; ++i)
        isOutput[node.outputs[i]] = true; // a candidate
    for (NodeId node : usedByOthers(block))
      if (auto found = level.numbers.find(node); found != level.numbers.end())
        addOutputs(level, found->second, isOutput);
      else if (NodeKind kind = module.node(node).kind;
               kind == NodeKind::Tuple || kind == NodeKind::Project)
        addOutputs(level, operand(level, node), isOutput);
  }

  static void addOutputs(Level &level, const std::vector<uint32_t> &values,
                         std::vector<bool> &isCandidate) {
    for (uint32_t value : values)
      if (value < isCandidate.size() && isCandidate[value]) {
        isCandidate[value] = false;
        level.outputs.push_back(value);
      }
  }

  void setExtents();

  // Inputs of a lone call: every tensor it is given that is no constant.
  void addOperandsAsInputs(Level &level, std::span<const NodeId> operands, int depth = 0) {
    size_t next = 0;
    for (NodeId node : operands) {
      NodeKind kind = module.node(node).kind;
      if (kind == NodeKind::Tuple && depth < 64)
        addOperandsAsInputs(level, module.operands(node), depth + 1);
      else if (kind != NodeKind::Constant && kind != NodeKind::Function)
        addInput(level, node, nullptr, next);
    }
  }
};

// Run-time extents of all levels; they share their tables.
void RegionView::Impl::setExtents() {
  for (Level &level : levels)
    for (size_t i = 0; i < level.types.size(); ++i)
      level.values[i].extents = extents.of(level.types[i]);
  const std::vector<uint32_t> &inputs = levels[0].inputs;
  for (uint32_t i = 0; i < inputs.size(); ++i)
    extents.addInput(i, levels[0].types[inputs[i]]);
  for (Level &level : levels)
    extents.put(level.region);
}

RegionView::RegionView(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) { impl_->setExtents(); }
RegionView::RegionView(RegionView &&) noexcept = default;
RegionView::~RegionView() = default;

const bycc_region &RegionView::region() const { return impl_->levels[0].region; }
NodeId RegionView::node(uint32_t index) const {
  const std::vector<NodeId> &ids = impl_->levels[0].nodeIds;
  return index < ids.size() ? ids[index] : NodeId();
}

void RegionView::setImplementation(uint32_t index, const std::string &name) {
  impl_->levels[0].nodes[index].implementation = impl_->text(name);
}

// A constant, or an input that goes through, is not made here.
void RegionView::setResident(const std::vector<uint8_t> &inputs,
                             const std::vector<uint8_t> &outputs) {
  Level &level = impl_->levels[0];
  auto set = [&](const std::vector<uint32_t> &ids, const std::vector<uint8_t> &flags) {
    for (size_t i = 0; i < std::min(ids.size(), flags.size()); ++i)
      if (flags[i])
        level.values[ids[i]].flags |= BYCC_VALUE_RESIDENT;
  };
  set(level.inputs, inputs);
  set(level.outputs, outputs);
}

void RegionView::setTuning(std::vector<uint8_t> record) {
  impl_->tuning = std::move(record);
  bycc_region &region = impl_->levels[0].region;
  region.tuning = impl_->tuning.data();
  region.tuning_bytes = impl_->tuning.size();
}

RegionView RegionView::ofFunction(const Module &module, FunctionId function,
                                  const OffsetOf &offsetOf) {
  auto impl = std::make_unique<Impl>(module);
  impl->offsetOf = offsetOf;
  const Function &f = module.function(function);
  const Block &block = module.block(f.body);
  const AttrValue *symbol = module.functionAttr(function, "global_symbol");
  Level &level = impl->levels.emplace_back();
  impl->fill(level, f.params, block.nodes, block.result, nullptr);
  level.finish(impl->text(symbol && symbol->isString() ? symbol->asString()
                                                       : std::string(module.string(f.name))));
  return RegionView(std::move(impl));
}

RegionView RegionView::ofNode(const Module &module, NodeId node) {
  auto impl = std::make_unique<Impl>(module);
  Level &level = impl->levels.emplace_back();
  impl->addOperandsAsInputs(level, module.operands(node));
  impl->addCall(level, node);
  level.outputs = level.numbers[node];
  level.finish("");
  return RegionView(std::move(impl));
}

RegionView RegionView::ofBlock(const Module &module, BlockId block) {
  auto impl = std::make_unique<Impl>(module);
  Level &level = impl->levels.emplace_back();
  impl->fillBlock(level, module.block(block));
  level.finish("");
  return RegionView(std::move(impl));
}

RegionView RegionView::ofGroup(const Module &module, const std::string &name, const Match &match) {
  auto impl = std::make_unique<Impl>(module);
  Level &level = impl->levels.emplace_back();
  impl->addOperandsAsInputs(level, match.leaves);
  const char *symbol = impl->text(name);
  bycc_node &node = impl->addNode(level, symbol, match.leaves, match.root);
  std::vector<bycc_value> outer = Impl::inputValues(level, node);
  Level &body = impl->addBody(symbol, match.leaves, match.nodes, match.root, &outer);
  level.nodes[0].body = &body.region;
  impl->setRoles(level.nodes[0], rolesOf(module, match), body);
  level.outputs = level.numbers[match.root];
  level.finish("");
  return RegionView(std::move(impl));
}

void chooseImplementations(RegionView &view, const Vendor &vendor, const Module &module,
                           const TargetInfo &target) {
  VendorAsker asker(vendor, module, target);
  std::vector<NodeId> nodes;
  for (uint32_t i = 0; i < view.region().num_nodes; ++i)
    nodes.push_back(view.node(i));
  asker.askAhead(nodes);
  for (uint32_t i = 0; i < view.region().num_nodes; ++i)
    if (const Implementation *chosen = asker.supports(view.node(i)).chosen())
      view.setImplementation(i, chosen->name);
}

} // namespace bycc
