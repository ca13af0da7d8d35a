// Shapes and data movement. Targets that may be inputs are resolved to numbers
// while importing where that is possible, so that the program carries literal
// shapes; the others become operands of dyn.* operators.
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <algorithm>
#include <limits>

namespace bycc::onnx {

Expected<std::optional<std::vector<int64_t>>> axesOf(OpContext &op, size_t index, int inputSince) {
  if (op.opset() < inputSince)
    return op.intsAttr("axes");
  if (!op.has(index))
    return std::optional<std::vector<int64_t>>();
  return std::optional(BYCC_TRY(op.constInts(index, "axes")));
}

namespace {

// The literal shape that `wanted` (with 0 and -1) means for a static input.
Expected<std::vector<int64_t>> resolveShape(OpContext &op, NodeId x, std::vector<int64_t> wanted,
                                            bool allowZero) {
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  int64_t known = 1, inferred = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && !allowZero) {
      if (i >= shape.size())
        return op.error() << "shape has 0 at " << i << ", the input has rank " << shape.size();
      wanted[i] = shape[i];
    }
    if (wanted[i] == -1)
      inferred = static_cast<int64_t>(i);
    else if (__builtin_mul_overflow(known, wanted[i], &known))
      return op.error(Status::Limit) << "the shape's product passes 2^63";
  }
  int64_t count = *op.types().numElements(op.module().type(x));
  if (inferred >= 0) {
    if (known == 0)
      return op.error() << "shape has -1 beside an extent of 0, which leaves it open";
    if (count % known != 0)
      return op.error() << count << " elements do not divide by " << known;
    wanted[inferred] = count / known;
  } else if (known != count) {
    return op.error() << "shape " << AttrValue::ints(wanted).str() << " of " << known
                      << " elements for " << op.types().str(op.module().type(x));
  }
  return wanted;
}

Expected<> reshapeAtRunTime(OpContext &op, NodeId x, bool allowZero) {
  NodeId shape = BYCC_TRY(runTimeInts(op, 1, "shape", op.declaredRank(0)));
  op.setOutput(0, BYCC_TRY(op.call("dyn.reshape", {x, shape},
                                   {{"allowzero", static_cast<int64_t>(allowZero)}})));
  return {};
}

} // namespace

Expected<> convertReshape(OpContext &op) {
  NodeId x = op.input(0);
  bool allowZero = BYCC_TRY(op.intAttr("allowzero", 0)) != 0;
  IntTensor given;
  const IntTensor *known = op.knownInts(1);
  if (op.opset() < 5) {
    std::optional<std::vector<int64_t>> shape = BYCC_TRY(op.intsAttr("shape"));
    if (!shape)
      return op.error() << "attribute 'shape' is missing";
    given.values.assign(shape->begin(), shape->end());
    known = &given;
  }
  if (!known)
    return reshapeAtRunTime(op, x, allowZero);
  // One unknown entry can only be what is left.
  std::vector<int64_t> wanted;
  for (const std::optional<int64_t> &value : known->values)
    wanted.push_back(value.value_or(-1));
  if (wanted.size() > 32)
    return op.error(Status::Limit) << "rank " << wanted.size() << ", the limit is 32";
  for (int64_t value : wanted)
    if (value < -1)
      return op.error() << "shape has the value " << value;
  auto inferred = std::count(wanted.begin(), wanted.end(), -1);
  bool isMixed = allowZero && inferred > 0 && std::count(wanted.begin(), wanted.end(), 0) > 0;
  if (!known->isComplete() && (inferred > 1 || isMixed))
    return reshapeAtRunTime(op, x, allowZero);
  if (inferred > 1)
    return op.error() << "shape has -1 twice";
  if (isMixed)
    return op.error() << "shape has both 0 and -1, with allowzero";
  if (op.isStatic(x)) {
    wanted = BYCC_TRY(resolveShape(op, x, wanted, allowZero));
    bool hasZero = std::count(wanted.begin(), wanted.end(), 0) > 0;
    op.setOutput(0, BYCC_TRY(op.call("reshape", {x},
                                     {{"newshape", AttrValue::ints(wanted)},
                                      {"allowzero", static_cast<int64_t>(hasZero)}})));
    return {};
  }
  op.setOutput(0, BYCC_TRY(op.call("reshape", {x},
                                   {{"newshape", AttrValue::ints(wanted)},
                                    {"allowzero", static_cast<int64_t>(allowZero)}})));
  return {};
}

