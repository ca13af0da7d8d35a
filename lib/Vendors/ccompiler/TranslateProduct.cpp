// Products of matrices: dense, matmul, batch_matmul. All are
//
//   out[.., m, n] = sum over k of a[.., m, k] * b[.., n, k]
//
// by strides. C compilers may not reorder a float sum, so the loops are written in
// an order that lets them use vectors as they are: along n where b's elements lie
// side by side there, else along k with sixteen sums that are added up at the end.
#include "Translate.h"

#include <utility>

namespace bycc::ccompiler {

namespace {

constexpr int64_t productTile = 64;  // results held at a time, along n
constexpr int64_t productLanes = 16; // sums held at a time, along k

struct Product {
  Dims out; // extents of the result; the last axis is n
  int64_t k;
  Dims aStrides, bStrides; // along the result's axes
  int64_t aStep, bStep;    // along k
  DType aType, bType, outType;
};

class ProductAnchor : public Anchor {
public:
  ProductAnchor(ValueId a, ValueId b, Product product) : Anchor({a, b}), p_(std::move(product)) {}

  void emit(CWriter &out, const PointerOf &pointer, const Tail &tail) const override {
    size_t depth = out.depth();
    std::vector<std::string> index;
    for (size_t i = 0; i + 1 < p_.out.size(); ++i) {
      index.push_back("i" + std::to_string(i));
      out.loop(index.back(), p_.out[i]);
    }
    std::string a = pointer(reads()[0]), b = pointer(reads()[1]);
    if (p_.bStrides.back() != 1 && p_.aStep == 1 && p_.bStep == 1)
      alongK(out, a, b, index, tail);
    else
      alongN(out, a, b, index, tail);
    out.closeTo(depth);
  }

private:
  // Of a or b, in the type of the sum.
  std::string element(bool isA, const std::string &pointer, int64_t step,
                      std::vector<std::string> index, const std::string &n,
                      const std::string &k) const {
    index.push_back(n);
    index.push_back(k);
    Dims strides = isA ? p_.aStrides : p_.bStrides;
    strides.push_back(step);
    return converted(pointer + "[" + indexText(index, strides) + "]",
                     cType(isA ? p_.aType : p_.bType), sumType(p_.outType));
  }
  std::string cast(const std::string &sum) const {
    return converted(sum, sumType(p_.outType), cType(p_.outType));
  }

  void alongN(CWriter &out, const std::string &a, const std::string &b,
              std::vector<std::string> index, const Tail &tail) const {
    const std::string sum = sumType(p_.outType);
    int64_t width = std::min(productTile, std::max<int64_t>(p_.out.back(), 1));
    std::string size = std::to_string(width);
    out.loop("n0", std::to_string(p_.out.back()), size);
    if (p_.out.back() % width) {
      std::string left = std::to_string(p_.out.back()) + " - n0";
      out.line("const int64_t size = " + left + " < " + size + " ? " + left + " : " + size + ";");
    }
    std::string end = p_.out.back() % width ? "size" : size;
    out.line(sum + " sums[" + size + "] = {0};");
    out.loop("k", p_.k);
    out.line("const " + sum + " a = " + element(true, a, p_.aStep, index, "0", "k") + ";");
    out.loop("n", end);
    out.line("sums[n] += a * " + element(false, b, p_.bStep, index, "n0 + n", "k") + ";");
    out.close();
    out.close();
    out.loop("n", end);
    index.push_back("n0 + n");
    tail(cast("sums[n]"), index);
    out.close();
    out.close();
  }

  void alongK(CWriter &out, const std::string &a, const std::string &b,
              std::vector<std::string> index, const Tail &tail) const {
    const std::string sum = sumType(p_.outType);
    int64_t whole = p_.k / productLanes * productLanes;
    out.loop("n", p_.out.back());
    out.line(sum + " sum = 0;");
    if (whole > 0) {
      out.line(sum + " lane[" + std::to_string(productLanes) + "] = {0};");
      out.loop("k", std::to_string(whole), std::to_string(productLanes));
      out.loop("l", productLanes);
      out.line("lane[l] += " + element(true, a, 1, index, "0", "k + l") + " * " +
               element(false, b, 1, index, "n", "k + l") + ";");
      out.close();
      out.close();
      out.loop("l", productLanes);
      out.line("sum += lane[l];");
      out.close();
    }
    if (whole < p_.k) {
      out.open("for (int64_t k = " + std::to_string(whole) + "; k < " + std::to_string(p_.k) +
               "; ++k)");
      out.line("sum += " + element(true, a, 1, index, "0", "k") + " * " +
               element(false, b, 1, index, "n", "k") + ";");
      out.close();
    }
    index.push_back("n");
    tail(cast("sum"), index);
    out.close();
  }

