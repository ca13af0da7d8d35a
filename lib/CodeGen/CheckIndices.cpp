// take, gather and gather_nd with mode="error", and scatters: indices are looked at before
// anything is read or written by them. A kernel of one pass finds the index that is farthest out,
//
//   farthest = max over i of unsigned(indices[i] + n)       n elements along the axis
//
// which is below 2 n when all are within -n and n - 1; unsigned indices count from 0
// alone. A requirement behind it ends the run with the node, that index and n, so no
// kernel has to stop in its middle. Indices that are constants are looked at here.
#include "BuildExtents.h"

#include "bycc/IR/Indices.h"
#include "bycc/Support/Element.h"
#include "bycc/Target/RegionView.h"

#include <algorithm>

namespace bycc::codegen {
namespace {

// Indices [begin, begin + count) of a constant.
std::pair<int64_t, int64_t> leastAndMost(const Constant &indices, DType type, int64_t begin,
                                         int64_t count) {
  std::pair<int64_t, int64_t> found{0, -1};
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = elementAsInteger(type, indices.data(), begin + i);
    bool isUnsigned = !isSignedInt(type) && index < 0; // beyond what an int64 holds
    found = {std::min(found.first, isUnsigned ? 0 : index),
             std::max(found.second, isUnsigned ? INT64_MAX : index)};
  }
  return found;
}

bool hasRows(const Module &module, NodeId call) {
  return module.isOp(call, ops::gather_nd) || module.isOp(call, ops::scatter_nd);
}

} // namespace

// What the rows of the indices count along: all of them one axis, in gather_nd and
// scatter_nd each row an axis of its own.
Expected<std::vector<Ref>> ProgramBuilder::indexedExtents(NodeId call, const Env &env) {
  NodeId x = m_.operands(call)[0];
  auto shape = m_.types.shape(m_.type(x));
  auto extent = [&](size_t axis) -> Expected<Ref> {
    return shape[axis].isConst() ? p_.exprs.integer(shape[axis].value())
                                 : p_.values[BYCC_TRY(valuesOf(x, env))[0]].dims[axis];
  };
  const AttrValue *attr = m_.attr(call, "axis");
  if (attr && attr->isInt())
    return std::vector<Ref>{BYCC_TRY(extent(static_cast<size_t>(
        attr->asInt() < 0 ? attr->asInt() + static_cast<int64_t>(shape.size()) : attr->asInt())))};
  std::vector<Ref> extents;
  if (hasRows(m_, call)) {
    const AttrValue *batchDims = m_.attr(call, "batch_dims"); // of gather_nd
    size_t batch = batchDims ? static_cast<size_t>(batchDims->asInt()) : 0,
           rows = BYCC_TRY(coordinatesOf(call));
    for (size_t row = 0; row < rows; ++row)
      extents.push_back(BYCC_TRY(extent(batch + row)));
    return extents;
  }
  extents.push_back(p_.exprs.integer(1)); // take of all elements in a row
  for (size_t axis = 0; axis < shape.size(); ++axis)
    extents[0] = p_.exprs.mul(extents[0], BYCC_TRY(extent(axis)));
  return extents;
}

Expected<size_t> ProgramBuilder::coordinatesOf(NodeId call) {
  Dim rows = m_.types.shape(m_.type(m_.operands(call)[1]))[0];
  if (!rows.isConst())
    return error(Status::Unsup, m_.source(call))
           << opInfo(m_.node(call).op).name << ": the number of coordinates must be known";
  return static_cast<size_t>(rows.value());
}

Expected<> ProgramBuilder::addIndexCheck(NodeId call, const Env &env) {
  std::vector<Ref> extents = BYCC_TRY(indexedExtents(call, env));
  NodeId indices = m_.operands(call)[1];
  const Constant *constant = constantIn(indices, env);
  return constant ? checkConstantIndices(call, *constant, extents)
                  : checkIndicesAtRun(call, indices, extents, env);
}

void ProgramBuilder::requireIndex(NodeId call, Ref condition, Ref index, Ref extent) {
  Instr instr;
  instr.kind = Instr::Kind::Require;
  instr.message = "node '" + nodeName(m_, call) + "' (" +
                  std::string(opInfo(m_.node(call).op).name) +
                  "): index {} is out of range for an axis of {} elements";
  instr.dims = {condition, index, extent};
  p_.exprs.visit(condition, [&](Ref ref) {
    if (p_.exprs[ref].op == Op::Load)
      instr.inputs.push_back(static_cast<ValueId>(p_.exprs[ref].i));
    return true;
  });
  p_.instrs.push_back(std::move(instr));
}