Expected<> convertFlatten(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  int64_t axis = BYCC_TRY(op.intAttr("axis", 1));
  if (axis < -rank || axis > rank)
    return op.error() << "axis " << axis << " is out of range for rank " << rank;
  axis = axis < 0 ? axis + rank : axis;
  if (axis == 1) {
    op.setOutput(0, BYCC_TRY(op.call("nn.batch_flatten", {x})));
    return {};
  }
  op.setOutput(0, BYCC_TRY(flattened(op, x, axis)));
  return {};
}

Expected<> convertTranspose(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  std::vector<int64_t> perm;
  if (std::optional<std::vector<int64_t>> given = BYCC_TRY(op.intsAttr("perm")))
    perm = *given;
  else
    for (int64_t i = rank; i-- > 0;)
      perm.push_back(i);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < rank || i < static_cast<int64_t>(perm.size()); ++i)
    if (static_cast<int64_t>(perm.size()) != rank || sorted[i] != i)
      return op.error() << "perm " << AttrValue::ints(perm).str() << " is no permutation of "
                        << rank << " axes";
  NodeId result = BYCC_TRY(op.transpose(x, perm));
  if (const StoredWeight *stored = op.importer().storedWeightOf(x); stored && perm[0] == 1) {
    StoredWeight turned = *stored;
    turned.isTransposed = !turned.isTransposed;
    op.importer().noteStoredWeight(result, turned);
  }
  op.setOutput(0, result);
  return {};
}

namespace {

// Without axes every axis of 1 goes, which a `?` leaves open; the declared rank
// of the output may settle it.
Expected<std::vector<int64_t>> axesOfOne(OpContext &op, NodeId x) {
  std::vector<int64_t> ones;
  std::vector<Dim> shape = op.shape(x);
  size_t open = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == Dim(1))
      ones.push_back(static_cast<int64_t>(i));
    open += !shape[i].isConst();
  }
  std::optional<int64_t> rank = op.declaredRank(0);
  if (open > 0 && rank != static_cast<int64_t>(shape.size() - ones.size())) {
    std::string advice = op.importer().adviceToBind(shape);
    return op.error(Status::Unsup).note(advice.empty() ? "name the axes" : advice)
           << "which axes of " << op.types().str(op.module().type(x)) << " are 1 is not known";
  }
  return ones;
}

} // namespace

Expected<> convertSqueeze(OpContext &op) {
  NodeId x = op.input(0);
  if (op.opset() >= 13 && !op.isKnown(1)) {
    std::optional<int64_t> rank = op.declaredRank(0);
    NodeId axes =
        BYCC_TRY(runTimeInts(op, 1, "axes", rank ? std::optional(op.rank(x) - *rank) : rank));
    op.setOutput(0, BYCC_TRY(op.call("dyn.squeeze", {x, axes})));
    return {};
  }
  std::optional<std::vector<int64_t>> axes = BYCC_TRY(axesOf(op, 1, 13));
  if (!axes)
    axes = BYCC_TRY(axesOfOne(op, x));
  *axes = BYCC_TRY(op.normalAxes(*axes, op.rank(x)));
  std::vector<Dim> shape = op.shape(x);
  for (int64_t axis : *axes)
    if (shape[axis].isConst() && shape[axis].value() != 1)
      return op.error() << "axis " << axis << " has " << shape[axis].value() << " elements, not 1";
  op.setOutput(
      0, axes->empty() ? x : BYCC_TRY(op.call("squeeze", {x}, {{"axis", AttrValue::ints(*axes)}})));
  return {};
}

namespace {

// The new axes are 1, the others take the extents of x in order: position p of
// the result has the one at p less the number of new axes in front of it.
Expected<> unsqueezeAtRunTime(OpContext &op, NodeId x) {
  std::optional<int64_t> declared = op.declaredRank(0);
  NodeId axes = BYCC_TRY(
      runTimeInts(op, 1, "axes", declared ? std::optional(*declared - op.rank(x)) : declared));
  int64_t rank = op.rank(x) + lengthOf(op, axes);
  if (rank > 32)
    return op.error(Status::Limit) << "rank " << rank << ", the limit is 32";
  AxisMask mask = BYCC_TRY(axisMask(op, axes, rank));
  NodeId isNew = BYCC_TRY(op.cast(mask.isAny, DType::Int64));
  NodeId before = BYCC_TRY(op.call("cumsum", {isNew}, {{"axis", 0}}));
  NodeId from = BYCC_TRY(op.call("subtract", {iota(op, rank), before}));
  int64_t one = 1;
  NodeId extents[2] = {BYCC_TRY(extentsOf(op, x)), op.ints({&one, 1})};
  NodeId kept = BYCC_TRY(op.call("take", {BYCC_TRY(join(op, extents)), from}, {{"axis", 0}}));
  NodeId shape = BYCC_TRY(op.call("where", {mask.isAny, op.ints({&one, 1}), kept}));
  op.setOutput(0, BYCC_TRY(reshapeTo(op, x, shape)));
  return {};
}

} // namespace

