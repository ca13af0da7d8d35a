// What the operator definitions (one file per family) share: the call as a
// definition sees it, element access across dtypes, and index walks.
#pragma once

#include "bycc/Eval/Eval.h"
#include "bycc/Support/Layout.h"

#include <numeric>
#include <string_view>

namespace bycc::eval {

using Ints = std::vector<int64_t>;
// Holds every value of every integer dtype, and all sums and products of two.
__extension__ typedef __int128 Wide;

// Type of one result tensor. A shape that depends on data is left to the
// definition (isKnown = false).
struct ResultType {
  DType dtype;
  Ints shape;
  bool isKnown;
};

class KernelContext {
public:
  KernelContext(const Module &module, NodeId call, std::span<const Value> operands,
                std::vector<ResultType> results)
      : module_(module), call_(call), operands_(operands), results_(std::move(results)) {}

  const Module &module() const { return module_; }
  NodeId call() const { return call_; }
  OpId op() const { return module_.node(call_).op; }
  size_t numInputs() const { return operands_.size(); }
  const Tensor &input(size_t index) const { return operands_[index].tensor(); }
  const Value &value(size_t index) const { return operands_[index]; }
  // Fields of a tuple operand, all tensors.
  std::vector<Tensor> tuple(size_t index) const { return operands_[index].flatten(); }
  // Flattened result types.
  const std::vector<ResultType> &results() const { return results_; }
  const ResultType &result(size_t index = 0) const { return results_[index]; }

  bool isNone(std::string_view key) const { return attrs::isNone(module_, call_, key); }
  bool boolean(std::string_view key) const { return attrs::boolean(module_, call_, key); }
  int64_t integer(std::string_view key) const { return attrs::integer(module_, call_, key); }
  double number(std::string_view key) const { return attrs::number(module_, call_, key); }
  std::string_view text(std::string_view key) const { return attrs::text(module_, call_, key); }
  Ints integers(std::string_view key) const { return attrs::integers(module_, call_, key); }
  const AttrValue &attr(std::string_view key) const { return *module_.attr(call_, key); }
  std::vector<std::pair<int64_t, int64_t>> pairs(std::string_view key) const {
    return attrs::pairs(module_, call_, key);
  }
  size_t axis(std::string_view key, size_t rank) const {
    return attrs::axis(module_, call_, key, rank);
  }
  Padding padding(size_t rank) const { return attrs::padding(module_, call_, rank); }

  // The same call on other operands, for definitions in terms of other operators.
  KernelContext with(std::span<const Value> operands, std::vector<ResultType> results) const {
    return KernelContext(module_, call_, operands, std::move(results));
  }

