// Sequences of tensors. None is left in the program: what a sequence holds is known
// while importing (Sequence in OnnxImporter.h), or a loop appends to it and its
// elements are the rows that the loop stacks.
#include "OnnxCompose.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <algorithm>

namespace bycc::onnx {
namespace {

using Part = Sequence::Part;

const Sequence &sequenceOf(OpContext &op) {
  return *op.importer().find(op.proto().inputs[0])->sequence;
}

bool hasStack(std::span<const Part> parts) { return std::ranges::any_of(parts, &Part::isStack); }

Expected<> checkReadable(OpContext &op, const Sequence &sequence) {
  if (sequence.isCarried)
    return op.error(Status::Unsup) << "reads a sequence that the loop around it makes";
  return {};
}

// Of a sequence that has some, which is read.
Expected<std::span<const Part>> elementsOf(OpContext &op) {
  const Sequence &sequence = sequenceOf(op);
  BYCC_TRY(checkReadable(op, sequence));
  if (sequence.parts.empty())
    return op.error() << "the sequence has no element";
  return std::span<const Part>(sequence.parts);
}

void setSequence(OpContext &op, std::vector<Part> parts, bool isCarried = false) {
  op.outputs()[0].sequence = std::make_shared<Sequence>(Sequence{std::move(parts), isCarried});
}

// Index of an element, from the end where it is negative; `most` is legal, too.
Expected<size_t> positionOf(OpContext &op, size_t input, size_t most) {
  int64_t given = BYCC_TRY(op.constInt(input, "the position"));
  int64_t count = static_cast<int64_t>(sequenceOf(op).parts.size());
  int64_t at = given < 0 ? given + count : given;
  if (at < 0 || at > static_cast<int64_t>(most))
    return op.error() << "position " << given << " of a sequence of " << count << " elements";
  return static_cast<size_t>(at);
}

Expected<> checkPlaces(OpContext &op, const Sequence &sequence) {
  BYCC_TRY(checkReadable(op, sequence));
  if (hasStack(sequence.parts))
    return op.error(Status::Unsup) << "changes a sequence whose length is known at run time only";
  return {};
}

std::vector<NodeId> nodesOf(std::span<const Part> parts) {
  std::vector<NodeId> nodes;
  for (const Part &part : parts)
    nodes.push_back(part.node);
  return nodes;
}

// Rows [n, ..] one after the other along `axis` of a row.
Expected<NodeId> joinRows(OpContext &op, NodeId rows, int64_t axis) {
  NodeId moved = BYCC_TRY(op.moveAxis(rows, 0, axis));
  // 0: as it is; -3: two in one; -2: the others
  std::vector<int64_t> codes(static_cast<size_t>(axis), 0);
  codes.push_back(-3);
  if (op.rank(moved) > axis + 2)
    codes.push_back(-2);
  return op.call("reshape", {moved}, {{"newshape", AttrValue::ints(codes)}});
}

class Splitter {
public:
  explicit Splitter(OpContext &op) : op_(op), c_(op), x_(op.input(0)) {}

  Expected<> run() {
    axis_ = BYCC_TRY(op_.normalAxis(BYCC_TRY(op_.intAttr("axis", 0)), op_.rank(x_)));
    bool keepDims = BYCC_TRY(op_.intAttr("keepdims", 1)) != 0 || op_.has(1);
    Dim extent = op_.shape(x_)[axis_];
    std::vector<int64_t> sizes{1};
    bool isList = false;
    if (op_.has(1)) {
      isList = op_.rank(op_.input(1)) == 1;
      sizes = BYCC_TRY(op_.constInts(1, "split"));
      if (!isList && (sizes.size() != 1 || sizes[0] < 1))
        return op_.error() << "splits in pieces of no positive size";
    }
    if (!extent.isConst() && !isList && sizes[0] == 1)
      return splitOpen(keepDims);
    if (!extent.isConst())
      return op_.error(Status::Unsup) << "splits an axis whose extent is known at run time only";
    if (!isList) {
      int64_t size = sizes[0];
      sizes.assign(static_cast<size_t>(extent.value() / size), size);
      if (extent.value() % size)
        sizes.push_back(extent.value() % size);
    }
    return splitBy(sizes, extent.value(), keepDims);
  }

private:
  Expected<> splitOpen(bool keepDims) {
    NodeId rows = BYCC_TRY(op_.moveAxis(x_, axis_, 0));
    if (keepDims)
      rows = BYCC_TRY(op_.call("expand_dims", {rows}, {{"axis", axis_ + 1}}));
    setSequence(op_, {{rows, true}});
    return {};
  }

  Expected<> splitBy(const std::vector<int64_t> &sizes, int64_t extent, bool keepDims) {
    std::vector<Part> parts;
    int64_t begin = 0;
    for (int64_t size : sizes) {
      if (size < 0 || size > extent - begin)
        return op_.error() << "splits " << extent << " elements in pieces of other sizes";
      NodeId piece = c_.slice(x_, axis_, begin, begin + size);
      parts.push_back({BYCC_TRY(c_.done(keepDims ? piece : c_.squeeze(piece, {axis_})))});
      begin += size;
    }
    if (begin != extent)
      return op_.error() << "splits " << extent << " elements in pieces of other sizes";
    setSequence(op_, std::move(parts));
    return {};
  }