// Axes count on the result; a run of neighbours is one expand_dims.
Expected<> convertUnsqueeze(OpContext &op) {
  NodeId x = op.input(0);
  if (op.opset() >= 13 && !op.isKnown(1))
    return unsqueezeAtRunTime(op, x);
  std::optional<std::vector<int64_t>> axes = BYCC_TRY(axesOf(op, 1, 13));
  if (!axes)
    return op.error() << "axes are missing";
  int64_t rank = op.rank(x) + static_cast<int64_t>(axes->size());
  if (rank > 32)
    return op.error(Status::Limit) << "rank " << rank << ", the limit is 32";
  *axes = BYCC_TRY(op.normalAxes(*axes, rank));
  std::sort(axes->begin(), axes->end());
  for (size_t i = 0; i < axes->size();) {
    size_t run = 1;
    while (i + run < axes->size() && (*axes)[i + run] == (*axes)[i] + static_cast<int64_t>(run))
      ++run;
    x = BYCC_TRY(op.call("expand_dims", {x},
                         {{"axis", (*axes)[i]}, {"num_newaxis", static_cast<int64_t>(run)}}));
    i += run;
  }
  op.setOutput(0, x);
  return {};
}

Expected<> convertConcat(OpContext &op) {
  std::vector<NodeId> parts;
  for (size_t i = 0; i < op.numInputs(); ++i) {
    if (!op.has(i))
      return op.error() << "input " << i << " is missing";
    parts.push_back(op.input(i));
  }
  int64_t axis =
      op.opset() < 4 ? BYCC_TRY(op.intAttr("axis", 1)) : BYCC_TRY(op.requiredInt("axis"));
  axis = BYCC_TRY(op.normalAxis(axis, op.rank(parts[0])));
  if (parts.size() == 1) {
    op.setOutput(0, parts[0]);
    return {};
  }
  op.setOutput(0, BYCC_TRY(op.call("concatenate", {op.tuple(parts)}, {{"axis", axis}})));
  return {};
}

namespace {

// The shape that x and `wanted` broadcast to. An entry of 1 keeps the extent of x;
// which one holds is decided here where it can be.
Expected<NodeId> commonShape(OpContext &op, NodeId x, NodeId wanted, const IntTensor *known) {
  int64_t count = lengthOf(op, wanted), rank = std::max(count, op.rank(x));
  if (rank > 32)
    return op.error(Status::Limit) << "rank " << rank << ", the limit is 32";
  std::vector<Dim> shape = op.shape(x);
  shape.insert(shape.begin(), rank - shape.size(), Dim(1));
  std::vector<int64_t> ones(static_cast<size_t>(rank), 1);
  auto padded = [&](NodeId vector) -> Expected<NodeId> {
    NodeId parts[2] = {op.ints(std::span(ones).first(rank - lengthOf(op, vector))), vector};
    return lengthOf(op, vector) == rank ? Expected<NodeId>(vector) : join(op, parts);
  };
  NodeId extents = BYCC_TRY(padded(BYCC_TRY(extentsOf(op, x))));
  wanted = BYCC_TRY(padded(wanted));
  // [extents, wanted, extents where wanted is 1]
  std::vector<int64_t> from;
  bool isOpen = false;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t at = i - (rank - count);
    std::optional<int64_t> value = at < 0 ? 1 : known ? known->values[at] : std::nullopt;
    bool isOpenHere = !value && shape[i] != Dim(1);
    isOpen = isOpen || isOpenHere;
    from.push_back(i + (value == 1 ? 0 : isOpenHere ? 2 * rank : rank));
  }
  std::vector<NodeId> parts{extents, wanted};
  if (isOpen) {
    NodeId isOne = BYCC_TRY(op.call("equal", {wanted, op.scalar(DType::Int64, 1)}));
    parts.push_back(BYCC_TRY(op.call("where", {isOne, extents, wanted})));
  }
  return pick(op, BYCC_TRY(join(op, parts)), from);
}

} // namespace

