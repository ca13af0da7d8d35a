// See PatternInstance.h. Leaves are numbered as they are met. When a call does not
// type, only leaves met before it can be the cause, so the search goes on at the
// last of these: a wrong weight is found before a bias is tried.
#include "PatternInstance.h"

#include "bycc/IR/Builder.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace bycc::conformance {

namespace {

const std::vector<std::vector<int64_t>> &leafShapes() {
  static const std::vector<std::vector<int64_t>> list = {
      {2, 8, 6, 6},    {8, 8, 3, 3},    {8},          {8, 1, 1}, {2, 8},
      {8, 8},          {2, 4, 8},       {2, 8, 6},    {8, 8, 3}, {8, 1},
      {1, 8, 4, 4, 4}, {8, 8, 2, 2, 2}, {8, 1, 1, 1}, {2, 8, 8}, {2, 8, 4, 4}};
  return list;
}

// Of the spatial axes.
AttrValue onePixel() {
  AttrValue none(AttrValue::List{AttrValue(0), AttrValue(0)});
  AttrValue one(AttrValue::List{AttrValue(1), AttrValue(1)});
  return AttrValue(AttrValue::List{none, none, one, one});
}

// What an operator's attribute is when the pattern does not say.
AttrValue usualValue(const AttrSpec &spec) {
  static const std::map<std::string, AttrValue> byName = {
      {"a_min", AttrValue(0.0)},
      {"a_max", AttrValue(6.0)},
      {"newshape", AttrValue(AttrValue::List{AttrValue(0), AttrValue(-1)})},
      {"pad_width", onePixel()},
      {"pool_size", AttrValue(AttrValue::List{AttrValue(2), AttrValue(2)})},
      {"dtype", AttrValue("float32")},
      {"out_dtype", AttrValue("uint8")},
  };
  if (auto found = byName.find(spec.name); found != byName.end())
    return found->second;
  if (spec.isNullable)
    return AttrValue();
  switch (spec.type) {
  case AttrType::Float:
    return AttrValue(1.0);
  case AttrType::Bool:
    return AttrValue(false);
  case AttrType::String:
    return AttrValue("");
  case AttrType::Ints:
    return AttrValue(AttrValue::List{AttrValue(1)});
  default:
    return AttrValue(1);
  }
}

} // namespace

class PatternInstances::Attempt {
public:
  Attempt(const PatternInstances &owner, bool constants)
      : owner_(owner), constants_(constants), main_(module.addFunction("main")),
        builder_(module, module.function(main_).body) {}

  bool build() {
    std::optional<NodeId> root = make(owner_.pattern_, owner_.pattern_.root, 0);
    if (root)
      module.block(module.function(main_).body).result = *root;
    return root.has_value();
  }
  size_t numLeaves() const { return numLeaves_; }
  Module module;

private:
  using Key = std::pair<const Pattern *, uint32_t>;

  std::optional<NodeId> make(const Pattern &pattern, uint32_t index, int depth) {
    Key key = {&pattern, index};
    if (auto known = made_.find(key); known != made_.end())
      return known->second;
    if (depth > 32)
      return std::nullopt;
    std::optional<NodeId> node = makeNew(pattern, pattern.nodes[index], depth + 1);
    if (node)
      made_.emplace(key, *node);
    return node;
  }

  std::optional<NodeId> makeNew(const Pattern &pattern, const PatternNode &node, int depth) {
    switch (node.kind) {
    case PatternKind::Any:
      return leaf();
    case PatternKind::Constant:
      return scalar(node);
    case PatternKind::Capture:
      return capture(pattern, node, depth);
    case PatternKind::Op:
      return call(pattern, node, depth);
    case PatternKind::Composite:
      return composite(node, depth);
    case PatternKind::Tuple:
      return tuple(pattern, node, depth);
    case PatternKind::Project:
      return project(pattern, node, depth);
    case PatternKind::Path:
      if (node.isPlus)
        return call(pattern, node, depth);
      [[fallthrough]];
    default: // the first alternative; a path of no operators; a type that may fit
      return node.children.empty() ? leaf() : make(pattern, node.children[0], depth);
    }
  }

  std::optional<NodeId> leaf() {
    size_t number = numLeaves_++;
    size_t shape = number < owner_.choice_.size() ? owner_.choice_[number] : 0;
    const std::vector<int64_t> &extents = leafShapes()[shape];
    std::vector<Dim> dims(extents.begin(), extents.end());
    if (constants_ && number > 0) {
      Tensor data = noise(wanted_, extents, static_cast<uint32_t>(number));
      return module.addConstant(wanted_, dims, data.bytes.get(),
                                static_cast<uint64_t>(data.sizeBytes()));
    }
    NodeId param =
        module.addParam("x" + std::to_string(number), module.types.tensor(wanted_, dims));
    module.function(main_).params.push_back(param);
    return param;
  }

  std::optional<NodeId> scalar(const PatternNode &node) {
    bool isGiven = node.value && !node.value->values.empty();
    return module.addScalar(wanted_, isGiven ? node.value->values[0] : number_);
  }

  // One value per name, wherever the name stands.
  std::optional<NodeId> capture(const Pattern &pattern, const PatternNode &node, int depth) {
    auto [known, isNew] = captures_.try_emplace({&pattern, node.index});
    if (isNew)
      known->second = node.children.empty() ? leaf() : make(pattern, node.children[0], depth);
    return known->second;
  }

