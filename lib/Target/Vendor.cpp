// Answers of vendors: the conditions of emulated ones, the C boundary of the
// others, and the memory that keeps questions few.

#include "bycc/Target/Vendor.h"

#include "bycc/IR/Op.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/VendorRegistry.h"

#include <algorithm>

namespace bycc {

Expected<std::unique_ptr<Vendor>> Vendor::fromCompiler(const bycc_vendor_compiler *compiler) {
  auto vendor = std::make_unique<Vendor>(compiler->name);
  vendor->compiler_ = compiler;
  if (compiler->passes)
    vendor->passes = compiler->passes;
  if (!compiler->patterns || !*compiler->patterns)
    return vendor;
  std::string file = "patterns/" + vendor->name_ + ".json";
  VendorFile description = BYCC_TRY(VendorFile::parse(compiler->patterns, file));
  if (description.vendor != vendor->name_)
    return error(Status::Load) << file << ": patterns of vendor '" << escaped(description.vendor)
                               << "' in vendor '" << vendor->name_ << "'";
  BYCC_TRY(description.applyTo(*vendor));
  return vendor;
}

std::optional<std::string> Vendor::whyListed(std::string_view op) const {
  auto holds = [&](const std::string &glob) { return matchesGlob(glob, op); };
  if (auto denied = std::ranges::find_if(deniedOps, holds); denied != deniedOps.end())
    return std::string(op) + " is denied (deny_ops: " + *denied + ")";
  if (!allowedOps.empty() && std::ranges::none_of(allowedOps, holds))
    return std::string(op) + " is not among allow_ops (" + join(allowedOps, ", ") + ")";
  return std::nullopt;
}

void Vendor::addPatterns(std::vector<Pattern> patterns) {
  patterns_.insert(patterns_.end(), std::make_move_iterator(patterns.begin()),
                   std::make_move_iterator(patterns.end()));
}

Vendor *VendorSet::find(std::string_view name) const {
  for (const auto &vendor : vendors_)
    if (vendor->name() == name)
      return vendor.get();
  return nullptr;
}

std::optional<FunctionId> compositeOf(const Module &module, NodeId call) {
  const Node &node = module.node(call);
  if (node.kind != NodeKind::Call)
    return std::nullopt;
  NodeId callee = module.operands(call)[0];
  if (module.node(callee).kind != NodeKind::Function)
    return std::nullopt;
  FunctionId function = module.functionOf(callee);
  const AttrValue *name = module.functionAttr(function, "Composite");
  if (!name || !name->isString())
    return std::nullopt;
  return function;
}

std::string_view vendorOfComposite(std::string_view composite) {
  return composite.substr(0, composite.find('.'));
}

namespace {

// Question -> key text: what the answer may depend on.
class KeyWriter {
public:
  KeyWriter(const Module &module, std::string &key) : module_(module), key_(key) { key_.clear(); }

  void call(NodeId node) {
    const Node &n = module_.node(node);
    word(static_cast<uint32_t>(n.kind));
    word(n.op.index);
    word(n.attrs.index);
    word(n.type.index);
    for (NodeId operand : module_.operands(node))
      if (module_.node(operand).kind != NodeKind::Function)
        value(operand, 0);
  }
  void group(const std::string &name, const std::vector<NodeId> &leaves,
             const std::vector<NodeId> &nodes) {
    key_ += name;
    word(static_cast<uint32_t>(leaves.size()));
    for (NodeId leaf : leaves)
      value(leaf, 0);
    for (NodeId node : nodes)
      inner(node, leaves, nodes);
  }

private:
  static constexpr uint64_t smallBytes = 64;

  void word(uint32_t value) { key_.append(reinterpret_cast<const char *>(&value), sizeof value); }
  void value(NodeId node, int depth) {
    word(module_.type(node).index);
    if (module_.isConstant(node)) {
      const Constant &constant = module_.constant(node);
      word(1);
      if (constant.bytes <= smallBytes)
        key_.append(reinterpret_cast<const char *>(&constant.hash), sizeof constant.hash);
    } else if (module_.node(node).kind == NodeKind::Tuple && depth < 4) {
      word(2);
      for (NodeId field : module_.operands(node))
        value(field, depth + 1);
    } else {
      word(0);
    }
  }
  void inner(NodeId node, const std::vector<NodeId> &leaves, const std::vector<NodeId> &nodes) {
    const Node &n = module_.node(node);
    word(static_cast<uint32_t>(n.kind));
    word(n.op.index);
    word(n.attrs.index);
    word(n.kind == NodeKind::Project ? n.payload : 0);
    for (NodeId operand : module_.operands(node)) {
      auto leaf = std::ranges::find(leaves, operand);
      auto maker = std::ranges::find(nodes, operand);
      if (maker != nodes.end())
        word(0x40000000u + static_cast<uint32_t>(maker - nodes.begin()));
      else if (leaf != leaves.end())
        word(0x20000000u + static_cast<uint32_t>(leaf - leaves.begin()));
      else
        value(operand, 0);
    }
  }

