// Run half of the openblas vendor: OpenBLAS multiplies, on one thread each time; the runtime's
// threads share rows, columns and matrices.
#include "Program.h"

#include <cblas-openblas.h>

#include <mutex>

namespace bycc::openblas {

namespace {

constexpr uint64_t floatsOfLine = 16;
constexpr double minFlops = 1 << 17; // less is not worth a thread

// OpenBLAS built without threads has one set of buffers, and no lock for it: one call at a time.
std::mutex sequential;
std::unique_lock<std::mutex> lockIfSequential() {
  return openblas_get_parallel() == OPENBLAS_SEQUENTIAL ? std::unique_lock(sequential)
                                                        : std::unique_lock<std::mutex>();
}

// One with threads of its own does not ask them, for nobody in the process: there is one pool.
// Built for OpenMP it counts them by the calling thread.
void useThisThreadAlone() {
  static thread_local const bool isDone = [] {
    std::lock_guard lock(sequential);
    openblas_set_num_threads(1);
    return true;
  }();
  (void)isDone;
}

// A part of a product: rows and columns of one matrix of the batch.
struct Part {
  uint64_t matrix, firstRow, rows, firstColumn, columns;
};

class Region {
public:
  explicit Region(const kit::Load &load) : program_(kit::read<Program>(programFormat, load.blob)) {
    program_.memory.bind(load);
    for (const Product &product : program_.products)
      check(product);
  }
  uint64_t scratchBytes() const { return program_.memory.scratchBytes(); }

  void run(const kit::Run &run) const {
    for (const Product &product : program_.products)
      share(product, run);
    program_.memory.finish(run);
  }

private:
  // The blob may be anything: run() reads and writes so many floats.
  void check(const Product &product) const {
    const auto &[a, b, batch, rows, columns, width, out, bias, biasKind, hasRelu] = product;
    for (uint64_t each : {rows, columns, width})
      if (each == 0 || each > maxExtent)
        throw kit::Failure(BYCC_LOAD, "a matrix with an extent of ", each);
    expect(a.value, {a.isRepeated ? 1 : batch, rows, width});
    expect(b.value, {b.isRepeated ? 1 : batch, width, columns});
    expect(out, {batch, rows, columns});
    if (biasKind != Product::Bias::None)
      expect(bias, {biasKind == Product::Bias::OfRows ? rows : columns});
  }
  void expect(uint32_t value, std::initializer_list<uint64_t> extents) const {
    if (kit::count(std::vector(extents)) * sizeof(float) != program_.memory.bytes(value))
      throw kit::Failure(BYCC_LOAD, "a product that does not fit value ", value);
  }

  // Each matrix in stretches of its longer side, as many as there are threads for.
  void share(const Product &product, const kit::Run &run) const {
    uint64_t threads = static_cast<uint64_t>(std::max(run.threads(), 1));
    bool isByRows = product.rows >= product.columns;
    uint64_t side = isByRows ? product.rows : product.columns;
    double flops = 2.0 * static_cast<double>(product.rows * product.columns) *
                   static_cast<double>(product.width * product.batch);
    threads = std::min(threads, static_cast<uint64_t>(flops / minFlops) + 1);
    uint64_t wanted = (threads + product.batch - 1) / product.batch;
    uint64_t stretch = kit::aligned((side + wanted - 1) / wanted, floatsOfLine);
    uint64_t parts = (side + stretch - 1) / stretch;
    kit::share(run.pool(), threads, product.batch * parts, [&](size_t first, size_t last) {
      for (size_t i = first; i < last; ++i) {
        Part part{i / parts, 0, product.rows, 0, product.columns};
        uint64_t begin = i % parts * stretch, size = std::min(stretch, side - begin);
        (isByRows ? part.firstRow : part.firstColumn) = begin;
        (isByRows ? part.rows : part.columns) = size;
        multiply(product, run, part);
      }
    });
  }

  // The first element of a row of `a`, or of a column of `b`.
  const float *begin(const kit::Run &run, const Factor &factor, uint64_t matrix, uint64_t elements,
                     uint64_t skipped) const {
    return program_.memory.at<const float>(run, factor.value) +
           (factor.isRepeated ? 0 : matrix * elements) + skipped;
  }

  void multiply(const Product &product, const kit::Run &run, const Part &part) const {
    auto [a, b] = std::tie(product.a, product.b);
    const uint64_t width = product.width, rows = product.rows, columns = product.columns;
    const float *left =
        begin(run, a, part.matrix, rows * width, part.firstRow * (a.isTransposed ? 1 : width));
    const float *right = begin(run, b, part.matrix, columns * width,
                               part.firstColumn * (b.isTransposed ? width : 1));
    float *to = program_.memory.at<float>(run, product.out) +
                (part.matrix * rows + part.firstRow) * columns + part.firstColumn;
    bool hasBias = product.biasKind != Product::Bias::None;
    if (hasBias)
      fillBias(product, run, part, to);
    useThisThreadAlone();
    std::unique_lock<std::mutex> lock = lockIfSequential();
    auto number = [](uint64_t extent) { return static_cast<blasint>(extent); };
    cblas_sgemm(CblasRowMajor, a.isTransposed ? CblasTrans : CblasNoTrans,
                b.isTransposed ? CblasTrans : CblasNoTrans, number(part.rows), number(part.columns),
                number(width), 1, left, number(a.isTransposed ? rows : width), right,
                number(b.isTransposed ? width : columns), hasBias ? 1.0f : 0.0f, to,
                number(columns));
    if (lock)
      lock.unlock();
    for (uint64_t row = 0; product.hasRelu && row < part.rows; ++row)
      for (float &each : std::span(to + row * columns, part.columns))
        each = each < 0 ? 0 : each; // NaN stays
  }

  void fillBias(const Product &product, const kit::Run &run, const Part &part, float *to) const {
    auto bias = program_.memory.at<const float>(run, product.bias);
    for (uint64_t row = 0; row < part.rows; ++row, to += product.columns)
      if (product.biasKind == Product::Bias::OfRows)
        std::fill_n(to, part.columns, bias[part.firstRow + row]);
      else
        std::copy_n(bias + part.firstColumn, part.columns, to);
  }

  Program program_;
};

constexpr kit::About about = {.name = "openblas", .version = programVersion, .library = "OpenBLAS"};

} // namespace
} // namespace bycc::openblas

BYCC_VENDOR_RUNTIME(bycc::openblas::Region, bycc::openblas::about)