Expected<> ProgramBuilder::checkConstantIndices(NodeId call, const Constant &indices,
                                                const std::vector<Ref> &extents) {
  DType type = m_.types.dtype(indices.type);
  int64_t perRow = static_cast<int64_t>(indices.bytes) / sizeInBytes(type) /
                   std::max<int64_t>(static_cast<int64_t>(extents.size()), 1);
  for (size_t row = 0; row < extents.size(); ++row) {
    auto [least, most] = leastAndMost(indices, type, static_cast<int64_t>(row) * perRow, perRow);
    // As many elements as the farthest index needs: -n is the first of n.
    bool isLow = least < 0 && -(least + 1) > most;
    int64_t farthest = isLow ? least : most;
    int64_t needed = isLow ? -std::max(least, -INT64_MAX) : std::min(most, INT64_MAX - 1) + 1;
    auto known = p_.exprs.constant(extents[row]);
    if (known && *known < needed)
      return error(Status::Input, m_.source(call))
             << opInfo(m_.node(call).op).name << ": index " << farthest
             << " is out of range for an axis of " << *known << " elements";
    if (!known && needed > 0)
      requireIndex(call, p_.exprs.binary(Op::Le, p_.exprs.integer(needed), extents[row]),
                   p_.exprs.integer(farthest), extents[row]);
  }
  return {};
}

Expected<> ProgramBuilder::checkIndicesAtRun(NodeId call, NodeId indices,
                                             const std::vector<Ref> &extents, const Env &env) {
  Outside outside(*this, env);
  Group group;
  GroupDims dims(outside, group);
  Kernel &k = group.kernel;
  Exprs &x = k.exprs;
  DType type = m_.types.dtype(m_.type(indices));
  std::vector<Ref> shape;
  for (Ref extent : BYCC_TRY(outside.extentsOf(indices, 0)))
    shape.push_back(dims.fromProgram(extent));
  uint32_t buffer = k.addBuffer(type, shape, Role::Input);
  group.inputs.push_back({indices, 0, buffer});
  Ref count = x.integer(1);
  for (size_t d = hasRows(m_, call) ? 1 : 0; d < shape.size(); ++d)
    count = x.mul(count, shape[d]);
  if (x.constant(count) == 0 || extents.empty())
    return {};
  // Narrow indices are compared as they are where their type holds 2 n.
  auto isNarrow = [&](Ref extent) {
    auto known = p_.exprs.constant(extent);
    return type == DType::Int32 && known && *known <= INT32_MAX;
  };
  for (size_t row = 0; row < extents.size(); ++row) {
    bool narrow = isNarrow(extents[row]);
    Stage stage;
    stage.buffer = k.addBuffer(narrow ? DType::UInt32 : DType::UInt64, {}, Role::Output);
    stage.reduce = Reduce::Max;
    stage.store = x.integer(0);
    Ref at = x.times(count, static_cast<int64_t>(row));
    if (x.constant(count) != 1) {
      stage.reduceAxes.push_back(x.newAxis(count));
      at = x.add(at, x.axis(stage.reduceAxes[0]));
    }
    Ref index = x.load(buffer, type, at);
    if (narrow)
      stage.body = x.reinterpret(x.add(index, x.integer(*p_.exprs.constant(extents[row]), type)),
                                 DType::UInt32);
    else if (isSignedInt(type))
      stage.body =
          x.cast(x.add(x.cast(index, DType::Int64), dims.fromProgram(extents[row])), DType::UInt64);
    else
      stage.body = x.cast(index, DType::UInt64);
    group.outputs.push_back(stage.buffer);
    k.stages.push_back(std::move(stage));
  }
  k.numDims = static_cast<uint32_t>(group.dims.size());
  std::vector<TypeId> types;
  for (uint32_t output : group.outputs)
    types.push_back(m_.types.tensor(k.buffers[output].type, {}));
  std::vector<ValueId> farthest =
      BYCC_TRY(addKernel(std::move(group), {call}, m_.types.tuple(types), env, ".indices"));
  Exprs &p = p_.exprs;
  for (size_t row = 0; row < extents.size(); ++row) {
    Ref found = p.cast(p.load(farthest[row], p_.values[farthest[row]].dtype, p.integer(0)),
                       DType::Int64),
        extent = extents[row];
    Ref first = isSignedInt(type) ? extent : p.integer(0); // what index 0 is found as
    Ref isInside = p.binary(Op::And, p.binary(Op::Le, p.integer(0), found),
                            p.binary(Op::Lt, found, p.add(first, extent)));
    // An empty list gives 0; that an axis with indices has elements is required by the operator.
    Ref isFine = p.binary(Op::Or, isInside, p.binary(Op::Eq, found, p.integer(0))),
        index = p.sub(found, first);
    if (isNarrow(extent)) { // what went below -n came out above all others
      Ref isAbove = p.binary(Op::Lt, found, p.plus(first, int64_t{1} << 31));
      index = p.select(isAbove, index, p.plus(index, -(int64_t{1} << 32)));
    }
    requireIndex(call, isFine, index, extent);
  }
  return {};
}

} // namespace bycc::codegen
