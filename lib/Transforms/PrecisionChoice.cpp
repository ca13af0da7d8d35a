#include "PrecisionChoice.h"

#include "MinimumCut.h"
#include "SimplifyRules.h"
#include "bycc/IR/Functions.h"
#include "bycc/IR/LikelyExtents.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace bycc {
namespace {

int64_t capacity(double microseconds) {
  return static_cast<int64_t>(std::min(microseconds, 1e9) * 1e6); // picoseconds
}

// Of a var in the network: behind source and sink.
uint32_t nodeOf(uint32_t var) { return var + 2; }

std::string microseconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g us", value);
  return text;
}

} // namespace

PrecisionChoice::PrecisionChoice(const Module &module, FunctionId function,
                                 const PrecisionRules &rules, const ProductTimes &times,
                                 const Users &users)
    : module_(module), rules_(rules), users_(users), times_(times), function_(function),
      isLoop_(module.numNodes(), 0), varOf_(module.numNodes(), none),
      valueOf_(module.numNodes(), none), isBeyond_(module.numNodes(), 0) {
  findLoops(function);
  collect(module.function(function).body, isClosedFunction(module, function), isWholeLoop_);
  readAll();
  choose();
}

// --- who reads what

PrecisionChoice::Value &PrecisionChoice::valueOf(NodeId node) {
  uint32_t &index = valueOf_[node.index];
  if (index == none) {
    index = static_cast<uint32_t>(values_.size());
    values_.push_back({node, {}, false, false});
  }
  return values_[index];
}

void PrecisionChoice::read(NodeId value, uint32_t var) {
  std::vector<uint32_t> &readers = valueOf(value).readers;
  if (readers.empty() || readers.back() != var) // calls come one by one
    readers.push_back(var);
}

void PrecisionChoice::readAsFloat(NodeId value) {
  if (isFloat32(value))
    valueOf(value).isReadAsFloat = true;
}

void PrecisionChoice::readAll() {
  auto isReadByVarsOnly = [&](NodeId tuple) {
    return users_.numResultUses(tuple) == 0 &&
           std::ranges::all_of(users_.of(tuple), [&](NodeId user) { return varOf(user) != none; });
  };
  for (NodeId node : nodes_) {
    if (uint32_t var = varOf(node); var != none) {
      for (NodeId operand : floatOperands(node))
        read(operand, var);
    } else if (module_.isOp(node, ops::cast) &&
               module_.types.dtype(module_.type(node)) == DType::BFloat16) {
      if (isFloat32(module_.operands(node)[0]))
        valueOf(module_.operands(node)[0]).isReadAsHalf = true;
    } else if (module_.node(node).kind != NodeKind::Tuple || !isReadByVarsOnly(node)) {
      for (NodeId operand : module_.operands(node))
        readAsFloat(operand);
    }
  }
  forEachBlock(module_, function_, [&](BlockId block) {
    if (NodeId result = module_.block(block).result)
      readAsFloat(result);
  });
}

uint32_t PrecisionChoice::makerVar(NodeId value) const {
  uint32_t var = varOf(value);
  bool isField = var == none && module_.node(value).kind == NodeKind::Project;
  return isField ? varOf(module_.operands(value)[0]) : var;
}

PrecisionChoice::Maker PrecisionChoice::maker(NodeId value) const {
  const Node &node = module_.node(value);
  if (node.kind == NodeKind::Constant)
    return Maker::Constant;
  if (makerVar(value) != none)
    return Maker::Var;
  if (module_.isOp(value, ops::cast)) {
    TypeId from = module_.type(module_.operands(value)[0]);
    if (module_.types.dtype(from) == DType::BFloat16)
      return Maker::Half;
  }
  return Maker::Float;
}

double PrecisionChoice::conversion(NodeId value, int bytes) const {
  return rules_.launchMicroseconds +
         bytes * elements(module_.type(value)) / rules_.bytesPerMicrosecond;
}

