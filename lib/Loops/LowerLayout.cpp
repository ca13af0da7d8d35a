// Other orders of the same elements: layouts with inner blocks, blocks of space as
// batches, matrices with other diagonals, a buffer that moves on.
#include "OpLowering.h"

namespace bycc::loops {
namespace {

// The index by letter of a position in a layout: outer part times block plus inner.
std::map<char, Ref> indexByLetter(OpLowering &op, const Layout &layout, const Indices &i) {
  std::map<char, Ref> result;
  for (size_t d = 0; d < layout.rank(); ++d) {
    const Layout::Axis &axis = layout.axes()[d];
    auto [it, isNew] = result.try_emplace(axis.letter, i[d]);
    if (!isNew)
      it->second = op.x.add(op.x.times(it->second, axis.block), i[d]);
  }
  return result;
}

// Where an element with these indices by letter stands in a layout.
Indices place(OpLowering &op, const Layout &layout, std::map<char, Ref> byLetter) {
  Indices at(layout.rank());
  for (size_t d = layout.rank(); d-- > 0;) { // inner blocks first
    const Layout::Axis &axis = layout.axes()[d];
    Ref &rest = byLetter.at(axis.letter);
    at[d] = axis.block == 0 ? rest : op.op2(Op::FloorMod, rest, op.x.integer(axis.block));
    if (axis.block)
      rest = op.op2(Op::FloorDiv, rest, op.x.integer(axis.block));
  }
  return at;
}

Ref extentOf(OpLowering &op, const Layout &layout, const Tensor &a, char letter) {
  Ref extent = op.x.integer(1);
  for (size_t d = 0; d < layout.rank(); ++d)
    if (layout.axes()[d].letter == letter)
      extent = op.x.mul(extent, a.shape[d]);
  return extent;
}

// Elements of blocks beyond the end are 0.
Expected<> lowerLayoutTransform(OpLowering &op) {
  const Tensor &a = op.input(0);
  Layout from = *Layout::parse(op.text("src_layout")), to = *Layout::parse(op.text("dst_layout"));
  std::vector<Ref> likely;
  for (const Layout::Axis &axis : to.axes()) {
    Ref whole = extentOf(op, from, a, axis.letter), block = op.x.integer(to.blockOf(axis.letter));
    likely.push_back(axis.block
                         ? op.x.integer(axis.block)
                         : op.op2(Op::FloorDiv, op.x.plus(op.x.add(whole, block), -1), block));
  }
  return op.mapResult(
      [&](const Indices &i) {
        std::map<char, Ref> byLetter = indexByLetter(op, to, i);
        Ref inside = noRef;
        for (auto [letter, index] : byLetter)
          if (to.blockOf(letter) > 1)
            inside = op.x.both(inside, op.op2(Op::Lt, index, extentOf(op, from, a, letter)));
        Ref value = op.atGuarded(a, place(op, from, byLetter));
        return inside == noRef ? value : op.x.guard(inside, value, op.real(0, a.type));
      },
      likely);
}

// Batch b of the result is batch b mod N of x at an offset in its blocks.
Expected<> lowerSpaceToBatch(OpLowering &op) {
  const Tensor &a = op.input(0);
  std::vector<int64_t> blocks = op.integers("block_shape");
  auto pads = op.pairs("paddings");
  Ref fill = op.real(op.number("pad_value"), a.type);
  return op.mapResult([&](const Indices &i) {
    Indices at = i;
    at[0] = op.op2(Op::FloorMod, i[0], a.shape[0]);
    Ref position = op.op2(Op::FloorDiv, i[0], a.shape[0]), inside = noRef;
    for (size_t s = blocks.size(); s-- > 0;) {
      Ref block = op.x.integer(blocks[s]);
      at[s + 1] = op.x.plus(
          op.x.add(op.x.times(i[s + 1], blocks[s]), op.op2(Op::FloorMod, position, block)),
          -pads[s].first);
      position = op.op2(Op::FloorDiv, position, block);
      if (pads[s].first != 0 || pads[s].second != 0)
        inside = op.x.both(inside, op.x.both(op.op2(Op::Le, op.x.integer(0), at[s + 1]),
                                             op.op2(Op::Lt, at[s + 1], a.shape[s + 1])));
    }
    return inside == noRef ? op.at(a, at) : op.x.guard(inside, op.atGuarded(a, at), fill);
  });
}

Expected<> lowerBatchToSpace(OpLowering &op) {
  const Tensor &a = op.input(0);
  std::vector<int64_t> blocks = op.integers("block_shape");
  auto crops = op.pairs("crops");
  std::vector<Ref> shape = BYCC_TRY(op.resultShape());
  return op.mapResult([&](const Indices &i) {
    Indices at = i;
    Ref position = op.x.integer(0);
    for (size_t s = 0; s < blocks.size(); ++s) {
      Ref whole = op.x.plus(i[s + 1], crops[s].first), block = op.x.integer(blocks[s]);
      at[s + 1] = op.op2(Op::FloorDiv, whole, block);
      position = op.x.add(op.x.times(position, blocks[s]), op.op2(Op::FloorMod, whole, block));
    }
    at[0] = op.x.add(op.x.mul(position, shape[0]), i[0]);
    return op.at(a, at);
  });
}

// Diagonal k holds the elements with column - row = k; shorter ones are aligned to
// an end of the row of `diagonal` that they come from.
Expected<> lowerMatrixSetDiag(OpLowering &op) {
  const Tensor &a = op.input(0), &diagonal = op.input(1);
  int64_t k1 = op.integer("k1"), k2 = op.integer("k2");
  size_t rank = a.rank();
  Ref rows = a.shape[rank - 2], columns = a.shape[rank - 1], zero = op.x.integer(0);
  bool superRight = op.boolean("super_diag_right_align"),
       subRight = op.boolean("sub_diag_right_align");
  return op.mapResult(
      [&](const Indices &i) {
        Ref row = i[rank - 2], column = i[rank - 1], k = op.x.sub(column, row);
        Ref own = op.op2(Op::Min, op.x.add(rows, op.op2(Op::Min, k, zero)),
                         op.x.sub(columns, op.op2(Op::Max, k, zero)));
        Ref skip = op.x.sub(diagonal.shape.back(), own), isSuper = op.op2(Op::Le, zero, k);
        Ref shift = op.x.select(isSuper, superRight ? skip : zero, subRight ? skip : zero);
        Indices from(i.begin(), i.end() - 2);
        if (k1 != k2)
          from.push_back(op.x.sub(op.x.integer(k2), k));
        from.push_back(op.x.add(op.op2(Op::Min, row, column), shift));
        Ref isHit =
            op.x.both(op.op2(Op::Le, op.x.integer(k1), k), op.op2(Op::Le, k, op.x.integer(k2)));
        return op.x.guard(isHit, op.atGuarded(diagonal, from), op.at(a, i));
      },
      a.shape);
}

// The buffer moves towards its begin, x comes in at its end.
Expected<> lowerFifoBuffer(OpLowering &op) {
  const Tensor &a = op.input(0), &buffer = op.input(1);
  size_t axis = op.axis("axis", a.rank());
  return op.mapResult(
      [&](const Indices &i) {
        Ref kept = op.x.sub(buffer.shape[axis], a.shape[axis]);
        Indices fresh = i, old = i;
        fresh[axis] = op.x.sub(i[axis], kept);
        old[axis] = op.x.add(i[axis], a.shape[axis]);
        return op.x.guard(op.op2(Op::Lt, i[axis], kept), op.atGuarded(buffer, old),
                          op.atGuarded(a, fresh));
      },
      buffer.shape);
}

} // namespace

void addLayoutLowerings(LowerTable &table) {
  table[ops::layout_transform.index] = lowerLayoutTransform;
  table[ops::matrix_set_diag.index] = lowerMatrixSetDiag;
  table[ops::nn_batch_to_space_nd.index] = lowerBatchToSpace;
  table[ops::nn_fifo_buffer.index] = lowerFifoBuffer;
  table[ops::nn_space_to_batch_nd.index] = lowerSpaceToBatch;
}

} // namespace bycc::loops
