// Answers of vendors: the conditions of emulated ones, the C boundary of the
// others, and the memory that keeps questions few.

#include "bycc/Target/Vendor.h"

#include "bycc/IR/Op.h"
#include "bycc/Support/Sized.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/VendorProcess.h"
#include "bycc/Target/VendorRegistry.h"

#include "CallVendor.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <deque>

namespace bycc {

const Implementation *Answer::chosen() const {
  const Implementation *best = nullptr;
  for (const Implementation &next : implementations)
    if (!best ||
        (next.microseconds && (!best->microseconds || *next.microseconds < *best->microseconds)))
      best = &next;
  return best;
}

Expected<std::unique_ptr<Vendor>> Vendor::fromCompiler(const bycc_vendor_compiler *compiler) {
  auto vendor = std::make_unique<Vendor>(compiler->name);
  bycc_vendor_compiler &table = vendor->compiler_.emplace();
  std::memcpy(&table, compiler, std::min<size_t>(compiler->size, sizeof table));
  if (!table.version)
    table.version = "";
  vendor->settings =
      BYCC_TRY(VendorSettings::describedBy(vendor->name_, table.num_options, table.options));
  if (table.passes)
    vendor->passes = table.passes;
  if (!table.patterns || !*table.patterns)
    return vendor;
  std::string file = "patterns/" + vendor->name_ + ".json";
  VendorFile description = BYCC_TRY(VendorFile::parse(table.patterns, file));
  if (description.vendor != vendor->name_)
    return error(Status::Load) << file << ": patterns of vendor '" << escaped(description.vendor)
                               << "' in vendor '" << vendor->name_ << "'";
  BYCC_TRY(description.applyTo(*vendor));
  return vendor;
}

std::string Vendor::versionText() const {
  if (!compiler_)
    return "";
  std::string library = compiler_->library ? compiler_->library : "";
  return compiler_->version + (library.empty() ? "" : " (" + library + ")");
}

std::optional<std::string> Vendor::whyListed(std::string_view op) const {
  auto holds = [&](const std::string &glob) { return matchesGlob(glob, op); };
  if (auto denied = std::ranges::find_if(deniedOps, holds); denied != deniedOps.end())
    return std::string(op) + " is denied (deny_ops: " + *denied + ")";
  if (!allowedOps.empty() && std::ranges::none_of(allowedOps, holds))
    return std::string(op) + " is not among allow_ops (" + join(allowedOps, ", ") + ")";
  return std::nullopt;
}

std::string_view Vendor::mayTake(OpId op) const {
  std::string_view name = opInfo(op).name;
  if (whyListed(name))
    return "";
  bool isTold = false;
  if (compiler_ && compiler_->operators)
    for (const std::string &each : split(compiler_->operators, ' '))
      isTold |= each == name;
  if (isTold || rules_.count(op.index))
    return "alone";
  return isInPatterns(op) ? "composite" : "";
}

bool Vendor::isInPatterns(OpId op) const {
  return std::ranges::any_of(patterns_, [&](const Pattern &pattern) {
    return std::ranges::any_of(pattern.nodes, [&](const PatternNode &node) {
      return std::ranges::find(node.ops, op) != node.ops.end();
    });
  });
}

bool Vendor::mayForm(std::string_view name) const {
  return std::ranges::any_of(
      patterns_, [&](const Pattern &pattern) { return mayBeNamed(pattern.name, name); });
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

constexpr size_t maxUnderWay = 256; // questions at a time

// Question -> key text: what the answer may depend on.
class KeyWriter {
public:
  KeyWriter(const Module &module, std::string &key) : module_(module), key_(key) { key_.clear(); }

  void call(NodeId node, bool withMakers) {
    const Node &n = module_.node(node);
    word(static_cast<uint32_t>(n.kind));
    word(n.op.index);
    word(n.attrs.index);
    word(n.type.index);
    for (NodeId operand : module_.operands(node))
      if (module_.node(operand).kind != NodeKind::Function) {
        value(operand, 0);
        if (withMakers)
          maker(operand);
      }
  }
  void group(const std::string &name, const std::vector<NodeId> &leaves,
             const std::vector<NodeId> &nodes, const std::vector<std::string> &roles) {
    key_ += name;
    for (const std::string &role : roles)
      key_ += "," + role;
    word(static_cast<uint32_t>(leaves.size()));
    for (NodeId leaf : leaves)
      value(leaf, 0);
    for (NodeId node : nodes)
      inner(node, leaves, nodes);
  }

  void function(FunctionId composite) {
    std::vector<std::string> roles;
    if (const AttrValue *list = module_.functionAttr(composite, "Roles"))
      roles.push_back(list->str());
    group(module_.functionAttr(composite, "Composite")->asString(),
          module_.function(composite).params, module_.block(module_.function(composite).body).nodes,
          roles);
  }

private:
  static constexpr int maxTupleDepth = 64;

  void word(uint32_t value) { key_.append(reinterpret_cast<const char *>(&value), sizeof value); }
  void maker(NodeId node) {
    while (module_.node(node).kind == NodeKind::Project)
      node = module_.operands(node)[0];
    const Node &n = module_.node(node);
    word(n.kind == NodeKind::CallOp ? n.op.index : UINT32_MAX);
  }
  void value(NodeId node, int depth) {
    word(module_.type(node).index);
    if (module_.isConstant(node)) {
      const Constant &constant = module_.constant(node);
      word(1);
      key_.append(reinterpret_cast<const char *>(&constant.hash), sizeof constant.hash);
    } else if (module_.node(node).kind == NodeKind::Tuple && depth < maxTupleDepth) {
      word(2);
      for (NodeId field : module_.operands(node))
        value(field, depth + 1);
    } else {
      word(0);
    }
  }
  void inner(NodeId node, const std::vector<NodeId> &leaves, const std::vector<NodeId> &nodes) {
    const Node &n = module_.node(node);
    if (n.kind == NodeKind::Function)
      return;
    word(static_cast<uint32_t>(n.kind));
    word(n.op.index);
    word(n.attrs.index);
    word(n.kind == NodeKind::Project ? n.payload : 0);
    if (std::optional<FunctionId> composite = compositeOf(module_, node))
      function(*composite);
    for (NodeId operand : module_.operands(node)) {
      if (module_.node(operand).kind == NodeKind::Function)
        continue;
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

void put(const Vendor &vendor, Question question, const bycc_target &target,
         const RegionView &view) {
  std::string about = question == Question::Annotate
                          ? "asked to annotate"
                          : "asked about " + std::string(bycc_node_at(&view.region(), 0)->op);
  vendor.process->put(vendor, question, std::move(about), target, view);
}

WorkerAnswer ask(const Vendor &vendor, Question question, const bycc_target &target,
                 const RegionView &view) {
  if (!vendor.process)
    return callVendor(*vendor.compiler(), question, target, vendor.settings, view.region());
  put(vendor, question, target, view);
  return vendor.process->next();
}

Answer answerOf(WorkerAnswer said) {
  if (!said.isYes)
    return Answer::no(std::move(said.reason));
  Answer answer = Answer::yes();
  answer.implementations = std::move(said.offers);
  answer.name = std::move(said.name);
  return answer;
}

Answer askSupports(const Vendor &vendor, const bycc_target &target, const RegionView &view) {
  return answerOf(ask(vendor, Question::Supports, target, view));
}

} // namespace

VendorTarget::VendorTarget(const TargetInfo &info)
    : features_(join(info.features, ",")), target_(sized<bycc_target>()) {
  target_.triple = info.triple.c_str();
  target_.cpu = info.cpu.c_str();
  target_.features = features_.c_str();
  target_.threads = info.threads;
  target_.nan = info.keepsNan ? BYCC_NAN_KEEP : BYCC_NAN_FAST;
}

struct VendorAsker::Impl {
  explicit Impl(const TargetInfo &info) : target(info) {}

  std::string key;
  std::unordered_map<std::string, Answer> answers;
  std::unordered_map<NodeId, Answer> annotated; // by the vendor's own annotator
  std::unordered_map<NodeId, uint32_t> groups;  // not 0, of nodes that it takes
  // Of questions under way, which are answered in this order. Nodes of the map stay
  // where they are.
  std::deque<Answer *> ahead;
  VendorTarget target;
};

VendorAsker::VendorAsker(const Vendor &vendor, const Module &module, const TargetInfo &target)
    : vendor_(vendor), module_(module), impl_(std::make_unique<Impl>(target)) {}

VendorAsker::~VendorAsker() = default;

bool VendorAsker::isCompositeOfAnother(NodeId node) const {
  std::optional<FunctionId> composite = compositeOf(module_, node);
  return composite &&
         vendorOfComposite(module_.functionAttr(*composite, "Composite")->asString()) !=
             vendor_.name();
}

std::optional<std::string> VendorAsker::annotateBlock(BlockId block) {
  if (vendor_.isEmulated() || !vendor_.compiler()->annotate)
    return std::nullopt;
  RegionView view = RegionView::ofBlock(module_, block);
  WorkerAnswer reply = ask(vendor_, Question::Annotate, impl_->target, view);
  std::optional<std::string> failure;
  if (!reply.isYes)
    failure = reply.reason;
  std::map<uint32_t, WorkerAnswer::ByNode> byNode;
  for (WorkerAnswer::ByNode &said : reply.byNode)
    byNode.emplace(said.node, said);
  for (uint32_t i = 0; i < view.region().num_nodes; ++i) {
    Answer &answer = impl_->annotated[view.node(i)];
    auto said = byNode.find(i);
    if (isCompositeOfAnother(view.node(i)))
      answer = Answer::no("composite of another vendor");
    else if (failure)
      answer = Answer::no("its annotator fails: " + *failure);
    else
      answer =
          said == byNode.end() ? Answer::no("its annotator does not take it") : said->second.answer;
    if (answer)
      if (Answer allowed = askFile(view.node(i)); !allowed)
        answer = std::move(allowed);
    if (answer && said->second.group != 0)
      impl_->groups[view.node(i)] = said->second.group;
  }
  return failure;
}

uint32_t VendorAsker::groupOf(NodeId node) const {
  auto found = impl_->groups.find(node);
  return found == impl_->groups.end() ? 0 : found->second;
}

// Host and vendors know of row-major tensors on device 0; a vendor has others where its
// conditions name their layout. A result is made as the arguments are.
std::string VendorAsker::whyNotPlaced(NodeId call, const Condition *rule) const {
  if (module_.types.allOnHost())
    return "";
  std::span<const NodeId> operands = module_.operands(call);
  for (uint32_t i = 0; i < operands.size(); ++i)
    for (TypeId type : module_.types.flatten(module_.type(operands[i])))
      if (std::string place = module_.types.placeText(type);
          !place.empty() && (module_.types.device(type) != 0 || !rule || !rule->namesLayout(i)))
        return "argument " + std::to_string(i) + " has " + place +
               ", which its conditions do not name";
  return "";
}

// A pattern that names layouts has tested them by now.
std::optional<std::string> VendorAsker::whyNotPlaced(const std::string &name,
                                                     const Match &match) const {
  if (module_.types.allOnHost())
    return std::nullopt;
  auto pattern = std::ranges::find(vendor_.patterns(), name, &Pattern::name);
  bool namesLayouts = pattern != vendor_.patterns().end() && pattern->namesLayouts();
  for (NodeId leaf : match.leaves)
    for (TypeId type : module_.types.flatten(module_.type(leaf)))
      if (std::string place = module_.types.placeText(type);
          !place.empty() && (module_.types.device(type) != 0 || !namesLayouts))
        return nodeName(module_, leaf) + " has " + place + ", which the pattern does not name";
  return std::nullopt;
}

static Answer answerOf(const WhyNot &why) { return why ? Answer::no(*why) : Answer::yes(); }

// What the vendor's file says about an operator; the rest is up to the vendor.
Answer VendorAsker::askFile(NodeId node) const {
  if (module_.node(node).kind != NodeKind::CallOp)
    return Answer::yes();
  OpId op = module_.node(node).op;
  if (auto why = vendor_.whyListed(opInfo(op).name))
    return Answer::no(*why);
  auto rule = vendor_.opRules().find(op.index);
  bool hasRule = rule != vendor_.opRules().end();
  if (!hasRule && vendor_.isEmulated())
    return Answer::no("operator not supported");
  if (std::string why = whyNotPlaced(node, hasRule ? &rule->second : nullptr); !why.empty())
    return Answer::no(why);
  return hasRule ? answerOf(whyNot(rule->second, module_, node)) : Answer::yes();
}

std::optional<double> VendorAsker::costOf(NodeId node) {
  const Implementation *chosen = supports(node).chosen();
  return chosen ? chosen->microseconds : std::nullopt;
}

// The key of the question about a call.
void VendorAsker::writeKey(NodeId node) {
  KeyWriter(module_, impl_->key).call(node, vendor_.looksAtMakers());
  std::optional<FunctionId> composite = compositeOf(module_, node);
  if (!composite)
    return;
  std::string call = impl_->key;
  KeyWriter(module_, impl_->key).function(*composite);
  impl_->key += call;
}

bool VendorAsker::asksAhead() const { return !vendor_.isEmulated() && vendor_.process; }

void VendorAsker::putAhead(Answer &kept, const RegionView &view) {
  put(vendor_, Question::Supports, impl_->target, view);
  impl_->ahead.push_back(&kept);
  takeAhead(maxUnderWay);
}

void VendorAsker::takeAhead(size_t left) {
  for (std::deque<Answer *> &ahead = impl_->ahead; ahead.size() > left; ahead.pop_front())
    *ahead.front() = answerOf(vendor_.process->next());
}

void VendorAsker::finishAhead() { takeAhead(0); }

void VendorAsker::askAhead(std::span<const NodeId> nodes) {
  if (!asksAhead())
    return;
  for (NodeId node : nodes) {
    bool isComposite = compositeOf(module_, node).has_value();
    if (!isComposite && module_.node(node).kind != NodeKind::CallOp)
      continue;
    if (impl_->annotated.contains(node) || isCompositeOfAnother(node))
      continue;
    writeKey(node);
    if (impl_->answers.contains(impl_->key))
      continue;
    Answer answer = isComposite ? Answer::yes() : askFile(node);
    Answer &kept = impl_->answers.emplace(impl_->key, std::move(answer)).first->second;
    if (kept)
      putAhead(kept, RegionView::ofNode(module_, node));
  }
  finishAhead();
}

const Answer &VendorAsker::supports(NodeId node) {
  if (auto found = impl_->annotated.find(node); found != impl_->annotated.end())
    return found->second;
  std::optional<FunctionId> composite = compositeOf(module_, node);
  writeKey(node);
  auto [found, isNew] = impl_->answers.try_emplace(impl_->key);
  if (!isNew)
    return found->second;
  Answer &answer = found->second;
  if (composite) {
    if (isCompositeOfAnother(node))
      return answer = Answer::no("composite of another vendor");
    return answer = vendor_.isEmulated()
                        ? Answer::yes()
                        : askSupports(vendor_, impl_->target, RegionView::ofNode(module_, node));
  }
  if (module_.node(node).kind != NodeKind::CallOp)
    return answer = Answer::no("not an operator");
  answer = askFile(node);
  if (answer && !vendor_.isEmulated())
    answer = askSupports(vendor_, impl_->target, RegionView::ofNode(module_, node));
  return answer;
}

std::optional<std::string> VendorAsker::whyNotAsked(const std::string &name,
                                                    const Match &match) const {
  for (NodeId node : match.nodes)
    if (module_.node(node).kind == NodeKind::CallOp)
      if (auto why = vendor_.whyListed(opInfo(module_.node(node).op).name))
        return why;
  return whyNotPlaced(name, match);
}

// A yes about an open name says a name.
static const Answer &withName(Answer &answer, const std::string &asked) {
  std::string_view vendor = vendorOfComposite(asked), name = answer.name;
  auto isLetter = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
  if (answer && isOpenName(asked) &&
      (vendorOfComposite(name) != vendor || name.size() < vendor.size() + 2 ||
       !std::ranges::all_of(name, isLetter)))
    answer = Answer::no("it names the composite '" + answer.name + "', wanted " +
                        std::string(vendor) + ".NAME");
  return answer;
}

const Answer &VendorAsker::supportsGroup(const std::string &name, const Match &match) {
  static const Answer yes = Answer::yes();
  if (auto why = whyNotAsked(name, match))
    return impl_->answers["not asked:" + *why] = Answer::no(*why);
  if (vendor_.isEmulated())
    return yes;
  KeyWriter(module_, impl_->key).group(name, match.leaves, match.nodes, rolesOf(module_, match));
  auto [found, isNew] = impl_->answers.try_emplace(impl_->key);
  if (isNew)
    found->second = askSupports(vendor_, impl_->target, RegionView::ofGroup(module_, name, match));
  return withName(found->second, name);
}

void VendorAsker::askAheadGroup(const std::string &name, const Match &match) {
  if (!asksAhead() || whyNotAsked(name, match))
    return;
  KeyWriter(module_, impl_->key).group(name, match.leaves, match.nodes, rolesOf(module_, match));
  auto [found, isNew] = impl_->answers.try_emplace(impl_->key);
  if (isNew)
    putAhead(found->second, RegionView::ofGroup(module_, name, match));
}

} // namespace bycc
