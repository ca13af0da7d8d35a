// Extents that are known at run time, as lowerings see them: dims of the kernel
// that stand for expressions of the program, what integer operands hold, and what
// must be true before a kernel may run.
#include "OpLowering.h"

#include "bycc/Target/RegionView.h"

#include <algorithm>
#include <cstring>

namespace bycc::loops {
namespace {

bool isSum(Op op) {
  return op == Op::Const || op == Op::Dim || op == Op::Add || op == Op::Sub || op == Op::Mul;
}

std::vector<Ref> below(const Exprs &exprs, Ref root, const std::function<bool(Ref)> &enters) {
  std::vector<Ref> order;
  exprs.visit(root, [&](Ref ref) {
    order.push_back(ref);
    return enters(ref);
  });
  std::sort(order.begin(), order.end());
  return order;
}

Ref rebuildIn(Exprs &into, Expr e, const std::function<Ref(Ref)> &moved) {
  for (Ref *operand : {&e.a, &e.b, &e.c})
    if (*operand != noRef)
      *operand = moved(*operand);
  return into.rebuild(e);
}

} // namespace

Ref translate(const Exprs &kernel, Ref ref, const std::vector<Ref> &dims, Exprs &into) {
  std::unordered_map<Ref, Ref> done;
  for (Ref node : below(kernel, ref, [](Ref) { return true; })) {
    const Expr &e = kernel[node];
    done[node] = e.op == Op::Dim ? dims[static_cast<size_t>(e.i)]
                                 : rebuildIn(into, e, [&](Ref r) { return done.at(r); });
  }
  return done.at(ref);
}

bool isSumOfExtents(const Exprs &exprs, Ref ref) {
  bool holds = true;
  exprs.visit(ref, [&](Ref at) {
    const Expr &e = exprs[at];
    holds = holds && isSum(e.op) && e.op != Op::Sub && !(e.op == Op::Const && e.i < 0) &&
            !(e.op == Op::Dim && e.f != 0);
    return holds;
  });
  return holds;
}

Ref GroupDims::fromProgram(Ref root) {
  const Exprs &program = around.exprs();
  auto isInner = [&](Ref ref) { return isSum(program[ref].op) && program[ref].op != Op::Dim; };
  for (Ref ref : below(program, root, isInner)) {
    if (known_.count(ref))
      continue;
    if (isInner(ref)) {
      known_[ref] =
          rebuildIn(group.kernel.exprs, program[ref], [&](Ref r) { return known_.at(r); });
      continue;
    }
    bool isExtent = program[ref].op == Op::Dim && program[ref].f == 0;
    group.dims.push_back(ref);
    known_[ref] = group.kernel.exprs.dim(static_cast<uint32_t>(group.dims.size() - 1), !isExtent);
  }
  return known_.at(root);
}

Ref GroupDims::toProgram(Ref ref) const {
  return translate(group.kernel.exprs, ref, group.dims, around.exprs());
}

Ref GroupDims::settle(Ref extent, const std::string &what) {
  if (isSumOfExtents(group.kernel.exprs, extent))
    return extent;
  return fromProgram(around.define(toProgram(extent), what));
}

std::string OpLowering::nodeText() const {
  return "node '" + nodeName(module, call) + "' (" + std::string(info().name) + "): ";
}

Expected<Ref> OpLowering::element(size_t input, int64_t element) {
  return dims.around.elementOf(module.operands(call)[input], element);
}

Expected<Ref> OpLowering::content(size_t input, int64_t at) {
  Ref value = BYCC_TRY(element(input, at));
  Exprs &program = dims.around.exprs();
  if (isFloat(program.type(value)))
    return unsupported() << "operand " << input << " must hold integers";
  return dims.fromProgram(dims.around.define(program.cast(value, DType::Int64), ""));
}

Expected<Ref> OpLowering::extentContent(size_t input, int64_t at) {
  Ref value = BYCC_TRY(element(input, at));
  Exprs &program = dims.around.exprs();
  return dims.fromProgram(
      dims.around.define(program.cast(value, DType::Int64),
                         nodeText() + "operand " + std::to_string(input) + " holds the extent {}"));
}

Expected<int64_t> OpLowering::countOf(size_t input) {
  const Tensor &tensor = this->input(input);
  int64_t count = 1;
  for (size_t d = 0; d < tensor.rank(); ++d) {
    auto known = extent(tensor, d);
    if (!known)
      return unsupported() << "the number of values in operand " << input << " must be known";
    count *= *known;
  }
  return count;
}

void OpLowering::require(Ref condition, const std::string &message, std::vector<Ref> values) {
  if (x.constant(condition) == 1)
    return;
  for (const Requirement &other : dims.group.requirements)
    if (other.condition == condition)
      return;
  dims.group.requirements.push_back({condition, nodeText() + message, std::move(values)});
}

void OpLowering::requireEqual(Ref extent, Ref wanted, const std::string &what) {
  require(op2(Op::Eq, extent, wanted), what + " has {} elements, wanted {}", {extent, wanted});
}

} // namespace bycc::loops
