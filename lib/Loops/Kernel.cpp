// Building the stages of a kernel, and its structure as text.
#include "bycc/Loops/Compute.h"

#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstring>

namespace bycc::loops {

uint32_t Kernel::addBuffer(DType type, std::vector<Ref> shape, Role role) {
  buffers.push_back({type, std::move(shape), role, false});
  if (role == Role::Input)
    ++numInputs;
  if (role == Role::Output)
    ++numOutputs;
  return static_cast<uint32_t>(buffers.size() - 1);
}

Ref Kernel::flat(uint32_t buffer, const std::vector<Ref> &indices) {
  Ref sum = exprs.integer(0);
  Ref stride = exprs.integer(1);
  const std::vector<Ref> &shape = buffers[buffer].shape;
  for (size_t d = shape.size(); d-- > 0;) {
    sum = exprs.add(sum, exprs.mul(indices[d], stride));
    stride = exprs.mul(stride, shape[d]);
  }
  return sum;
}

std::vector<Ref> Kernel::axesOver(const std::vector<Ref> &shape, std::vector<uint32_t> &axes) {
  std::vector<Ref> indices;
  for (Ref extent : shape) {
    if (exprs.constant(extent) == 1) {
      indices.push_back(exprs.integer(0));
      continue;
    }
    axes.push_back(exprs.newAxis(extent));
    indices.push_back(exprs.axis(axes.back()));
  }
  return indices;
}

Stage &Kernel::map(uint32_t buffer, const BodyFn &body) {
  Stage stage;
  stage.buffer = buffer;
  std::vector<Ref> shape = buffers[buffer].shape;
  std::vector<Ref> indices = axesOver(shape, stage.axes);
  stage.body = body(indices);
  stage.store = flat(buffer, indices);
  stages.push_back(std::move(stage));
  return stages.back();
}

Ref Kernel::elements(uint32_t buffer) {
  Ref product = exprs.integer(1);
  for (Ref extent : std::vector<Ref>(buffers[buffer].shape))
    product = exprs.mul(product, extent);
  return product;
}

namespace {

class Printer {
public:
  explicit Printer(const Kernel &kernel) : kernel_(kernel) {}
  // Nodes are numbered in order of first print, so equal structures give equal text.
  std::string name(Ref root) {
    if (root == noRef)
      return "-";
    std::vector<Ref> order;
    kernel_.exprs.visit(root, [&](Ref ref) {
      order.push_back(ref);
      return !numbers_.count(ref);
    });
    std::sort(order.begin(), order.end());
    for (Ref ref : order)
      if (!numbers_.count(ref))
        print(ref);
    return "e" + std::to_string(numbers_.at(root));
  }
  std::string axis(uint32_t id) {
    auto [it, isNew] = axes_.try_emplace(id, axes_.size());
    std::string text = "a" + std::to_string(it->second);
    if (isNew)
      text += ":" + name(kernel_.exprs.extent(id));
    return text;
  }
  std::string out;

private:
  void print(Ref ref) {
    const Expr &e = kernel_.exprs[ref];
    std::string text =
        std::to_string(static_cast<int>(e.op)) + "." + std::to_string(static_cast<int>(e.type));
    if (e.op == Op::Axis) {
      text += " " + axis(static_cast<uint32_t>(e.i));
    } else {
      text += " " + std::to_string(e.i) + (e.op == Op::Dim && e.f != 0 ? "s" : "");
      if (e.op == Op::Const && isFloat(e.type)) {
        uint64_t bits;
        std::memcpy(&bits, &e.f, 8);
        text += " " + formatDouble(e.f) + "/" + std::to_string(bits);
      }
      for (Ref operand : {e.a, e.b, e.c})
        if (operand != noRef)
          text += " e" + std::to_string(numbers_.at(operand));
    }
    uint32_t number = static_cast<uint32_t>(numbers_.size());
    numbers_[ref] = number;
    out += "e" + std::to_string(number) + "=" + text + "\n";
  }
  const Kernel &kernel_;
  std::unordered_map<Ref, uint32_t> numbers_;
  std::unordered_map<uint32_t, size_t> axes_;
};

} // namespace

std::string Kernel::fingerprint() const {
  Printer printer(*this);
  std::string head;
  for (const Buffer &buffer : buffers) {
    head += "b" + std::to_string(static_cast<int>(buffer.type)) +
            std::to_string(static_cast<int>(buffer.role)) + (buffer.isConstant ? "c" : "");
    for (Ref extent : buffer.shape)
      head += " " + printer.name(extent);
    head += "\n";
  }
  for (int64_t extent : likelyDims)
    head += "l" + std::to_string(extent);
  for (const Stage &stage : stages) {
    std::string line = "s" + std::to_string(stage.buffer) + " r" +
                       std::to_string(static_cast<int>(stage.reduce)) + (stage.keep ? "k" : "") +
                       (stage.ignoresNan ? "n" : "");
    for (uint32_t axis : stage.axes)
      line += " " + printer.axis(axis);
    line += " |";
    for (uint32_t axis : stage.reduceAxes)
      line += " " + printer.axis(axis);
    line += " = " + printer.name(stage.body) + " - @" + printer.name(stage.store);
    for (const Window &window : stage.windows)
      line += " w" + printer.name(window.first) + "," + printer.axis(window.tap) + "," +
              std::to_string(window.dilation) + "," + printer.name(window.elements);
    printer.out += line + "\n";
  }
  return head + printer.out;
}

} // namespace bycc::loops
