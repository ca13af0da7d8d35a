// The half of PrecisionChoice that looks at single calls: which may convert, what
// that saves, and which values bfloat16 may not be able to hold.

#include "PrecisionChoice.h"
#include "SimplifyRules.h"
#include "bycc/IR/Functions.h"
#include "bycc/IR/LikelyExtents.h"
#include "bycc/Support/Element.h"

#include <algorithm>
#include <cmath>

namespace bycc {
namespace {

// Larger constants are weights; nobody writes masks as weights of this size.
constexpr uint64_t maxMaskBytes = 1 << 20;
constexpr double largestBFloat16 = 0x1.fep127;

bool hasHugeElement(const Module &module, const Constant &constant) {
  DType dtype = module.types.dtype(constant.type);
  if (dtype != DType::Float32 || constant.bytes > maxMaskBytes)
    return false;
  int64_t count = static_cast<int64_t>(constant.bytes / 4);
  for (int64_t i = 0; i < count; ++i) {
    double value = std::abs(elementAsDouble(dtype, constant.data(), i));
    if (value > largestBFloat16 && std::isfinite(value))
      return true;
  }
  return false;
}

} // namespace

bool PrecisionChoice::isFloat32(NodeId node) const {
  TypeId type = module_.type(node);
  return module_.types.isTensor(type) && module_.types.dtype(type) == DType::Float32;
}

double PrecisionChoice::elements(TypeId type) const {
  double all = 0;
  for (TypeId tensor : module_.types.flatten(type))
    all += likelyElements(module_.types, tensor);
  return all;
}

std::vector<NodeId> PrecisionChoice::floatOperands(NodeId call) const {
  std::vector<NodeId> found;
  for (NodeId operand : module_.operands(call)) {
    if (module_.node(operand).kind != NodeKind::Tuple) {
      if (isFloat32(operand))
        found.push_back(operand);
      continue;
    }
    for (NodeId field : module_.operands(operand))
      if (isFloat32(field))
        found.push_back(field);
  }
  return found;
}

// A local function that names itself in its body, or a global one.
void PrecisionChoice::findLoops(FunctionId function) {
  std::vector<NodeId> around;
  auto walk = [&](auto &&self, BlockId block) -> void {
    for (NodeId node : module_.block(block).nodes) {
      for (NodeId operand : module_.operands(node)) {
        if (std::ranges::find(around, operand) != around.end())
          isLoop_[operand.index] = 1;
        isWholeLoop_ |= module_.node(operand).kind == NodeKind::Global &&
                        module_.functionOf(operand) == function;
      }
      bool isFunction = module_.node(node).kind == NodeKind::Function;
      if (isFunction)
        around.push_back(node);
      for (BlockId inner : innerBlocks(module_, node))
        self(self, inner);
      if (isFunction)
        around.pop_back();
    }
  };
  walk(walk, module_.function(function).body);
}

void PrecisionChoice::collect(BlockId block, bool isClosed, bool isLoop) {
  for (NodeId node : module_.block(block).nodes) {
    bool isFunction = module_.node(node).kind == NodeKind::Function;
    bool innerClosed =
        isClosed || (isFunction && isClosedFunction(module_, module_.functionOf(node)));
    bool innerLoop = isLoop || isLoop_[node.index] != 0;
    for (BlockId inner : innerBlocks(module_, node))
      collect(inner, innerClosed, innerLoop);
    nodes_.push_back(node);
    markBeyondRange(node);
    if (isClosed)
      continue;
    if (!mayConvert(node, isLoop)) {
      if (std::string reason = whyNever(node); !reason.empty())
        others_.push_back({node, reason});
      continue;
    }
    varOf_[node.index] = static_cast<uint32_t>(vars_.size());
    PrecisionClass cls = rules_.classOf(module_.node(node).op);
    vars_.push_back({node, cls, savedBy(node, cls)});
  }
}

bool PrecisionChoice::mayConvert(NodeId node, bool isLoop) const {
  if (module_.node(node).kind != NodeKind::CallOp)
    return false;
  PrecisionClass cls = rules_.classOf(module_.node(node).op);
  if (cls == PrecisionClass::Never || (cls == PrecisionClass::Follow && isLoop))
    return false;
  return (isFloat32(node) || isSplit(node)) && hasFloatData(node);
}

// Of a product that cannot convert; "" of other calls.
std::string PrecisionChoice::whyNever(NodeId node) const {
  if (module_.node(node).kind != NodeKind::CallOp || !module_.types.isTensor(module_.type(node)))
    return "";
  OpId op = module_.node(node).op;
  DType dtype = module_.types.dtype(module_.type(node));
  if (rules_.classOf(op) == PrecisionClass::Always && isFloat(dtype) && dtype != DType::BFloat16)
    return dtype == DType::Float32 ? "its operands are not all float32"
                                   : "it is " + std::string(name(dtype));
  if (rules_.classes.contains(op.index) || dtype != DType::Float32)
    return "";
  // Many operations for each result, of more than one tensor: a product, of what kind ever.
  auto isMatrix = [&](NodeId operand) {
    return module_.types.shape(module_.type(operand)).size() >= 2;
  };
  bool isProduct = std::ranges::count_if(floatOperands(node), isMatrix) >= 2 &&
                   opInfo(op).flops(module_, node) >= 4 * elements(module_.type(node));
  return isProduct ? "the precision rules do not list it" : "";
}

// A tuple of float32 tensors, taken apart at once.
bool PrecisionChoice::isSplit(NodeId node) const {
  TypeId type = module_.type(node);
  if (module_.types.kind(type) != TypeKind::Tuple || users_.numResultUses(node) > 0)
    return false;
  bool isApart = std::ranges::all_of(
      users_.of(node), [&](NodeId user) { return module_.node(user).kind == NodeKind::Project; });
  return isApart && std::ranges::all_of(module_.types.fields(type), [&](TypeId field) {
           return module_.types.isTensor(field) && module_.types.dtype(field) == DType::Float32;
         });
}

// All float operands are float32, tuples are written where they are read, and there
// is something to convert; an integer that is cast will do.
bool PrecisionChoice::hasFloatData(NodeId call) const {
  size_t floats = 0;
  auto isRight = [&](NodeId operand) {
    if (!module_.types.isTensor(module_.type(operand)))
      return false;
    DType dtype = module_.types.dtype(module_.type(operand));
    floats += dtype == DType::Float32;
    return dtype == DType::Float32 || !isFloat(dtype);
  };
  for (NodeId operand : module_.operands(call)) {
    if (module_.node(operand).kind != NodeKind::Tuple) {
      if (!isRight(operand))
        return false;
    } else if (!std::ranges::all_of(module_.operands(operand),
                                    [&](NodeId field) { return isFloat32(field); })) {
      return false;
    } else {
      ++floats;
    }
  }
  return floats > 0 || module_.isOp(call, ops::cast);
}

// Traffic: a result is written and read, a constant is read. A view costs nothing;
// the little that it is said to save moves conversions of the same cost beside the
// operators that need float32, where kernels take both in one.
double PrecisionChoice::savedBy(NodeId call, PrecisionClass cls) const {
  constexpr double little = 1e-5; // microseconds
  if (isView(module_, call))
    return little;
  double saved = floatTraffic(call) / 2;
  if (cls != PrecisionClass::Always)
    return saved;
  ProductTimes::Times times = times_.of(call);
  return saved + times.inFloat - times.inHalf;
}

double PrecisionChoice::floatTraffic(NodeId call) const {
  constexpr double bytes = 4; // an element, each time it is moved
  double moved = 2 * elements(module_.type(call));
  for (NodeId operand : floatOperands(call))
    if (module_.isConstant(operand))
      moved += elements(module_.type(operand));
  return bytes * moved / rules_.bytesPerMicrosecond;
}

// --- range

void PrecisionChoice::markBeyondRange(NodeId node) {
  const Node &n = module_.node(node);
  bool passes = n.kind == NodeKind::Tuple || n.kind == NodeKind::Project;
  if (n.kind == NodeKind::CallOp && (isFloat32(node) || isSplit(node))) {
    OpKind kind = opInfo(n.op).kind;
    passes = kind != OpKind::OutFusable && kind != OpKind::Opaque &&
             !opInfo(n.op).has(OpTrait::Saturating);
  }
  bool isBeyond = passes && std::ranges::any_of(module_.operands(node), [&](NodeId operand) {
                    return isBeyondRange(operand);
                  });
  isBeyond_[node.index] = isBeyond ? 2 : 1;
}

bool PrecisionChoice::isBeyondRange(NodeId node) {
  uint8_t &known = isBeyond_[node.index];
  if (known == 0)
    known = module_.isConstant(node) && hasHugeElement(module_, module_.constant(node)) ? 2 : 1;
  return known == 2;
}

} // namespace bycc