  Product p_;
};

Expected<> finish(Translator &op, Product product) {
  BYCC_TRY(op.expectOneKind());
  product.aType = op.input(0).dtype;
  product.bType = op.input(1).dtype;
  product.outType = op.output().dtype;
  if (product.aType == DType::Bool || product.bType == DType::Bool ||
      product.outType == DType::Bool)
    return op.refuse() << "not for bool";
  op.anchor(std::make_shared<ProductAnchor>(op.inputId(0), op.inputId(1), std::move(product)));
  return {};
}

// x (.., m, k) or (.., k, m) times weight (n, k) or (k, n).
Expected<> matrix(Translator &op, bool transposeA, bool transposeB) {
  BYCC_TRY(op.expectInputs(2));
  const Dims &x = op.input(0).dims, &weight = op.input(1).dims;
  if (x.empty() || weight.size() != 2 || (transposeA && x.size() < 2))
    return op.refuse() << "operands are " << text(x) << " and " << text(weight);
  size_t last = x.size() - 1;
  Dims plain = x, strides = rowStrides(x);
  if (transposeA) {
    std::swap(plain[last], plain[last - 1]);
    std::swap(strides[last], strides[last - 1]);
  }
  int64_t units = weight[transposeB ? 0 : 1], k = weight[transposeB ? 1 : 0];
  if (plain[last] != k)
    return op.refuse() << "operands are " << text(x) << " and " << text(weight);
  Product p;
  p.k = k;
  p.out = plain;
  p.out[last] = units;
  BYCC_TRY(op.expectOutput(p.out));
  p.aStep = strides[last];
  p.aStrides = strides;
  p.aStrides[last] = 0;
  p.bStrides.assign(p.out.size(), 0);
  p.bStrides[last] = transposeB ? k : 1;
  p.bStep = transposeB ? 1 : units;
  return finish(op, std::move(p));
}

Expected<> dense(Translator &op) { return matrix(op, false, true); }

Expected<> matmul(Translator &op) {
  return matrix(op, op.attributes.flag("transpose_a", false),
                op.attributes.flag("transpose_b", false));
}

// Strides of a (batch, rows, k) operand, transposed or not; a batch of one is
// used for all.
struct Batched {
  int64_t batch, rows, k, batchStride, rowStride, step;
};

Batched batched(const Dims &dims, bool isTransposed) {
  Dims own = rowStrides(dims);
  size_t row = isTransposed ? 2 : 1, step = isTransposed ? 1 : 2;
  return {dims[0], dims[row], dims[step], dims[0] == 1 ? 0 : own[0], own[row], own[step]};
}

Expected<> batchMatmul(Translator &op) {
  BYCC_TRY(op.expectInputs(2));
  const Dims &x = op.input(0).dims, &y = op.input(1).dims;
  if (x.size() != 3 || y.size() != 3)
    return op.refuse() << "operands are " << text(x) << " and " << text(y);
  Batched a = batched(x, op.attributes.flag("transpose_a", false));
  Batched b = batched(y, !op.attributes.flag("transpose_b", false));
  if (a.k != b.k || (a.batch != b.batch && a.batch != 1 && b.batch != 1))
    return op.refuse() << "operands are " << text(x) << " and " << text(y);
  Product p;
  p.out = {a.batch == 1 ? b.batch : a.batch, a.rows, b.rows};
  BYCC_TRY(op.expectOutput(p.out));
  p.k = a.k;
  p.aStrides = {a.batchStride, a.rowStride, 0};
  p.aStep = a.step;
  p.bStrides = {b.batchStride, 0, b.rowStride};
  p.bStep = b.step;
  return finish(op, std::move(p));
}

} // namespace

std::vector<TranslationEntry> productTranslations() {
  return {{"nn.batch_matmul", batchMatmul}, {"nn.dense", dense}, {"nn.matmul", matmul}};
}

} // namespace bycc::ccompiler