  // An error at the call, the operator's name in front.
  ErrorBuilder error(Status status = Status::Input) const;

private:
  const Module &module_;
  NodeId call_;
  std::span<const Value> operands_;
  std::vector<ResultType> results_;
};

using Kernel = Expected<Value> (*)(const KernelContext &);
struct KernelEntry {
  OpId op;
  Kernel kernel;
};

// Null when the operator has no definition.
Kernel kernelOf(OpId op);
// The definition of operators that library kernels compute.
Expected<Value> libraryKernel(const KernelContext &context);

std::span<const KernelEntry> elementwiseKernels();
std::span<const KernelEntry> convolutionKernels();
std::span<const KernelEntry> imageKernels();
std::span<const KernelEntry> indexKernels();
std::span<const KernelEntry> matMulKernels();
std::span<const KernelEntry> movementKernels();
std::span<const KernelEntry> normalizeKernels();
std::span<const KernelEntry> poolingKernels();
std::span<const KernelEntry> qnnKernels();
std::span<const KernelEntry> qnnArithmeticKernels();
std::span<const KernelEntry> reduceKernels();
std::span<const KernelEntry> sortKernels();

// --- elements

void loadReals(const Tensor &from, int64_t begin, int64_t count, double *to);
void loadInts(const Tensor &from, int64_t begin, int64_t count, Wide *to);
// Element by element into bytes of `dtype`; reals to integers truncate and stay
// in range, integers wrap.
void storeReals(DType dtype, uint8_t *data, int64_t begin, int64_t count, const double *from);
void storeInts(DType dtype, uint8_t *data, int64_t begin, int64_t count, const Wide *from);

// All elements in the number type a definition computes in: double for floats,
// Wide for integers and bool, uint64_t for sums of products of integers.
template <typename T> std::vector<T> load(const Tensor &tensor);
template <> std::vector<double> load(const Tensor &tensor);
template <> std::vector<Wide> load(const Tensor &tensor);
template <> std::vector<uint64_t> load(const Tensor &tensor);
Expected<Value> store(const ResultType &type, const std::vector<double> &values);
Expected<Value> store(const ResultType &type, const std::vector<Wide> &values);
Expected<Value> store(const ResultType &type, const std::vector<uint64_t> &values);
Expected<Value> store(DType dtype, Ints shape, const std::vector<Wide> &values);
// Integers of an index, shape or axis operand.
Ints loadIndices(const Tensor &tensor);

// Elements of a shape; call only for shapes of existing tensors and checked results.
int64_t count(std::span<const int64_t> shape);
Ints rowStrides(std::span<const int64_t> shape);
// Strides of a tensor broadcast to `rank` axes: 0 where it repeats.
Ints broadcastStrides(std::span<const int64_t> shape, size_t rank);

// Walks all indices of a shape in row-major order and keeps the offset into
// several operands with given strides.
class IndexWalk {
public:
  IndexWalk(std::span<const int64_t> shape, std::vector<Ints> strides)
      : shape_(shape.begin(), shape.end()), strides_(std::move(strides)),
        offsets_(strides_.size(), 0), index_(shape_.size(), 0) {}
  int64_t offset(size_t operand = 0) const { return offsets_[operand]; }
  const Ints &index() const { return index_; }
  void next() {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      for (size_t k = 0; k < strides_.size(); ++k)
        offsets_[k] += strides_[k][axis];
      if (++index_[axis] < shape_[axis])
        return;
      for (size_t k = 0; k < strides_.size(); ++k)
        offsets_[k] -= strides_[k][axis] * shape_[axis];
      index_[axis] = 0;
    }
  }

private:
  Ints shape_;
  std::vector<Ints> strides_;
  Ints offsets_;
  Ints index_;
};

// A new tensor whose element at an index is the element of `from` at the offset
// that `map(index)` gives; `fill` (one element, or null for 0) where it is negative.
template <typename Map>
Expected<Tensor> moveElements(const Tensor &from, Ints shape, Map map,
                              const uint8_t *fill = nullptr);
// The same for input 0 of a kernel, into the shape that inference gave.
template <typename Map> Expected<Value> moved(const KernelContext &context, Map map) {
  return Value(BYCC_TRY(moveElements(context.input(0), context.result().shape, map)));
}
inline int64_t dot(const Ints &index, const Ints &strides) {
  return std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0});
}
// The same bytes under another shape.
Tensor withShape(const Tensor &tensor, Ints shape);

// Extents by letter ("NCHW") of a shape in a layout, blocks multiplied in.
Ints logicalShape(const Layout &layout, std::string_view letters, std::span<const int64_t> shape);
// Offset in a tensor of `layout` and `shape` of the element at `index` by letters.
int64_t layoutOffset(const Layout &layout, std::string_view letters, std::span<const int64_t> shape,
                     std::span<const int64_t> index);
// Elements in the order of the letters, plain; and back (padding of blocks is 0).
Expected<Tensor> toPlain(const Tensor &tensor, const Layout &layout, std::string_view letters);
Expected<Tensor> fromPlain(const Tensor &plain, const Layout &layout, std::string_view letters,
                           const Ints &shape);

template <typename Map>
Expected<Tensor> moveElements(const Tensor &from, Ints shape, Map map, const uint8_t *fill) {
  uint8_t *data = nullptr;
  Tensor result = BYCC_TRY(Tensor::make(from.dtype, shape, data));
  size_t size = static_cast<size_t>(sizeInBytes(from.dtype));
  IndexWalk walk(shape, {});
  for (int64_t i = 0, n = count(shape); i < n; ++i, walk.next()) {
    int64_t offset = map(walk.index());
    const uint8_t *source =
        offset < 0 ? fill : from.bytes.get() + static_cast<size_t>(offset) * size;
    if (source)
      std::copy(source, source + size, data + static_cast<size_t>(i) * size);
  }
  return result;
}

} // namespace bycc::eval
