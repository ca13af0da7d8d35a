// Windows and coordinates by index arithmetic. Sorting, running sums and scatters
// are library kernels (IR/LibraryUse.h).
#include "OpLowering.h"

namespace bycc::loops {
namespace {

// Windows along the axes from `axis` on: counts first, then the windows.
Expected<> lowerSlidingWindow(OpLowering &op) {
  const Tensor &a = op.input(0);
  size_t axis = op.axis("axis", a.rank());
  std::vector<int64_t> strides = op.integers("strides"), window = op.integers("window_shape");
  std::vector<Ref> likely = a.shape;
  for (size_t d = axis; d < a.rank(); ++d)
    likely[d] = op.x.plus(op.op2(Op::FloorDiv, op.x.plus(a.shape[d], -window[d - axis]),
                                 op.x.integer(strides[d - axis])),
                          1);
  for (int64_t extent : window)
    likely.push_back(op.x.integer(extent));
  return op.mapResult(
      [&](const Indices &i) {
        Indices at(i.begin(), i.begin() + static_cast<ptrdiff_t>(a.rank()));
        for (size_t d = axis; d < a.rank(); ++d)
          at[d] = op.x.add(op.x.times(i[d], strides[d - axis]), i[a.rank() + d - axis]);
        return op.at(a, at);
      },
      likely);
}

Expected<> lowerUnravelIndex(OpLowering &op) {
  const Tensor &indices = op.input(0), &extents = op.input(1);
  auto rank = op.extent(extents, 0);
  if (!rank)
    return op.unsupported() << "the rank must be known";
  return op.mapResult([&](const Indices &i) {
    Indices at(i.begin() + 1, i.end());
    Ref rest = op.x.cast(op.at(indices, at), DType::Int64), result = noRef;
    for (int64_t d = *rank; d-- > 0;) {
      Ref extent = op.x.cast(op.at(extents, {op.x.integer(d)}), DType::Int64);
      Ref digit = op.op2(Op::FloorMod, rest, extent);
      rest = op.op2(Op::FloorDiv, rest, extent);
      result = result == noRef ? digit
                               : op.x.select(op.op2(Op::Eq, i[0], op.x.integer(d)), digit, result);
    }
    return op.x.cast(result, op.resultDType());
  });
}

} // namespace

void addSelectionLowerings(LowerTable &table) {
  table[ops::sliding_window.index] = lowerSlidingWindow;
  table[ops::unravel_index.index] = lowerUnravelIndex;
}

} // namespace bycc::loops
