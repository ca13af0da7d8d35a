// Products and sums with sparse matrices: values (or blocks), column indices, and
// where each row begins. Losses by index are here too, since they also gather.
#include "Kernel.h"

namespace bycc {
namespace {

// The starts of rows, checked: from 0 to the number of values, never falling.
Expected<Ints> rowStarts(const Operand &starts, int64_t stored) {
  Ints values = allInts(starts);
  for (size_t r = 0; r < values.size(); ++r)
    if (values[r] < (r ? values[r - 1] : 0) || values[r] > stored)
      return error(Status::Arg) << "indptr holds " << values[r] << " at " << r << ", there are "
                                << stored << " values";
  return values;
}

Expected<Ints> columnIndices(const Operand &indices, int64_t columns) {
  Ints values = allInts(indices);
  for (int64_t index : values)
    if (index < 0 || index >= columns)
      return error(Status::Arg) << "column " << index << " is out of range for " << columns
                                << " columns";
  return values;
}

} // namespace

namespace library {

Expected<> sparseDense(LibraryCall &call) {
  Operand x = call.input(0), data = call.input(1), starts = call.input(3);
  bool isBlocks = data.rank() == 3, isLeft = call.attribute(0);
  int64_t high = isBlocks ? data.shape[1] : 1, wide = isBlocks ? data.shape[2] : 1;
  int64_t lines = x.shape[0], depth = x.shape[1], rows = (starts.count() - 1) * high;
  if (wide == 0 || depth % wide != 0)
    return error(Status::Arg) << "rows of " << depth << " elements do not hold blocks of " << wide;
  Ints begins = BYCC_TRY(rowStarts(starts, data.shape[0])),
       columns = BYCC_TRY(columnIndices(call.input(2), depth / wide));
  Operand result =
      isLeft ? BYCC_TRY(call.result(0, {rows, lines})) : BYCC_TRY(call.result(0, {lines, rows}));
  std::vector<double> values = allReals(data);
  call.parallel(lines, 1, [&](int64_t first, int64_t last) {
    std::vector<double> line(static_cast<size_t>(depth));
    for (int64_t m = first; m < last; ++m) {
      loadReals(x, m * depth, 1, line);
      for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int64_t b = begins[static_cast<size_t>(row / high)];
             b < begins[static_cast<size_t>(row / high) + 1]; ++b)
          for (int64_t k = 0; k < wide; ++k)
            sum += values[static_cast<size_t>((b * high + row % high) * wide + k)] *
                   line[static_cast<size_t>(columns[static_cast<size_t>(b)] * wide + k)];
        result.setReal(isLeft ? row * lines + m : m * rows + row, sum);
      }
    }
  });
  return {};
}

Expected<> sparseAdd(LibraryCall &call) {
  Operand x = call.input(0), data = call.input(1), starts = call.input(3);
  if (starts.count() != x.shape[0] + 1)
    return error(Status::Arg) << "the sparse matrix has " << starts.count() - 1
                              << " rows, the dense one " << x.shape[0];
  Ints begins = BYCC_TRY(rowStarts(starts, data.shape[0])),
       columns = BYCC_TRY(columnIndices(call.input(2), x.shape[1]));
  Operand result = BYCC_TRY(call.result(0, x.shape));
  std::memcpy(result.data, x.data, static_cast<size_t>(x.count() * x.elementBytes()));
  for (int64_t row = 0; row < x.shape[0]; ++row)
    for (int64_t b = begins[static_cast<size_t>(row)]; b < begins[static_cast<size_t>(row) + 1];
         ++b) {
      int64_t at = row * x.shape[1] + columns[static_cast<size_t>(b)];
      result.setReal(at, result.real(at) + data.real(b));
    }
  return {};
}

// Counts the values of each column, then writes them in the order of the rows.
Expected<> sparseTranspose(LibraryCall &call) {
  Operand data = call.input(0), indices = call.input(1), starts = call.input(2);
  int64_t rows = starts.count() - 1;
  Ints begins = BYCC_TRY(rowStarts(starts, data.shape[0])),
       columns = BYCC_TRY(columnIndices(indices, rows));
  if (begins.front() != 0 || begins.back() != data.shape[0])
    return error(Status::Arg) << "indptr does not cover the " << data.shape[0] << " values";
  Operand outData = BYCC_TRY(call.result(0, data.shape)),
          outIndices = BYCC_TRY(call.result(1, indices.shape)),
          outStarts = BYCC_TRY(call.result(2, starts.shape));
  Ints next(static_cast<size_t>(rows) + 1, 0);
  for (int64_t column : columns)
    ++next[static_cast<size_t>(column) + 1];
  for (size_t r = 0; r < next.size(); ++r) {
    next[r] += r ? next[r - 1] : 0;
    outStarts.setInteger(static_cast<int64_t>(r), next[r]);
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t b = begins[static_cast<size_t>(row)]; b < begins[static_cast<size_t>(row) + 1];
         ++b) {
      int64_t to = next[static_cast<size_t>(columns[static_cast<size_t>(b)])]++;
      std::memcpy(outData.at(to), data.at(b), static_cast<size_t>(data.elementBytes()));
      outIndices.setInteger(to, row);
    }
  return {};
}

Expected<> nllLoss(LibraryCall &call) {
  Operand x = call.input(0), targets = call.input(1), weights = call.input(2);
  auto reduction = static_cast<LossReduction>(call.attribute(0));
  int64_t classes = x.shape[x.rank() == 1 ? 0 : 1],
          inner = x.rank() > 2 ? product(x.shape.subspan(2)) : 1;
  bool isWhole = reduction != LossReduction::None;
  Operand result = isWhole ? BYCC_TRY(call.result(0, {})) : BYCC_TRY(call.result(0, targets.shape));
  double total = 0, weightSum = 0;
  for (int64_t i = 0, count = targets.count(); i < count; ++i) {
    int64_t target = targets.integer(i);
    bool isIgnored = target == call.attribute(1);
    if (!isIgnored && (target < 0 || target >= classes))
      return error(Status::Arg) << "target " << target << " is out of range for " << classes
                                << " classes";
    double weight = isIgnored ? 0 : weights.real(target);
    double loss =
        isIgnored ? 0 : -weight * x.real((i / inner * classes + target) * inner + i % inner);
    total += loss;
    weightSum += weight;
    if (!isWhole)
      result.setReal(i, loss);
  }
  if (isWhole)
    result.setReal(0, reduction == LossReduction::Sum ? total : total / weightSum);
  return {};
}

} // namespace library
} // namespace bycc