// --- the choice

void PrecisionChoice::choose() {
  isChosen_.assign(vars_.size(), 0);
  bool hasWeights =
      std::ranges::any_of(vars_, [](const Var &var) { return var.cls != PrecisionClass::Follow; });
  if (!hasWeights)
    return;
  do
    solve();
  while (demote());
  dropSmallGain();
}

void PrecisionChoice::dropSmallGain() {
  double saved = gain(), all = floatTime();
  if (saved <= 0 || saved >= rules_.leastGain * all)
    return;
  isChosen_.assign(vars_.size(), 0);
  dropped_ = "bfloat16 would save " + microseconds(saved) + " of the function's " +
             microseconds(all) + ", which is not worth its rounding";
}

double PrecisionChoice::gain() const {
  double saved = 0;
  for (uint32_t i = 0; i < vars_.size(); ++i)
    saved += isChosen_[i] ? vars_[i].saved : 0;
  for (const Value &value : values_) {
    Maker from = maker(value.node);
    auto isChosen = [&](uint32_t var) { return isChosen_[var] != 0; };
    bool isHalf = from == Maker::Var ? isChosen(makerVar(value.node)) : from == Maker::Half;
    if (from == Maker::Constant)
      continue;
    if (!isHalf && (value.isReadAsHalf || std::ranges::any_of(value.readers, isChosen)))
      saved -= narrowing(value.node);
    if (isHalf && (value.isReadAsFloat || !std::ranges::all_of(value.readers, isChosen)))
      saved -= widening(value.node);
  }
  return saved;
}

double PrecisionChoice::floatTime() const {
  double all = 0;
  for (NodeId node : nodes_) {
    if (module_.node(node).kind != NodeKind::CallOp || !isFloat32(node) || isView(module_, node) ||
        hasUnknownExtents(module_, node)) // a guess
      continue;
    bool isProduct = rules_.classOf(module_.node(node).op) == PrecisionClass::Always;
    all += floatTraffic(node) + (isProduct ? times_.of(node).inFloat : 0);
  }
  return all;
}

// One conversion each way for all readers on the other side of the maker.
void PrecisionChoice::addReaders(MinimumCut &cut, const Value &value) const {
  Maker from = maker(value.node);
  if (from == Maker::Constant)
    return;
  uint32_t made = from == Maker::Half ? MinimumCut::source : MinimumCut::sink;
  if (from == Maker::Var)
    made = nodeOf(makerVar(value.node));
  if (from != Maker::Half && !value.readers.empty()) { // float32 for readers in bfloat16
    bool isBeyond = isBeyond_[value.node.index] == 2;
    uint32_t narrow = cut.addNode();
    cut.addEdge(narrow, made, isBeyond ? MinimumCut::unlimited : capacity(narrowing(value.node)));
    for (uint32_t reader : value.readers)
      cut.addEdge(nodeOf(reader), narrow, MinimumCut::unlimited);
  }
  if (from != Maker::Half && value.isReadAsHalf)
    cut.addEdge(MinimumCut::source, made, capacity(narrowing(value.node)));
  if (from == Maker::Float)
    return;
  uint32_t wide = cut.addNode(); // bfloat16 for readers in float32
  cut.addEdge(made, wide, capacity(widening(value.node)));
  for (uint32_t reader : value.readers)
    cut.addEdge(wide, nodeOf(reader), MinimumCut::unlimited);
  if (value.isReadAsFloat)
    cut.addEdge(wide, MinimumCut::sink, MinimumCut::unlimited);
}

