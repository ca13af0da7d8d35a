// A region that is called in several places is loaded once, so what holds for an
// input or output at one call must hold at all of them. Where code of the host passes
// a tensor on (a result of a branch or of a function), it is the host's.

#include "bycc/Partition/ResidentTensors.h"

#include "bycc/IR/Functions.h"
#include "bycc/IR/Visitor.h"

#include "Scopes.h"

#include <algorithm>
#include <map>

namespace bycc {

ResidentTensors::ResidentTensors(const Module &module, std::set<std::string> vendors)
    : module_(module), vendors_(std::move(vendors)) {
  if (vendors_.empty())
    return;
  findLoops();
  for (FunctionId function : module.globals())
    if (!isClosedFunction(module, function))
      walk(module.function(function).body, loops_.contains(function.index));
  std::erase_if(makers_, [&](const auto &entry) {
    auto reader = readers_.find(entry.first);
    return reader == readers_.end() || reader->second != entry.second;
  });
  while (dropDisagreeing())
    ;
}

ResidentTensors::Flags ResidentTensors::flagsOf(FunctionId region) const {
  auto call = std::ranges::find(calls_, region, &RegionCall::region);
  if (call == calls_.end())
    return {};
  auto flags = [&](const std::vector<TensorRef> &tensors) {
    std::vector<uint8_t> all;
    for (const TensorRef &tensor : tensors)
      all.push_back(isResident(tensor));
    return all;
  };
  return {flags(call->inputs), flags(call->outputs)};
}

FunctionId ResidentTensors::calleeOf(NodeId call) const {
  if (module_.node(call).kind != NodeKind::Call)
    return {};
  NodeId callee = module_.operands(call)[0];
  return module_.node(callee).kind == NodeKind::Global ? module_.functionOf(callee) : FunctionId();
}

const std::string *ResidentTensors::vendorOf(FunctionId function) const {
  const AttrValue *compiler = function ? module_.functionAttr(function, "Compiler") : nullptr;
  if (!compiler || !compiler->isString())
    return nullptr;
  auto found = vendors_.find(compiler->asString());
  return found == vendors_.end() ? nullptr : &*found;
}

// Functions that call themselves, and what they call.
void ResidentTensors::findLoops() {
  std::unordered_map<uint32_t, std::vector<FunctionId>> callees;
  std::vector<FunctionId> open;
  for (FunctionId function : module_.globals())
    if (!isClosedFunction(module_, function))
      forEachNode(module_, module_.function(function).body, [&](NodeId node) {
        FunctionId callee = calleeOf(node);
        if (!callee)
          return;
        callees[function.index].push_back(callee);
        if (callee == function && loops_.insert(function.index).second)
          open.push_back(function);
      });
  for (size_t i = 0; i < open.size(); ++i)
    for (FunctionId callee : callees[open[i].index])
      if (loops_.insert(callee.index).second)
        open.push_back(callee);
}

// `mayRepeat`: a turn of a loop may end before what it makes is released.
void ResidentTensors::walk(BlockId block, bool mayRepeat) {
  for (NodeId node : module_.block(block).nodes) {
    NodeKind kind = module_.node(node).kind;
    if (kind == NodeKind::Tuple || kind == NodeKind::Project)
      continue;
    FunctionId callee = calleeOf(node);
    const std::string *vendor = vendorOf(callee);
    for (NodeId operand : module_.operands(node))
      use(operand, vendor);
    if (vendor)
      noteCall(node, callee, mayRepeat);
    for (BlockId inner : openBlocks(module_, node))
      walk(inner, mayRepeat || kind == NodeKind::Function);
  }
  if (NodeId result = module_.block(block).result)
    use(result, nullptr);
}

void ResidentTensors::use(NodeId value, const std::string *vendor) {
  std::vector<TensorRef> tensors;
  resolveTensors(module_, value, tensors);
  for (const TensorRef &tensor : tensors)
    if (auto [found, isNew] = readers_.try_emplace(tensor, vendor);
        !isNew && found->second != vendor)
      found->second = nullptr;
}

void ResidentTensors::noteCall(NodeId call, FunctionId region, bool mayRepeat) {
  RegionCall entry{region, {}, {}};
  for (NodeId argument : module_.operands(call).subspan(1))
    resolveTensors(module_, argument, entry.inputs);
  resolveTensors(module_, call, entry.outputs);
  std::vector<TypeId> types = module_.types.flatten(module_.type(call));
  for (size_t i = 0; i < entry.outputs.size() && !mayRepeat; ++i)
    if (module_.types.isTensor(types[i]) && module_.types.sizeBytes(types[i]))
      makers_[entry.outputs[i]] = vendorOf(region);
  calls_.push_back(std::move(entry));
}

// Leaves the flags of a region as all its calls so far agree on them.
bool ResidentTensors::agree(std::vector<uint8_t> &flags, const std::vector<TensorRef> &tensors) {
  flags.resize(std::max(flags.size(), tensors.size()), 1);
  bool changed = false;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!isResident(tensors[i])) {
      flags[i] = 0;
    } else if (!flags[i]) {
      makers_.erase(tensors[i]);
      changed = true;
    }
  return changed;
}

bool ResidentTensors::dropDisagreeing() {
  std::map<uint32_t, std::pair<std::vector<uint8_t>, std::vector<uint8_t>>> flags;
  bool changed = false;
  for (int round = 0; round < 2; ++round) // earlier calls follow later ones
    for (const RegionCall &call : calls_) {
      auto &[inputs, outputs] = flags[call.region.index];
      changed |= agree(inputs, call.inputs);
      changed |= agree(outputs, call.outputs);
    }
  return changed;
}

} // namespace bycc