  std::optional<std::vector<NodeId>> children(const Pattern &pattern, const PatternNode &node,
                                              int depth) {
    std::vector<NodeId> result;
    for (uint32_t child : node.children) {
      std::optional<NodeId> made = make(pattern, child, depth);
      if (!made)
        return std::nullopt;
      result.push_back(*made);
    }
    return result;
  }

  std::optional<std::vector<NodeId>> operandsOf(const Pattern &pattern, const PatternNode &node,
                                                const OpInfo &info, int depth) {
    DType outside = wanted_;
    std::vector<NodeId> result;
    for (size_t i = 0; i < node.children.size(); ++i) {
      DType first = result.empty() ? outside : module.types.dtype(module.type(result[0]));
      expect(info, i, first);
      std::optional<NodeId> made = make(pattern, node.children[i], depth);
      wanted_ = outside;
      if (!made)
        return std::nullopt;
      result.push_back(*made);
    }
    return result;
  }

  // Leaves of quantised operators are uint8 with int8 weights, zero points 1 of bytes
  // and 0 of sums, scales that keep results in range; others are as the first operand.
  void expect(const OpInfo &info, size_t index, DType first) {
    bool isQuantized = info.name.starts_with("qnn.") && index < info.inputs.size();
    std::string input = isQuantized ? info.inputs[index] : "";
    bool isByte = first == DType::UInt8;
    wanted_ = first;
    number_ = isByte ? 1 : 2;
    if (input.ends_with("_zero_point")) {
      wanted_ = DType::Int32;
      number_ = isByte && !input.starts_with("kernel") ? 1 : 0;
    } else if (input.ends_with("_scale")) {
      wanted_ = DType::Float32;
      number_ = input.starts_with("output") ? 1.5 : isByte ? 0.5 : 0.05;
    } else if (isQuantized && index < 2) {
      wanted_ = input == "weight" || input == "y" ? DType::Int8 : DType::UInt8;
    }
  }

  std::optional<NodeId> call(const Pattern &pattern, const PatternNode &node, int depth) {
    OpId op = node.ops[owner_.variant_ % node.ops.size()];
    const OpInfo &info = opInfo(op);
    std::optional<std::vector<NodeId>> operands = operandsOf(pattern, node, info, depth);
    while (operands && (node.anyArgs || node.isPlus) && operands->size() < info.minInputs)
      operands->push_back(*leaf());
    if (!operands)
      return std::nullopt;
    AttrDict attrs;
    for (const AttrSpec &spec : info.attrs)
      if (spec.isRequired)
        attrs.push_back({spec.name, usualValue(spec)});
    for (const AttrTest &test : node.attrs)
      if (!test.anyOf.empty()) {
        std::erase_if(attrs, [&](const Attr &attr) { return attr.key == test.key; });
        attrs.push_back({test.key, test.anyOf[0]});
      }
    Expected<NodeId> made = builder_.call(op, *operands, std::move(attrs));
    return made ? std::optional<NodeId>(*made) : std::nullopt;
  }

  std::optional<NodeId> composite(const PatternNode &node, int depth) {
    for (const Pattern &pattern : owner_.all_)
      if (pattern.name == node.composite)
        return make(pattern, pattern.root, depth);
    return std::nullopt;
  }

  std::optional<NodeId> tuple(const Pattern &pattern, const PatternNode &node, int depth) {
    std::optional<std::vector<NodeId>> fields = children(pattern, node, depth);
    return fields ? std::optional<NodeId>(builder_.tuple(*fields)) : std::nullopt;
  }

  std::optional<NodeId> project(const Pattern &pattern, const PatternNode &node, int depth) {
    std::optional<NodeId> from = make(pattern, node.children[0], depth);
    if (!from)
      return std::nullopt;
    Expected<NodeId> made = builder_.project(*from, node.index);
    return made ? std::optional<NodeId>(*made) : std::nullopt;
  }

  const PatternInstances &owner_;
  bool constants_;
  FunctionId main_;
  Builder builder_;
  size_t numLeaves_ = 0;
  DType wanted_ = DType::Float32; // of the next leaf
  double number_ = 2;             // and of a constant of one element
  std::map<Key, NodeId> made_;
  std::map<Key, std::optional<NodeId>> captures_;
};

size_t PatternInstances::numVariants(const Pattern &pattern) {
  size_t count = 1;
  for (const PatternNode &node : pattern.nodes)
    if (node.kind == PatternKind::Op || node.isPlus)
      count = std::lcm(count, node.ops.size());
  return std::min<size_t>(count, 1000);
}

bool PatternInstances::advance(size_t leaf) {
  choice_.resize(leaf + 1, 0);
  while (!choice_.empty() && ++choice_.back() == leafShapes().size())
    choice_.pop_back();
  return !choice_.empty();
}

std::optional<Module> PatternInstances::next(bool constants) {
  for (;;) {
    if (!isFirst_ && choice_.empty())
      return std::nullopt;
    isFirst_ = false;
    Attempt attempt(*this, constants);
    bool fits = attempt.build();
    size_t met = attempt.numLeaves();
    if (met == 0)
      choice_.clear();
    else if (!advance(met - 1))
      choice_.clear();
    if (fits)
      return std::move(attempt.module);
    if (choice_.empty())
      return std::nullopt;
  }
}

} // namespace bycc::conformance