  const Module &module_;
  std::string &key_;
};

// Body of a formed composite as a group.
std::vector<NodeId> bodyNodes(const Module &module, FunctionId function) {
  return module.block(module.function(function).body).nodes;
}

std::string listed(const std::vector<DType> &dtypes) {
  std::vector<std::string> names;
  for (DType dtype : dtypes)
    names.emplace_back(name(dtype));
  return join(names, ", ");
}

// Does the rule accept the call? Reasons say what was found and what is wanted.
Answer askRule(const OpRule &rule, const Module &module, NodeId node) {
  std::span<const NodeId> operands = module.operands(node);
  if (!rule.dtypes.empty())
    for (size_t i = 0; i < operands.size(); ++i)
      for (TypeId type : module.types.flatten(module.type(operands[i])))
        if (module.types.isTensor(type) &&
            std::ranges::find(rule.dtypes, module.types.dtype(type)) == rule.dtypes.end())
          return Answer::no("argument " + std::to_string(i) + " is " +
                            std::string(name(module.types.dtype(type))) + ", it takes " +
                            listed(rule.dtypes));
  for (const Attr &wanted : rule.attrs) {
    const AttrValue *value = module.attr(node, wanted.key);
    if (!value || !value->equalsLoosely(wanted.value))
      return Answer::no(wanted.key + " is " + (value ? value->str() : "absent") + ", it takes " +
                        wanted.value.str());
  }
  for (uint32_t index : rule.constArgs)
    if (index >= operands.size() || !module.isConstant(operands[index]))
      return Answer::no("argument " + std::to_string(index) + " is not a constant");
  return Answer::yes();
}

// Where the C side writes its answer.
struct Reply {
  bycc_answer answer;
  std::string reason;
};

Answer askCompiler(const bycc_vendor_compiler &compiler, const bycc_target &target,
                   const RegionView &view) {
  Reply reply;
  reply.answer.impl = &reply;
  reply.answer.reason = [](bycc_answer *answer, const char *text) {
    static_cast<Reply *>(answer->impl)->reason = text ? escaped(text, 512) : "";
  };
  reply.answer.blame = [](bycc_answer *, uint32_t) {};
  reply.answer.blob = [](bycc_answer *, const void *, size_t) {};
  reply.answer.offer = [](bycc_answer *, const char *, double) {};
  reply.answer.take = [](bycc_answer *, uint32_t) {};
  reply.answer.refuse = [](bycc_answer *, uint32_t, const char *) {};
  if (compiler.supports(compiler.self, &target, &view.region(), &reply.answer) == 1)
    return Answer::yes();
  return Answer::no(reply.reason.empty() ? "the vendor gives no reason" : reply.reason);
}

} // namespace

struct VendorAsker::Impl {
  std::string key;
  std::unordered_map<std::string, Answer> answers;
  std::string features;
  bycc_target target;
};

VendorAsker::VendorAsker(const Vendor &vendor, const Module &module, const TargetInfo &target)
    : vendor_(vendor), module_(module), impl_(std::make_unique<Impl>()) {
  impl_->features = join(target.features, ",");
  impl_->target = {target.triple.c_str(), target.cpu.c_str(), impl_->features.c_str(),
                   target.threads};
}

VendorAsker::~VendorAsker() = default;

const Answer &VendorAsker::supports(NodeId node) {
  KeyWriter writer(module_, impl_->key);
  std::optional<FunctionId> composite = compositeOf(module_, node);
  writer.call(node);
  if (composite) {
    std::string call = impl_->key;
    KeyWriter(module_, impl_->key)
        .group(module_.functionAttr(*composite, "Composite")->asString(),
               module_.function(*composite).params, bodyNodes(module_, *composite));
    impl_->key += call;
  }
  auto [found, isNew] = impl_->answers.try_emplace(impl_->key);
  if (!isNew)
    return found->second;
  Answer &answer = found->second;
  if (composite) {
    std::string_view name = module_.functionAttr(*composite, "Composite")->asString();
    if (vendorOfComposite(name) != vendor_.name())
      return answer = Answer::no("composite of another vendor");
    return answer = vendor_.isEmulated()
                        ? Answer::yes()
                        : askCompiler(*vendor_.compiler(), impl_->target,
                                      RegionView::ofNode(module_, node));
  }
  if (module_.node(node).kind != NodeKind::CallOp)
    return answer = Answer::no("not an operator");
  OpId op = module_.node(node).op;
  if (auto why = vendor_.whyListed(opInfo(op).name))
    return answer = Answer::no(*why);
  auto rule = vendor_.opRules().find(op.index);
  bool hasRule = rule != vendor_.opRules().end();
  answer = hasRule ? askRule(rule->second, module_, node) : Answer::no("operator not supported");
  if (!vendor_.isEmulated() && (answer || !hasRule))
    answer = askCompiler(*vendor_.compiler(), impl_->target, RegionView::ofNode(module_, node));
  return answer;
}

const Answer &VendorAsker::supportsGroup(const std::string &name, const Match &match) {
  static const Answer yes = Answer::yes();
  for (NodeId node : match.nodes)
    if (module_.node(node).kind == NodeKind::CallOp)
      if (auto why = vendor_.whyListed(opInfo(module_.node(node).op).name))
        return impl_->answers["listed:" + *why] = Answer::no(*why);
  if (vendor_.isEmulated())
    return yes;
  KeyWriter(module_, impl_->key).group(name, match.leaves, match.nodes);
  auto [found, isNew] = impl_->answers.try_emplace(impl_->key);
  if (isNew)
    found->second = askCompiler(*vendor_.compiler(), impl_->target,
                                RegionView::ofGroup(module_, name, match));
  return found->second;
}

} // namespace bycc