Expected<> convertExpand(OpContext &op) {
  NodeId x = op.input(0);
  if (!op.isKnown(1) || !op.isStatic(x)) {
    NodeId wanted = BYCC_TRY(runTimeInts(op, 1, "shape", op.declaredRank(0)));
    const IntTensor *known = op.knownInts(1);
    if (known && static_cast<int64_t>(known->values.size()) != lengthOf(op, wanted))
      known = nullptr;
    op.setOutput(
        0, BYCC_TRY(op.call("dyn.broadcast_to", {x, BYCC_TRY(commonShape(op, x, wanted, known))})));
    return {};
  }
  std::vector<int64_t> wanted = BYCC_TRY(op.constInts(1, "shape"));
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  size_t rank = std::max(wanted.size(), shape.size());
  if (rank > 32)
    return op.error(Status::Limit) << "rank " << rank << ", the limit is 32";
  wanted.insert(wanted.begin(), rank - wanted.size(), 1);
  std::vector<int64_t> padded = shape;
  padded.insert(padded.begin(), rank - shape.size(), 1);
  for (size_t i = 0; i < rank; ++i) {
    if (wanted[i] < 0 || (wanted[i] != padded[i] && wanted[i] != 1 && padded[i] != 1))
      return op.error() << "dim " << padded[i] << " does not broadcast to " << wanted[i];
    wanted[i] = wanted[i] == 1 ? padded[i] : wanted[i];
  }
  op.setOutput(0, wanted == shape ? x
                                  : BYCC_TRY(op.call("broadcast_to", {x},
                                                     {{"shape", AttrValue::ints(wanted)}})));
  return {};
}

namespace {

// Before opset 6 a count for one axis.
Expected<std::vector<int64_t>> tileCounts(OpContext &op) {
  if (op.opset() >= 6)
    return op.constInts(1, "repeats");
  if (!op.has(2))
    return op.error() << "input 2 is missing";
  int64_t count = BYCC_TRY(op.constInt(1, "tiles"));
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.constInt(2, "axis")), op.rank(op.input(0))));
  std::vector<int64_t> repeats(static_cast<size_t>(op.rank(op.input(0))), 1);
  repeats[static_cast<size_t>(axis)] = count;
  return repeats;
}

} // namespace

Expected<> convertTile(OpContext &op) {
  NodeId x = op.input(0);
  if (op.opset() >= 6 && !op.isKnown(1)) {
    NodeId repeats = BYCC_TRY(runTimeInts(op, 1, "repeats", op.rank(x)));
    if (lengthOf(op, repeats) != op.rank(x))
      return op.error() << lengthOf(op, repeats) << " repeats for rank " << op.rank(x);
    op.setOutput(0, BYCC_TRY(op.call("dyn.tile", {x, repeats})));
    return {};
  }
  std::vector<int64_t> repeats = BYCC_TRY(tileCounts(op));
  if (static_cast<int64_t>(repeats.size()) != op.rank(x))
    return op.error() << repeats.size() << " repeats for rank " << op.rank(x);
  for (int64_t count : repeats)
    if (count < 0)
      return op.error() << "repeats has the value " << count;
  op.setOutput(0, BYCC_TRY(op.call("tile", {x}, {{"reps", AttrValue::ints(repeats)}})));
  return {};
}

namespace {

Expected<int64_t> blockSize(OpContext &op) {
  int64_t size = BYCC_TRY(op.requiredInt("blocksize"));
  if (size < 1 || size > 65536)
    return op.error() << "blocksize is " << size;
  return size;
}

} // namespace

// DepthToSpace (a mode since opset 11) and SpaceToDepth (since 28).
Expected<> convertDepthToSpace(OpContext &op) {
  int64_t size = BYCC_TRY(blockSize(op));
  std::string mode = BYCC_TRY(op.textAttr("mode", "DCR"));
  if (mode != "DCR" && mode != "CRD")
    return op.error() << "mode must be DCR or CRD";
  op.setOutput(
      0, BYCC_TRY(op.call(op.relayName(), {op.input(0)}, {{"block_size", size}, {"mode", mode}})));
  return {};
}

Expected<> convertTrilu(OpContext &op) {
  bool upper = BYCC_TRY(op.intAttr("upper", 1)) != 0;
  NodeId k = op.has(1) ? op.input(1) : op.scalar(DType::Int64, 0);
  if (op.rank(k) == 1)
    k = BYCC_TRY(op.reshape(k, {}));
  op.setOutput(0, BYCC_TRY(op.call("trilu", {op.input(0), k}, {{"upper", upper}})));
  return {};
}

} // namespace bycc::onnx
