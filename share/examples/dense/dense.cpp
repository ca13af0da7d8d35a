// A whole vendor: nn.dense of float32, by plain loops on the host. The compile half writes what
// there is to multiply in a region, the run half multiplies; all else is the kit's.
#include <bycc/vendor.hpp>

#include <numeric>

namespace dense {

namespace kit = bycc::vendor;

// out[row, column] = sum of data[row, i] * weight[column, i]; values by number.
struct Product {
  uint32_t data = 0, weight = 0, out = 0;
  uint64_t rows = 0, columns = 0, width = 0;
  auto members() { return std::tie(data, weight, out, rows, columns, width); }
};

struct Program {
  kit::Memory memory;
  std::vector<Product> products;
  auto members() { return std::tie(memory, products); }
};
constexpr kit::Format format = {"dense region", 1};

// Refuses what it does not take: what supports() promises, compile() does.
Program translate(kit::Region region) {
  Program program{kit::Memory(region), {}};
  for (kit::Node node : region.nodes())
    kit::blaming(node, [&] {
      if (node.op() != "nn.dense")
        throw kit::Refusal("it has no ", node.op());
      node.expectPlain({BYCC_FLOAT32});
      kit::Value data = node.input(0), weight = node.input(1);
      program.products.push_back({data.index(), weight.index(), node.output().index(),
                                  kit::count(data.dims().first(data.dims().size() - 1)),
                                  kit::count(weight.dims().first(1)), kit::count(weight.dims().last(1))});
    });
  return program;
}

struct Compiler {
  void supports(const kit::Question &question) { translate(question.region); }
  kit::Bytes compile(const kit::Question &question) {
    return kit::write(format, translate(question.region));
  }
};

class Region {
public:
  explicit Region(const kit::Load &load) : program_(kit::read<Program>(format, load.blob)) {
    program_.memory.bind(load);
    for (const Product &product : program_.products) {
      expect(product.data, product.rows, product.width);
      expect(product.weight, product.columns, product.width);
      expect(product.out, product.rows, product.columns);
    }
  }
  uint64_t scratchBytes() const { return program_.memory.scratchBytes(); }

  void run(const kit::Run &run) const {
    for (const Product &product : program_.products) {
      auto data = program_.memory.at<const float>(run, product.data);
      auto weight = program_.memory.at<const float>(run, product.weight);
      auto out = program_.memory.at<float>(run, product.out);
      for (uint64_t i = 0; i < product.rows * product.columns; ++i) {
        const float *row = data + i / product.columns * product.width;
        const float *column = weight + i % product.columns * product.width;
        out[i] = std::inner_product(row, row + product.width, column, 0.0f);
      }
    }
    program_.memory.finish(run);
  }

private:
  // The blob may be anything: run() reads and writes so many floats.
  void expect(uint32_t value, uint64_t rows, uint64_t columns) const {
    if (kit::count(std::array{rows, columns}) * sizeof(float) != program_.memory.bytes(value))
      throw kit::Failure(BYCC_LOAD, "a product that does not fit value ", value);
  }

  Program program_;
};

constexpr kit::About about = {.name = "dense", .version = "1", .operators = "nn.dense"};

} // namespace dense

BYCC_VENDOR_COMPILER(dense::Compiler, dense::about)
BYCC_VENDOR_RUNTIME(dense::Region, dense::about)
