// Products: dense, matmul and batched matmul, as a sum of products with affine
// indices; convolutions (LowerConvolution.cpp) come out as the same form.
#include "LowerProducts.h"
#include "bycc/Loops/TargetFacts.h"

namespace bycc::loops {
namespace {

bool isNarrowFloat(DType type) { return type == DType::Float16 || type == DType::BFloat16; }

// The 16 bits of an element, in an int32.
Ref bitsOf(OpLowering &op, Ref element) {
  if (isFloat(op.x.type(element)))
    element = op.x.reinterpret(element, DType::UInt16);
  return op.x.cast(element, DType::Int32);
}

// Of a tensor, along dim `d`.
Ref pairAt(OpLowering &op, const Tensor &a, Indices at, size_t d, int64_t depth) {
  return pairOf(op, at[d], depth, [&](Ref k) {
    at[d] = k;
    return op.at(a, at);
  });
}

} // namespace

ProductForm productForm(OpLowering &op, const Tensor &a, const Tensor &w, int64_t depth) {
  bool isConstant = w.buffer < op.k.buffers.size() && op.k.buffers[w.buffer].isConstant;
  bool isReal = a.type == DType::BFloat16 && w.type == DType::BFloat16 &&
                multipliesBFloat16(op.dims.around.target());
  auto isShort = [](DType type) {
    return type == DType::Int8 || type == DType::UInt8 || type == DType::Int16;
  };
  bool isInteger =
      op.resultDType() == DType::Int32 && isShort(a.type) && isShort(w.type) && isConstant;
  if (depth >= 2 && (isInteger || isReal))
    return ProductForm::Paired;
  return isNarrowFloat(a.type) && isNarrowFloat(w.type) ? ProductForm::Widened : ProductForm::Plain;
}

int64_t stepsOf(ProductForm form, int64_t depth) {
  return form == ProductForm::Paired ? (depth + 1) / 2 : depth;
}

Ref pairOf(OpLowering &op, Ref i, int64_t depth, const std::function<Ref(Ref)> &element) {
  Ref first = op.x.times(i, 2), second = op.x.plus(first, 1);
  Ref low = bitsOf(op, element(first)), high = bitsOf(op, element(second));
  if (depth % 2 != 0)
    high = op.x.guard(op.op2(Op::Lt, second, op.x.integer(depth)), high,
                      op.x.integer(0, DType::Int32));
  return op.op2(Op::Pair, low, high);
}

bool holdsPairs(OpLowering &op, const Tensor &a, size_t d, int64_t depth) {
  return isFloat(a.type) && depth % 2 == 0 && d + 1 == a.rank() && a.number == noRef &&
         op.extent(a, d) == depth;
}

Tensor widened(OpLowering &op, const Tensor &a) {
  return op.map(
      DType::Float32, a.shape,
      [&](const Indices &i) { return op.x.cast(op.at(a, i), DType::Float32); }, true);
}

Factor leftFactor(OpLowering &op, const Tensor &a, size_t d, int64_t depth, ProductForm form) {
  Tensor source = a;
  if (form == ProductForm::Widened)
    source = widened(op, a);
  if (form == ProductForm::Paired && holdsPairs(op, a, d, depth))
    return [&op, a, d, depth](const Indices &at) { return pairAt(op, a, at, d, depth); };
  if (form == ProductForm::Paired) {
    std::vector<Ref> shape = a.shape;
    shape[d] = op.x.integer(stepsOf(form, depth));
    source = op.map(
        DType::Int32, shape, [&](const Indices &at) { return pairAt(op, a, at, d, depth); }, true);
  }
  return [&op, source](const Indices &at) { return op.at(source, at); };
}

Factor rightFactor(OpLowering &op, const Tensor &w, size_t d, int64_t depth, ProductForm form) {
  bool isPaired = form == ProductForm::Paired;
  return [&op, w, d, depth, isPaired](const Indices &at) {
    return isPaired ? pairAt(op, w, at, d, depth) : op.at(w, at);
  };
}

Expected<>
addProduct(OpLowering &op, const std::vector<Ref> &shape, const std::vector<Ref> &iteration,
           const std::vector<Ref> &reduction, const std::function<Indices(const Indices &)> &place,
           const std::function<std::pair<Ref, Ref>(const Indices &, const Indices &)> &factors,
           const Windows &windows) {
  DType type = op.resultDType();
  DType wide = accumulator(type);
  Tensor sum = op.temp(wide, shape);
  Stage stage;
  stage.buffer = sum.buffer;
  stage.reduce = Reduce::Sum;
  Indices i = op.k.axesOver(iteration, stage.axes);
  Indices r = op.k.axesOver(reduction, stage.reduceAxes);
  auto [a, b] = factors(i, r);
  if (op.x[b].op == Op::Pair)
    stage.body = op.op2(isFloat(wide) ? Op::DotBFloat16 : Op::DotPairs, a, b);
  else
    stage.body = op.op2(Op::Mul, op.x.cast(a, wide), op.x.cast(b, wide));
  stage.store = op.k.flat(sum.buffer, place(i));
  if (windows)
    stage.windows = windows(i, r);
  op.k.stages.push_back(std::move(stage));
  if (wide == type)
    op.results.push_back(sum);
  else
    op.results.push_back(
        op.map(type, shape, [&](const Indices &at) { return op.x.narrow(op.at(sum, at), type); }));
  return {};
}

namespace {

// The extent that is summed over, known where one operand tells it.
Ref commonDepth(OpLowering &op, Ref a, Ref b) {
  op.requireEqual(b, a, "the summed axis of the second operand");
  return op.x.constant(b) ? b : a;
}

Indices unmoved(const Indices &i) { return i; }

Expected<> lowerDense(OpLowering &op) {
  const Tensor &a = op.input(0), &w = op.input(1);
  std::vector<Ref> likely = a.shape;
  likely.back() = w.shape[0];
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  Ref summed = commonDepth(op, a.shape.back(), w.shape[1]);
  int64_t depth = op.x.constant(summed).value_or(0);
  ProductForm form = productForm(op, a, w, depth);
  Factor left = leftFactor(op, a, a.rank() - 1, depth, form),
         right = rightFactor(op, w, 1, depth, form);
  Ref steps = depth ? op.x.integer(stepsOf(form, depth)) : summed;
  return addProduct(op, shape, shape, {steps}, unmoved, [&](const Indices &i, const Indices &r) {
    Indices at(i.begin(), i.end() - 1);
    at.push_back(r[0]);
    return std::pair{left(at), right({i.back(), r[0]})};
  });
}

// A sum over blocks, the bytes of a block, and the halves of a byte where there are two.
Expected<> lowerDenseWeightOnly(OpLowering &op) {
  const Tensor &a = op.input(0), &w = op.input(1), &scale = op.input(2), &zero = op.input(3);
  int64_t perByte = op.integer("bits") == 4 ? 2 : 1, blocks = *op.extent(scale, 1),
          bytes = *op.extent(w, 1) / blocks;
  std::vector<Ref> likely = a.shape;
  likely.back() = w.shape[0];
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  op.requireEqual(a.shape.back(), op.x.integer(blocks * bytes * perByte),
                  "the summed axis of the first operand");
  std::vector<Ref> reduction{op.x.integer(blocks), op.x.integer(bytes)};
  if (perByte == 2)
    reduction.push_back(op.x.integer(perByte));
  auto real = [&](Ref value) { return op.x.cast(value, DType::Float32); };
  return addProduct(op, shape, shape, reduction, unmoved, [&](const Indices &i, const Indices &r) {
    Ref column = i.back(), byte = op.x.add(op.x.times(r[0], bytes), r[1]);
    Ref value = op.at(w, {column, byte}), k = byte;
    if (perByte == 2) {
      Ref shift = op.x.cast(op.x.times(r[2], 4), DType::Int32);
      value = op.op2(Op::And, op.op2(Op::Shr, op.x.cast(value, DType::Int32), shift),
                     op.x.integer(15, DType::Int32));
      k = op.x.add(op.x.times(byte, perByte), r[2]);
    }
    Ref none = op.at(zero, zero.rank() == 0 ? Indices{} : Indices{column, r[0]});
    Indices at(i.begin(), i.end() - 1);
    at.push_back(k);
    return std::pair{op.at(a, at), op.op2(Op::Mul, op.op2(Op::Sub, real(value), real(none)),
                                          op.at(scale, {column, r[0]}))};
  });
}

// Two matrices, or batches of them; a batch of one is shared.
// (.., M, K) or (K) times (K, N) or, for batches of products, (.., K, N).
Expected<> lowerMatmul(OpLowering &op) {
  const Tensor &a = op.input(0), &b = op.input(1);
  bool ta = op.boolean("transpose_a"), tb = op.boolean("transpose_b");
  size_t rows = a.rank() > 1 ? 1 : 0, batch = a.rank() - 1 - rows, batchOfB = b.rank() - 2;
  std::vector<Ref> likely(a.shape.begin(), a.shape.begin() + static_cast<ptrdiff_t>(batch));
  for (size_t d = 0; d < batchOfB; ++d)
    likely[d] = op.broadcastExtent(likely[d], b.shape[d]);
  if (rows)
    likely.push_back(a.shape[ta ? batch + 1 : batch]);
  likely.push_back(b.shape[tb ? batchOfB : batchOfB + 1]);
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  size_t depthOfA = ta ? batch : batch + rows, depthOfB = tb ? batchOfB + 1 : batchOfB;
  Ref summed = commonDepth(op, a.shape[depthOfA], b.shape[depthOfB]);
  int64_t depth = op.x.constant(summed).value_or(0);
  ProductForm form = productForm(op, a, b, depth);
  Factor left = leftFactor(op, a, depthOfA, depth, form),
         right = rightFactor(op, b, depthOfB, depth, form);
  Ref steps = depth ? op.x.integer(stepsOf(form, depth)) : summed;
  return addProduct(op, shape, shape, {steps}, unmoved, [&](const Indices &i, const Indices &r) {
    auto indices = [&](const Tensor &tensor, size_t leading, std::initializer_list<Ref> last) {
      Indices at;
      for (size_t d = 0; d < leading; ++d)
        at.push_back(op.broadcastIndex(tensor.shape[d], i[d]));
      at.insert(at.end(), last);
      return at;
    };
    Ref n = i[batch + rows], kk = r[0];
    auto ofA = [&] {
      return ta ? indices(a, batch, {kk, i[batch]}) : indices(a, batch, {i[batch], kk});
    };
    return std::pair{left(rows ? ofA() : Indices{kk}),
                     right(tb ? indices(b, batchOfB, {n, kk}) : indices(b, batchOfB, {kk, n}))};
  });
}

} // namespace

void addContractionLowerings(LowerTable &table) {
  table[ops::nn_dense.index] = lowerDense;
  table[ops::nn_dense_weight_only.index] = lowerDenseWeightOnly;
  table[ops::nn_matmul.index] = lowerMatmul;
  table[ops::nn_batch_matmul.index] = lowerMatmul;
  addConvolutionLowerings(table);
}

} // namespace bycc::loops
