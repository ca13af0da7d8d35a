// Type rules of signals, determinants and sparse matrices.

#include "Shape.h"

#include "bycc/IR/Module.h"

namespace bycc::shape {
namespace {

Expected<> checkFloat(InferContext &context, const TensorInput &x, std::string_view what) {
  if (!isFloat(x.dtype))
    return context.error() << what << " holds floats, got " << name(x.dtype);
  return {};
}

// Operands data, indices, indptr of a sparse matrix, from `first` on.
struct SparseInput {
  TensorInput data, indices, starts;
  Dim blockRows = Dim(1), blockColumns = Dim(1);
  Dim rows = Dim::unknown();
};

Expected<SparseInput> sparseInput(InferContext &context, size_t first) {
  TypeTable &types = context.module().types;
  SparseInput s{BYCC_TRY(tensorInput(context, first)), BYCC_TRY(tensorInput(context, first + 1)),
                BYCC_TRY(tensorInput(context, first + 2))};
  BYCC_TRY(checkFloat(context, s.data, "data"));
  BYCC_TRY(checkInt(context, s.indices.dtype, "indices"));
  BYCC_TRY(checkDType(context, s.starts.dtype, s.indices.dtype, "indptr"));
  if (s.data.rank() != 1 && s.data.rank() != 3)
    return context.error() << "data has rank 1 (CSR) or 3 (BSR), got " << types.str(s.data.type);
  BYCC_TRY(checkRank(context, s.indices, 1, "indices"));
  BYCC_TRY(checkRank(context, s.starts, 1, "indptr"));
  BYCC_TRY(unifyDim(context, s.indices.shape[0], s.data.shape[0], "the number of indices"));
  if (s.starts.shape[0] == Dim(0))
    return context.error() << "indptr has at least 1 element";
  if (s.data.rank() == 3) {
    s.blockRows = s.data.shape[1];
    s.blockColumns = s.data.shape[2];
  }
  s.rows = types.mul(types.sub(s.starts.shape[0], Dim(1)), s.blockRows);
  return s;
}

} // namespace

Expected<TypeId> dftOf(InferContext &context) {
  TensorInput re = BYCC_TRY(tensorInput(context, 0)), im = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkFloat(context, re, "re"));
  BYCC_TRY(checkDType(context, im.dtype, re.dtype, "im"));
  if (re.rank() < 1)
    return context.error() << "re has rank 1 or more, got a scalar";
  BYCC_TRY(checkRank(context, im, re.rank(), "im"));
  for (size_t d = 0; d < re.rank(); ++d)
    BYCC_TRY(unifyDim(context, im.shape[d], re.shape[d], "an extent of im"));
  return context.module().types.tuple(std::vector<TypeId>{re.type, re.type});
}

Expected<TypeId> stftOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0)), window = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkFloat(context, x, "x"));
  BYCC_TRY(checkRank(context, x, 2, "x"));
  BYCC_TRY(checkDType(context, window.dtype, x.dtype, "window"));
  BYCC_TRY(checkRank(context, window, 1, "window"));
  int64_t size = context.integer("n_fft"), hop = context.integer("hop_length");
  int64_t length = context.isNone("win_length") ? size : context.integer("win_length");
  BYCC_TRY(checkPositive(context, Ints{size, hop, length}, "n_fft, hop_length and win_length"));
  if (length > size)
    return context.error() << "win_length is at most n_fft, got " << length << " and " << size;
  BYCC_TRY(unifyDim(context, window.shape[0], Dim(length), "the length of window"));
  Dim frames = BYCC_TRY(windowExtent(context, x.shape[1], Window{size, hop, 1, 0, 0, false}, "1"));
  Dim bins(context.boolean("onesided") ? size / 2 + 1 : size);
  return tensorType(context, x.dtype, Shape{x.shape[0], bins, frames, Dim(2)});
}

Expected<TypeId> determinant(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkFloat(context, x, "x"));
  if (x.rank() < 2)
    return context.error() << "x holds matrices, got " << context.module().types.str(x.type);
  BYCC_TRY(
      unifyDim(context, x.shape[x.rank() - 1], x.shape[x.rank() - 2], "the number of columns"));
  return tensorType(context, x.dtype, x.shape.first(x.rank() - 2));
}

Expected<TypeId> sparseDense(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  SparseInput sparse = BYCC_TRY(sparseInput(context, 1));
  BYCC_TRY(checkDType(context, x.dtype, sparse.data.dtype, "x"));
  BYCC_TRY(checkRank(context, x, 2, "x"));
  if (context.boolean("sparse_lhs"))
    return tensorType(context, x.dtype, Shape{sparse.rows, x.shape[0]});
  return tensorType(context, x.dtype, Shape{x.shape[0], sparse.rows});
}

Expected<TypeId> sparseAdd(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  SparseInput sparse = BYCC_TRY(sparseInput(context, 1));
  BYCC_TRY(checkDType(context, x.dtype, sparse.data.dtype, "x"));
  BYCC_TRY(checkRank(context, x, 2, "x"));
  BYCC_TRY(checkRank(context, sparse.data, 1, "data"));
  BYCC_TRY(unifyDim(context, sparse.rows, x.shape[0], "the number of rows of the sparse matrix"));
  return x.type;
}

// Square matrices only: their transpose has as many rows.
Expected<TypeId> sparseTranspose(InferContext &context) {
  SparseInput sparse = BYCC_TRY(sparseInput(context, 0));
  BYCC_TRY(checkRank(context, sparse.data, 1, "data"));
  return context.module().types.tuple(
      std::vector<TypeId>{sparse.data.type, sparse.indices.type, sparse.starts.type});
}

} // namespace bycc::shape
