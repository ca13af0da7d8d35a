// Grids of sampling points.

#include "Kernel.h"

namespace bycc::eval {
namespace {

// theta (N, n, n + 1) times the coordinates (x, .., 1) of each point of a grid over
// [-1, 1]: of the first to the last points, or of the middles of equal parts.
Expected<Value> affineGrid(const KernelContext &context) {
  std::vector<double> theta = load<double>(context.input(0)), out;
  const Ints &shape = context.result().shape;
  bool aligns = context.boolean("align_corners");
  auto at = [&](int64_t i, int64_t extent) {
    double position = static_cast<double>(i), n = static_cast<double>(extent);
    if (!aligns)
      return (2 * position + 1) / n - 1;
    return extent > 1 ? -1 + 2 * position / (n - 1) : -1.0;
  };
  size_t spatial = shape.size() - 2;
  IndexWalk walk(shape, {});
  for (int64_t i = 0, n = count(shape); i < n; ++i, walk.next()) {
    const Ints &index = walk.index();
    const double *row =
        theta.data() +
        (static_cast<size_t>(index[0]) * spatial + static_cast<size_t>(index[1])) * (spatial + 1);
    double sum = row[spatial];
    for (size_t c = 0; c < spatial; ++c) // coordinate 0 is that of the last axis
      sum += row[c] * at(index[1 + spatial - c], shape[1 + spatial - c]);
    out.push_back(sum);
  }
  return store(context.result(), out);
}

const KernelEntry imageRows[] = {{ops::image_affine_grid, affineGrid}};

} // namespace

std::span<const KernelEntry> imageKernels() { return imageRows; }

} // namespace bycc::eval