void PrecisionChoice::solve() {
  MinimumCut cut;
  for (size_t i = 0; i < vars_.size(); ++i)
    cut.addNode();
  for (uint32_t i = 0; i < vars_.size(); ++i) {
    const Var &var = vars_[i];
    if (var.isDemoted)
      cut.addEdge(nodeOf(i), MinimumCut::sink, MinimumCut::unlimited);
    else if (var.saved > 0)
      cut.addEdge(MinimumCut::source, nodeOf(i), capacity(var.saved));
    else
      cut.addEdge(nodeOf(i), MinimumCut::sink, capacity(-var.saved));
  }
  for (const Value &value : values_)
    addReaders(cut, value);
  std::vector<uint8_t> side = cut.solve();
  for (uint32_t i = 0; i < vars_.size(); ++i)
    isChosen_[i] = side[nodeOf(i)];
}

// Takes out calls that would convert although neither their data nor what they
// feed is bfloat16 for a better reason. True when there were any.
bool PrecisionChoice::demote() {
  std::vector<uint8_t> carries(vars_.size(), 0), feeds(vars_.size(), 0);
  auto carriesValue = [&](NodeId value) {
    uint32_t var = makerVar(value);
    return var != none ? carries[var] != 0 : maker(value) == Maker::Half;
  };
  auto isTable = [&](NodeId value) {
    return module_.isConstant(value) &&
           module_.constant(value).bytes >= static_cast<uint64_t>(rules_.tableBytes);
  };
  for (uint32_t i = 0; i < vars_.size(); ++i) {
    const Var &var = vars_[i];
    if (!isChosen_[i])
      continue;
    std::vector<NodeId> operands = floatOperands(var.call);
    bool isWeight = var.cls == PrecisionClass::Moves && std::ranges::any_of(operands, isTable);
    carries[i] = var.cls == PrecisionClass::Always || isWeight ||
                 std::ranges::any_of(operands, carriesValue);
  }
  bool any = false;
  for (size_t i = vars_.size(); i-- > 0;) {
    if (!isChosen_[i])
      continue;
    Var &var = vars_[i];
    // Masks are made for what they are added to: in range they take part in bfloat16.
    bool isFeeder = var.cls == PrecisionClass::Moves || isBeyond_[var.call.index] == 2;
    bool mayStay = carries[i] || (isFeeder && feeds[i]);
    if (!mayStay) {
      var.isDemoted = any = true;
      continue;
    }
    for (NodeId operand : floatOperands(var.call))
      if (uint32_t made = makerVar(operand); made != none)
        feeds[made] = 1;
  }
  return any;
}

// --- what to say

size_t PrecisionChoice::numConverted(PrecisionClass cls) const {
  size_t count = 0;
  for (uint32_t i = 0; i < vars_.size(); ++i)
    count += isChosen_[i] && vars_[i].cls == cls;
  return count;
}

std::string PrecisionChoice::reasonOf(const Var &var) const {
  if (!dropped_.empty())
    return dropped_;
  double price = 0;
  for (NodeId operand : floatOperands(var.call)) {
    if (isBeyond_[operand.index] == 2)
      return "an operand may be finite and beyond the range of bfloat16";
    Maker from = maker(operand);
    bool isHalf = from == Maker::Half || from == Maker::Constant || isConverted(operand);
    price += isHalf ? 0 : narrowing(operand);
  }
  const uint32_t index = valueOf_[var.call.index];
  if (index != none && (values_[index].isReadAsFloat ||
                        std::ranges::any_of(values_[index].readers,
                                            [&](uint32_t reader) { return !isChosen_[reader]; })))
    price += widening(var.call);
  if (var.saved <= 0)
    return "bfloat16 saves nothing";
  return "bfloat16 saves " + microseconds(var.saved) + ", its conversions cost " +
         microseconds(price);
}

std::vector<PrecisionChoice::Stay> PrecisionChoice::stays() const {
  std::vector<Stay> found = others_;
  for (uint32_t i = 0; i < vars_.size(); ++i)
    if (vars_[i].cls == PrecisionClass::Always && !isChosen_[i])
      found.push_back({vars_[i].call, reasonOf(vars_[i])});
  return found;
}

} // namespace bycc
