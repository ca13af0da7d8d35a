// Contractions: finds sums of products of two affine loads, and sorts their axes into
// batch (both operands), rows (broadcast operand only), columns (vector operand
// only) and reduction. Dense, matmul, batched matmul and convolutions of any rank all come
// out as this one form:
//
//   result[batch, row, column] = sum over k of X[batch, row, k] * W[batch, k, column]
//
// How it runs is chosen in ChooseTile.cpp.
#include "LoopSteps.h"

#include <algorithm>
#include <utility>

namespace bycc::loops {
namespace {

// A sum of axes times constants and extents.
bool isAffineIn(const Exprs &exprs, Ref index) {
  for (auto [atom, coefficient] : exprs.affine(index).terms) {
    size_t axes = 0;
    for (Ref factor : exprs.factors(atom)) {
      if (exprs[factor].op != Op::Axis && exprs[factor].op != Op::Dim)
        return false;
      axes += exprs[factor].op == Op::Axis;
    }
    if (axes > 1)
      return false;
  }
  return true;
}

// Does the index step by a's stride as by the whole of b?
bool areAdjacent(Exprs &exprs, Ref index, uint32_t a, uint32_t b) {
  Ref x = exprs.stride(index, a), y = exprs.stride(index, b);
  return x != noRef && y != noRef && x == exprs.mul(y, exprs.extent(b));
}

bool moves(Exprs &exprs, Ref index, uint32_t axis) {
  return exprs.constant(exprs.stride(index, axis)) != 0;
}

struct Sorted {
  std::vector<uint32_t> batch, rows, columns;
};

// `halves`: an axis of the reduction that moves in parts of an element of w.
std::optional<Sorted> sortAxes(Exprs &exprs, const Stage &stage, Ref x, Ref w,
                               uint32_t halves = noAxis) {
  Sorted sorted;
  for (uint32_t axis : stage.axes) {
    bool inX = moves(exprs, x, axis), inW = moves(exprs, w, axis);
    (inX && inW ? sorted.batch : inW ? sorted.columns : sorted.rows).push_back(axis);
    if (!inX && !inW)
      return std::nullopt;
  }
  for (uint32_t axis : stage.reduceAxes)
    if (!moves(exprs, x, axis) || (!moves(exprs, w, axis) && axis != halves))
      return std::nullopt;
  return sorted;
}

// Merges neighbours (a, b) of `axes` when every index steps by a as by extent(b) * b.
void collapse(Kernel &kernel, std::vector<uint32_t> &axes, const std::vector<Ref *> &indices) {
  Exprs &exprs = kernel.exprs;
  for (size_t i = 0; i + 1 < axes.size();) {
    uint32_t a = axes[i], b = axes[i + 1];
    if (!std::all_of(indices.begin(), indices.end(),
                     [&](Ref *index) { return areAdjacent(exprs, *index, a, b); })) {
      ++i;
      continue;
    }
    uint32_t merged = exprs.newAxis(exprs.mul(exprs.extent(a), exprs.extent(b)));
    for (Ref *index : indices)
      *index = exprs.substitute(*index, {{a, exprs.integer(0)}, {b, exprs.axis(merged)}});
    axes[i] = merged;
    axes.erase(axes.begin() + static_cast<ptrdiff_t>(i) + 1);
    i = 0;
  }
}

// Whether the epilogue uses an axis as a value or in an index that is not affine,
// so that axes must stay as they are.
bool epilogueUsesAxes(const Exprs &exprs, Ref body) {
  bool used = false;
  exprs.visit(body, [&](Ref ref) {
    used = used || exprs[ref].op == Op::Axis ||
           (exprs[ref].op == Op::Load && !isAffineIn(exprs, exprs[ref].a));
    return !used && exprs[ref].op != Op::Load;
  });
  return used;
}

// Collapses over contraction operands and the epilogue together.
class Collapser {
public:
  Collapser(Kernel &kernel, Contraction &c) : exprs_(kernel.exprs), c_(c) {
    isFree_ = !epilogueUsesAxes(exprs_, c.epilogue.body);
    exprs_.visit(c.epilogue.body, [&](Ref ref) {
      if (exprs_[ref].op == Op::Load)
        loads_.push_back(ref);
      return exprs_[ref].op != Op::Load;
    });
  }
  bool canMerge(uint32_t a, uint32_t b, bool withOperands) {
    if (!isFree_)
      return false;
    auto agrees = [&](Ref index) { return areAdjacent(exprs_, index, a, b); };
    for (Ref load : loads_)
      if (!agrees(exprs_[load].a))
        return false;
    return agrees(c_.epilogue.store) &&
           (!withOperands || (agrees(c_.broadcast.index) && agrees(c_.vector.index)));
  }
  void mergeAll(std::vector<uint32_t> &axes) {
    for (size_t i = 0; i + 1 < axes.size();) {
      if (!canMerge(axes[i], axes[i + 1], true)) {
        ++i;
        continue;
      }
      uint32_t a = axes[i], b = axes[i + 1];
      uint32_t merged = exprs_.newAxis(exprs_.mul(exprs_.extent(a), exprs_.extent(b)));
      substitute({{a, exprs_.integer(0)}, {b, exprs_.axis(merged)}});
      axes[i] = merged;
      axes.erase(axes.begin() + static_cast<ptrdiff_t>(i) + 1);
      i = 0;
    }
  }

private:
  void substitute(const std::unordered_map<uint32_t, Ref> &axes) {
    for (Ref *ref :
         {&c_.broadcast.index, &c_.vector.index, &c_.epilogue.store, &c_.epilogue.body, &c_.result})
      *ref = exprs_.substitute(*ref, axes);
    loads_.clear();
    exprs_.visit(c_.epilogue.body, [&](Ref ref) {
      if (exprs_[ref].op == Op::Load)
        loads_.push_back(ref);
      return exprs_[ref].op != Op::Load;
    });
  }
  Exprs &exprs_;
  Contraction &c_;
  bool isFree_ = false;
  std::vector<Ref> loads_;
};

// A load, converted to float32 at most.
Ref plainLoad(const Exprs &exprs, Ref ref) {
  const Expr e = exprs[ref];
  if (e.op == Op::Cast && e.type == DType::Float32 && isFloat(exprs.type(e.a)) &&
      sizeInBytes(exprs.type(e.a)) == 2)
    ref = e.a;
  return exprs[ref].op == Op::Load && isAffineIn(exprs, exprs[ref].a) ? ref : noRef;
}

// Pair(first, second) of two loads: the first, and how far the second is behind. It
// may be guarded against the end of an odd axis, which panels know by themselves.
struct PairOf {
  Operand first;
  int64_t stride = 0;
  uint32_t oddAxis = noAxis;
};
std::optional<PairOf> asPair(const Exprs &exprs, Ref ref) {
  const Expr pair = exprs[ref];
  if (pair.op != Op::Pair)
    return std::nullopt;
  PairOf result;
  auto loadOf = [&](Ref value) {
    for (;; value = exprs[value].op == Op::Guard ? exprs[value].b : exprs[value].a) {
      Op op = exprs[value].op;
      if (op == Op::Guard)
        exprs.visit(exprs[value].a, [&](Ref node) {
          if (exprs[node].op == Op::Axis)
            result.oddAxis = static_cast<uint32_t>(exprs[node].i);
          return true;
        });
      else if (op != Op::Cast && op != Op::Reinterpret)
        return value;
    }
  };
  const Expr first = exprs[loadOf(pair.a)], second = exprs[loadOf(pair.b)];
  if (first.op != Op::Load || second.op != Op::Load || first.i != second.i ||
      !isAffineIn(exprs, first.a))
    return std::nullopt;
  Affine a = exprs.affine(first.a), b = exprs.affine(second.a);
  if (a.terms != b.terms)
    return std::nullopt;
  result.first = {static_cast<uint32_t>(first.i), first.a};
  result.stride = b.constant - a.constant;
  return result;
}

// Pairs as they lie in memory: elements of 32 bits, or neighbours of 16 bits.
std::optional<Operand> pairsInMemory(const Exprs &exprs, Ref ref) {
  const Expr e = exprs[ref];
  if (e.op == Op::Load && isAffineIn(exprs, e.a))
    return Operand{static_cast<uint32_t>(e.i), e.a};
  auto pair = asPair(exprs, ref);
  return pair && pair->stride == 1 && pair->oddAxis == noAxis ? std::optional(pair->first)
                                                              : std::nullopt;
}

// A number, or numbers that are loaded, as float32.
bool findZeroPoint(const Exprs &exprs, Ref ref, Decoding &decoding) {
  const Expr e = exprs[exprs[ref].op == Op::Cast ? exprs[ref].a : ref];
  decoding.number = isFloat(e.type) ? e.f : static_cast<double>(e.i);
  if (e.op == Op::Load && isAffineIn(exprs, e.a))
    decoding.zero = Operand{static_cast<uint32_t>(e.i), e.a};
  return e.op == Op::Const || decoding.zero;
}

// A load of 8 bits as float32, or the half of them that an axis says: `halves`.
std::optional<Operand> asFewBits(const Exprs &exprs, Ref ref, uint32_t &halves) {
  if (exprs[ref].op != Op::Cast || exprs[ref].type != DType::Float32)
    return std::nullopt;
  Expr e = exprs[exprs[ref].a];
  if (e.op == Op::And) {
    const Expr shift = exprs[e.a], mask = exprs[e.b];
    if (mask.op != Op::Const || mask.i != 15 || shift.op != Op::Shr ||
        exprs[shift.b].op != Op::Cast || exprs[shift.a].op != Op::Cast)
      return std::nullopt;
    Affine by = exprs.affine(exprs[shift.b].a);
    if (by.constant != 0 || by.terms.size() != 1 || by.terms[0].factor != 4 ||
        exprs[by.terms[0].atom].op != Op::Axis)
      return std::nullopt;
    halves = static_cast<uint32_t>(exprs[by.terms[0].atom].i);
    e = exprs[exprs[shift.a].a];
  }
  if (e.op != Op::Load || sizeInBytes(e.type) != 1 || !isAffineIn(exprs, e.a))
    return std::nullopt;
  return Operand{static_cast<uint32_t>(e.i), e.a};
}

// (element - zero) * scale.
bool findDecoding(const Exprs &exprs, Ref ref, Contraction &c) {
  const Expr product = exprs[ref], difference = exprs[product.a];
  if (product.op != Op::Mul || difference.op != Op::Sub)
    return false;
  const Expr scale = exprs[product.b];
  Decoding decoding;
  auto element = asFewBits(exprs, difference.a, decoding.halves);
  if (!element || !findZeroPoint(exprs, difference.b, decoding) || scale.op != Op::Load ||
      !isAffineIn(exprs, scale.a))
    return false;
  c.vector = *element;
  decoding.scale = {static_cast<uint32_t>(scale.i), scale.a};
  c.decoding = decoding;
  return true;
}

// The two factors, first that which is broadcast, as they stand in the product.
bool findFactors(const Exprs &exprs, const Expr &product, Contraction &c) {
  if (product.op == Op::Mul) {
    Ref a = plainLoad(exprs, product.a), b = plainLoad(exprs, product.b);
    if (a == noRef)
      return false;
    c.broadcast = {static_cast<uint32_t>(exprs[a].i), exprs[a].a};
    if (b == noRef)
      return findDecoding(exprs, product.b, c);
    c.vector = {static_cast<uint32_t>(exprs[b].i), exprs[b].a};
    return true;
  }
  auto pairs = pairsInMemory(exprs, product.a);
  auto pair = asPair(exprs, product.b);
  if (!pairs || !pair)
    return false;
  c.broadcast = *pairs;
  c.vector = pair->first;
  c.isPaired = true;
  c.pairStride = pair->stride;
  c.oddAxis = pair->oddAxis;
  return true;
}

// The constant operand is the packed one; else the one whose own axis is stored contiguously.
bool isBetterSwapped(Kernel &kernel, const Stage &stage, const Operand &x, const Operand &w) {
  Exprs &exprs = kernel.exprs;
  auto isConstant = [&](const Operand &o) { return kernel.buffers[o.buffer].isConstant; };
  auto hasUnitStore = [&](const Operand &o, const Operand &other) {
    for (uint32_t axis : stage.axes)
      if (moves(exprs, o.index, axis) && !moves(exprs, other.index, axis) &&
          exprs.coefficient(stage.store, axis) == 1)
        return true;
    return false;
  };
  return (isConstant(x) && !isConstant(w)) ||
         (!isConstant(w) && !hasUnitStore(w, x) && hasUnitStore(x, w));
}

// Vectors of a constant with few columns are mostly empty: those of the other operand, where it
// lies along its own axis as the result does, may be fuller (the places of a convolution with few
// channels, or few in a group).
bool isBetterAlongRows(Kernel &kernel, const Stage &stage, const Contraction &c,
                       const TargetFacts &facts) {
  constexpr double gain = 1.25; // or more: vectors that begin anywhere are dearer
  Exprs &exprs = kernel.exprs;
  auto isConstant = [&](const Operand &o) { return kernel.buffers[o.buffer].isConstant; };
  auto isSingle = [&](const Operand &o) { return kernel.buffers[o.buffer].type == DType::Float32; };
  auto sorted = sortAxes(exprs, stage, c.broadcast.index, c.vector.index);
  if (!facts.hasMasks || !isConstant(c.vector) || isConstant(c.broadcast) || !isSingle(c.vector) ||
      !isSingle(c.broadcast) || !sorted || sorted->rows.empty() || sorted->columns.empty())
    return false;
  uint32_t along = sorted->rows.back();
  if (exprs.coefficient(stage.store, along) != 1 ||
      exprs.coefficient(c.broadcast.index, along) != 1)
    return false;
  int64_t columns = kernel.likelyExtent(sorted->columns.back()), lanes = kernel.likelyExtent(along);
  double others = 1;
  for (uint32_t axis : sorted->rows)
    others *= axis == along ? 1 : static_cast<double>(kernel.likelyExtent(axis));
  double now = productCycles(facts, columns, static_cast<int64_t>(others) * lanes);
  return gain * others * productCycles(facts, lanes, columns) < now;
}

// Whether panels of all three can be made, whose blocks are outer axes of the reduction; says
// which those are.
bool canDecode(Kernel &kernel, Contraction &c) {
  Exprs &exprs = kernel.exprs;
  Decoding &decoding = *c.decoding;
  std::vector<Operand> parts{decoding.scale};
  if (decoding.zero)
    parts.push_back(*decoding.zero);
  size_t depth = 0;
  for (const Operand &part : parts) {
    for (size_t d = 0; d < c.reduction.size(); ++d)
      depth = moves(exprs, part.index, c.reduction[d]) ? std::max(depth, d + 1) : depth;
    if (!kernel.buffers[part.buffer].isConstant)
      return false;
  }
  decoding.depth = depth;
  return depth < c.reduction.size() && c.batch.empty() && canPackConstant(kernel, c);
}

// Sums run innermost along what lies side by side (channels of NHWC): the steps of a tile then
// share few lines of the cache. Taps of a window inside of channels would read all of its lines
// in turn, and where channels are a power of two these fall on one set.
void sumAlongMemory(const Exprs &exprs, Contraction &c) {
  std::ranges::stable_partition(
      c.reduction, [&](uint32_t axis) { return exprs.coefficient(c.broadcast.index, axis) != 1; });
}

// Whether the axes of a window are still those of the loops, no lanes run along it, and there may
// be something to leave out.
bool isOfUse(const Exprs &exprs, const Contraction &c, const Window &window) {
  std::vector<uint32_t> rows = c.batch;
  rows.insert(rows.end(), {c.outerRow, c.innerRow});
  // How near the border tiles are is not known of open extents, and bounds that are computed cost
  // more than a row of steps at it: there only taps that are far apart are worth them.
  bool holds = std::ranges::count(c.reduction, window.tap) == 1 &&
               (window.dilation > 1 || exprs.constant(window.elements));
  for (uint32_t row : {c.outerRow, c.innerRow})
    holds = holds && (row == noAxis || exprs.coefficient(window.first, row));
  exprs.visit(window.first, [&](Ref ref) {
    const Expr &e = exprs[ref];
    holds = holds && (e.op != Op::Axis || std::ranges::count(rows, static_cast<uint32_t>(e.i)));
    return holds;
  });
  return holds;
}

} // namespace

bool readsAgain(const Exprs &exprs, Ref index, const std::vector<uint32_t> &columns,
                const std::vector<uint32_t> &reduction) {
  int64_t reach = 1, steps = 1;
  for (const auto *axes : {&columns, &reduction})
    for (uint32_t axis : *axes) {
      auto extent = exprs.constantExtent(axis), stride = exprs.coefficient(index, axis);
      if (!extent || !stride)
        return false;
      reach += std::abs(*stride) * (*extent - 1);
      steps *= *extent;
    }
  return reach < steps;
}

std::optional<Contraction> findContraction(Kernel &kernel, const Stage &stage,
                                           const TargetFacts &facts) {
  Exprs &exprs = kernel.exprs;
  const Expr product = exprs[stage.body];
  // Without a reduction axis (an inner extent of 1) it is no sum but a product.
  bool isReal = product.op == Op::Mul && product.type == DType::Float32;
  if (stage.reduce != Reduce::Sum || stage.reduceAxes.empty() ||
      (!isReal && product.op != Op::DotPairs && product.op != Op::DotBFloat16))
    return std::nullopt;
  for (const auto *axes : {&stage.axes, &stage.reduceAxes})
    for (uint32_t axis : *axes)
      if (exprs.constantExtent(axis) == 0) // nothing to tile
        return std::nullopt;
  Contraction c;
  if (!findFactors(exprs, product, c))
    return std::nullopt;
  bool canSwap = isReal && !c.decoding;
  if (canSwap && isBetterSwapped(kernel, stage, c.broadcast, c.vector))
    std::swap(c.broadcast, c.vector);
  if (canSwap && isBetterAlongRows(kernel, stage, c, facts))
    std::swap(c.broadcast, c.vector);
  auto sorted = sortAxes(exprs, stage, c.broadcast.index, c.vector.index,
                         c.decoding ? c.decoding->halves : noAxis);
  if (!sorted || (sorted->columns.empty() && sorted->rows.empty()))
    return std::nullopt;
  // A dot product per result, or a depthwise convolution: rows and batch only, or its
  // windows as columns of one row.
  c.reduction = stage.reduceAxes;
  if (c.decoding)
    std::erase(c.reduction, c.decoding->halves);
  if (sorted->columns.empty() ||
      (sorted->rows.empty() && readsAgain(exprs, c.vector.index, sorted->columns, c.reduction)))
    return std::nullopt;
  c.batch = sorted->batch;
  c.column = sorted->columns.back();
  sorted->columns.pop_back();
  // More column axes run as outer loops.
  c.batch.insert(c.batch.end(), sorted->columns.begin(), sorted->columns.end());
  c.rows = sorted->rows;
  if (c.decoding)
    return canDecode(kernel, c) ? std::optional(c) : std::nullopt;
  c.windows = stage.windows;
  sumAlongMemory(exprs, c);
  if (c.oddAxis == noAxis)
    collapse(kernel, c.reduction, {&c.broadcast.index, &c.vector.index});
  return c;
}

void joinRows(Kernel &kernel, Contraction &c) {
  Exprs &exprs = kernel.exprs;
  std::vector<uint32_t> rows = std::exchange(c.rows, {});
  Collapser collapser(kernel, c);
  collapser.mergeAll(rows);
  if (!rows.empty()) {
    c.innerRow = rows.back();
    rows.pop_back();
  }
  if (!rows.empty()) {
    c.outerRow = rows.back();
    rows.pop_back();
  }
  c.batch.insert(c.batch.end(), rows.begin(), rows.end());
  c.isTransposed =
      exprs.coefficient(c.epilogue.store, c.column) != 1 && exprs.constantExtent(c.column) != 1;
  bool hasKnownRows =
      c.outerRow != noAxis && exprs.constantExtent(c.outerRow) && exprs.constantExtent(c.innerRow);
  c.canJoinRows = hasKnownRows && collapser.canMerge(c.outerRow, c.innerRow, false);
  std::erase_if(c.windows, [&](const Window &window) { return !isOfUse(exprs, c, window); });
}

double insideFraction(const Kernel &kernel, const Contraction &c, const Window &window,
                      int64_t rows, int64_t outerRows) {
  const Exprs &exprs = kernel.exprs;
  Affine first = exprs.affine(window.first);
  int64_t count = 1, stride = 0, each = 1, taps = kernel.likelyExtent(window.tap), inside = 0;
  for (auto [atom, factor] : first.terms)
    if (exprs[atom].op == Op::Axis) {
      auto axis = static_cast<uint32_t>(exprs[atom].i);
      count = kernel.likelyExtent(axis);
      stride = factor;
      each = axis == c.innerRow ? rows : axis == c.outerRow ? outerRows : 1;
    }
  constexpr int64_t far = 64; // windows: of so many the borders are not worth counting
  if (count * stride > far * (taps - 1) * window.dilation)
    return 1;
  int64_t elements = exprs.likely(window.elements, kernel.likelyDims);
  for (int64_t row = 0; row < count; row += each) {
    int64_t here = std::min(each, count - row), begin = first.constant + row * stride,
            last = begin + (here - 1) * stride;
    for (int64_t tap = 0; tap < taps; ++tap)
      if (last + tap * window.dilation >= 0 && begin + tap * window.dilation < elements)
        inside += here;
  }
  return taps * count == 0 ? 1.0 : static_cast<double>(inside) / static_cast<double>(taps * count);
}

} // namespace bycc::loops
