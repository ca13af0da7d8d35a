// A kernel of a chain that runs in strips (RunInStrips.cpp), while its rows become fewer.
#pragma once

#include "Program.h"

namespace bycc::codegen {

// An extent: a number times factors, each an expression of the kernel and of the program.
struct Product {
  int64_t number = 1;
  std::vector<std::pair<Ref, Ref>> factors;

  bool isNumber() const { return factors.empty(); }
  // Without the factors of another one, of any kernel; nullopt: it is no multiple of that.
  std::optional<Product> over(const Product &divisor) const;
};

// `passed` are the buffers that lie between kernels of the chain; `dims`, of the program, what
// the kernel's dims stand for.
class CutKernel {
public:
  CutKernel(Kernel kernel, std::vector<uint32_t> passed, std::vector<Ref> dims, Exprs &program)
      : kernel(std::move(kernel)), dims(std::move(dims)), passed_(std::move(passed)),
        program_(&program) {}

  // Extents of the outermost axes of what is passed; empty: one has none.
  std::vector<Product> outerExtents();
  // Whether a product has an operand that is not divided when that axis is.
  bool sharesOperand() const;
  // Leaves one of `count` equal parts of that axis. False, with the kernel in an
  // undefined state, where it cannot be done.
  bool cut(const Product &count);
  // Leaves `rows` of all that axis has, or fewer: `dim` of the program.
  bool cutRows(const Product &all, Ref rows, Ref dim);
  // Bytes from strip to strip of a buffer, of each cut, the first one first, as an
  // expression of the program.
  Ref step(size_t cut, uint32_t buffer) const;

  std::optional<Product> productOf(Ref ref) const;
  Ref toProgram(Ref ref) const { return translate(kernel.exprs, ref, dims, *program_); }

  static constexpr int64_t likelyRows = 64;
  Kernel kernel;
  std::vector<Ref> dims;

private:
  // How much of an extent is left, and how far the next part is.
  struct Part {
    Ref rows = noRef, distance = noRef;
  };
  using PartOf = std::function<Part(Ref extent)>;
  // Elements become fewer by `divisor`, of which `left` stay.
  bool cutBy(const PartOf &partOf, const Product &divisor, Ref left);
  bool move(const Stage &stage, uint32_t axis, Ref distance, std::vector<Ref> &steps);
  bool shrinkBuffers(const std::vector<Ref> &elements, const Product &divisor, Ref left,
                     std::vector<Ref> steps);
  Ref toRef(const Product &product);
  std::vector<Ref> allLoads(const Stage &stage) const;
  std::vector<Ref> loadsOf(const Stage &stage, uint32_t buffer) const;
  uint32_t outermost(const Stage &stage, Ref index, Ref elements);
  bool assign(size_t stage, uint32_t axis);
  bool spread();
  bool assignAcross(size_t maker, size_t reader, bool &isNew);
  bool agreesInside(size_t maker);
  bool isUsedBare(const Stage &stage, uint32_t axis) const;
  void shorten(Stage &stage, uint32_t axis, Ref rows);

  std::vector<uint32_t> passed_;
  Exprs *program_;
  std::vector<uint32_t> axes_; // by stage: the one that is cut
  std::vector<std::vector<Ref>> steps_;
};

} // namespace bycc::codegen