  OpContext &op_;
  Compose c_;
  NodeId x_;
  int64_t axis_ = 0;
};

} // namespace

bool takesSequence(std::string_view opType, size_t input) {
  if (opType == "Loop")
    return input >= 2;
  static constexpr std::string_view readers[] = {"ConcatFromSequence", "Identity",
                                                 "SequenceAt",         "SequenceErase",
                                                 "SequenceInsert",     "SequenceLength"};
  return input == 0 && std::ranges::find(readers, opType) != std::end(readers);
}

bool needsSequence(std::string_view opType, size_t input) {
  return takesSequence(opType, input) && opType != "Loop" && opType != "Identity";
}

Expected<> convertSequenceEmpty(OpContext &op) {
  op.ignoreAttr("dtype");
  setSequence(op, {});
  return {};
}

Expected<> convertSequenceConstruct(OpContext &op) {
  std::vector<Part> parts;
  for (size_t i = 0; i < op.numInputs(); ++i)
    parts.push_back({op.input(i)});
  setSequence(op, std::move(parts));
  return {};
}

Expected<> convertSequenceInsert(OpContext &op) {
  const Sequence &sequence = sequenceOf(op);
  std::vector<Part> parts = sequence.parts;
  size_t at = parts.size();
  if (op.has(2)) {
    BYCC_TRY(checkPlaces(op, sequence));
    at = BYCC_TRY(positionOf(op, 2, parts.size()));
  }
  parts.insert(parts.begin() + static_cast<ptrdiff_t>(at), {op.input(1)});
  setSequence(op, std::move(parts), sequence.isCarried);
  return {};
}

Expected<> convertSequenceErase(OpContext &op) {
  const Sequence &sequence = sequenceOf(op);
  BYCC_TRY(checkPlaces(op, sequence));
  std::vector<Part> parts = sequence.parts;
  if (parts.empty())
    return op.error() << "nothing is left to erase";
  size_t at = op.has(1) ? BYCC_TRY(positionOf(op, 1, parts.size() - 1)) : parts.size() - 1;
  parts.erase(parts.begin() + static_cast<ptrdiff_t>(at));
  setSequence(op, std::move(parts));
  return {};
}

// At a place that is known at run time only: of elements of one type, which are stacked.
Expected<> convertSequenceAt(OpContext &op) {
  std::span<const Part> parts = BYCC_TRY(elementsOf(op));
  if (!hasStack(parts) && op.isKnown(1)) {
    op.setOutput(0, parts[BYCC_TRY(positionOf(op, 1, parts.size() - 1))].node);
    return {};
  }
  NodeId rows = parts[0].node;
  if (!parts[0].isStack || parts.size() > 1) {
    for (const Part &part : parts)
      if (part.isStack || op.module().type(part.node) != op.module().type(rows))
        return op.error(Status::Unsup)
               << "reads at a place known at run time only from elements of several types";
    rows = BYCC_TRY(op.call("stack", {op.tuple(nodesOf(parts))}, {{"axis", 0}}));
  }
  NodeId at = BYCC_TRY(runTimeInt(op, 1, "the position"));
  op.setOutput(0, BYCC_TRY(op.call("take", {rows, at}, {{"axis", 0}, {"mode", "error"}})));
  return {};
}

Expected<> convertSequenceLength(OpContext &op) {
  const Sequence &sequence = sequenceOf(op);
  BYCC_TRY(checkReadable(op, sequence));
  int64_t known =
      std::ranges::count_if(sequence.parts, [](const Part &part) { return !part.isStack; });
  if (!hasStack(sequence.parts)) {
    op.setOutputInts(0, {DType::Int64, true, {known}});
    return {};
  }
  NodeId length = op.scalar(DType::Int64, static_cast<double>(known));
  for (const Part &part : sequence.parts)
    if (part.isStack)
      length = BYCC_TRY(op.call("add", {length, BYCC_TRY(extentOf(op, part.node, 0))}));
  op.setOutput(0, length);
  return {};
}

Expected<> convertConcatFromSequence(OpContext &op) {
  std::span<const Part> parts = BYCC_TRY(elementsOf(op));
  bool isNew = BYCC_TRY(op.intAttr("new_axis", 0)) != 0;
  int64_t rank = op.rank(parts[0].node) - (parts[0].isStack ? 1 : 0) + (isNew ? 1 : 0);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.requiredInt("axis")), rank));
  std::vector<NodeId> joined;
  for (const Part &part : parts)
    if (!part.isStack)
      joined.push_back(isNew ? BYCC_TRY(op.call("expand_dims", {part.node}, {{"axis", axis}}))
                             : part.node);
    else
      joined.push_back(
          BYCC_TRY(isNew ? op.moveAxis(part.node, 0, axis) : joinRows(op, part.node, axis)));
  op.setOutput(0, joined.size() == 1
                      ? joined[0]
                      : BYCC_TRY(op.call("concatenate", {op.tuple(joined)}, {{"axis", axis}})));
  return {};
}

Expected<> convertSplitToSequence(OpContext &op) { return Splitter(op).run(); }

} // namespace bycc::onnx
