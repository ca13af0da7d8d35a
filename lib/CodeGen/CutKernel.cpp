// The outermost axis of what passes between kernels becomes shorter, or goes, and operands move
// by as many bytes from part to part.
#include "CutKernel.h"

#include <algorithm>

namespace bycc::codegen {

std::optional<Product> Product::over(const Product &divisor) const {
  if (divisor.number == 0 || number % divisor.number != 0)
    return std::nullopt;
  Product rest{number / divisor.number, factors};
  for (const auto &factor : divisor.factors) {
    auto at = std::ranges::find(rest.factors, factor.second, &std::pair<Ref, Ref>::second);
    if (at == rest.factors.end())
      return std::nullopt;
    rest.factors.erase(at);
  }
  return rest;
}

std::vector<Product> CutKernel::outerExtents() {
  axes_.assign(kernel.stages.size(), noAxis);
  std::vector<Product> extents;
  for (size_t s = 0; s < kernel.stages.size(); ++s)
    for (uint32_t buffer : passed_) {
      const Stage &stage = kernel.stages[s];
      std::vector<Ref> indices = loadsOf(stage, buffer);
      if (stage.buffer == buffer)
        indices.push_back(stage.store);
      for (Ref index : indices) {
        uint32_t axis = outermost(stage, index, kernel.elements(buffer));
        if (axis == noAxis || !assign(s, axis))
          return {};
        auto extent = productOf(kernel.exprs.extent(axis));
        if (!extent)
          return {};
        extents.push_back(std::move(*extent));
      }
    }
  return extents;
}

bool CutKernel::sharesOperand() const {
  for (size_t s = 0; s < kernel.stages.size(); ++s)
    if (axes_[s] != noAxis && !kernel.stages[s].reduceAxes.empty())
      for (Ref load : allLoads(kernel.stages[s]))
        if (!kernel.exprs.uses(kernel.exprs[load].a, axes_[s]))
          return true;
  return false;
}

bool CutKernel::cut(const Product &count) {
  auto partOf = [&](Ref extent) {
    auto product = productOf(extent);
    auto rest = product ? product->over(count) : std::nullopt;
    Ref rows = rest ? toRef(*rest) : noRef;
    return Part{rows, rows};
  };
  return cutBy(partOf, count, kernel.exprs.integer(1));
}

bool CutKernel::cutRows(const Product &all, Ref rows, Ref dim) {
  Ref own = kernel.exprs.dim(kernel.numDims++);
  dims.push_back(dim);
  kernel.likelyDims.push_back(likelyRows);
  auto partOf = [&](Ref extent) {
    auto product = productOf(extent);
    auto rest = product ? product->over(all) : std::nullopt;
    bool isAll = rest && rest->isNumber() && rest->number == 1;
    return Part{isAll ? own : noRef, kernel.exprs.integer(1)};
  };
  if (!cutBy(partOf, all, own))
    return false;
  for (Ref &step : steps_.back())
    step = program_->mul(step, rows);
  return true;
}

Ref CutKernel::step(size_t cut, uint32_t buffer) const {
  const std::vector<Ref> &steps = steps_[cut];
  return buffer < steps.size() ? steps[buffer] : program_->integer(0);
}

std::optional<Product> CutKernel::productOf(Ref ref) const {
  Affine form = kernel.exprs.affine(ref);
  if (form.terms.empty())
    return Product{form.constant, {}};
  if (form.terms.size() > 1 || form.constant != 0)
    return std::nullopt;
  Product product{form.terms[0].factor, {}};
  for (Ref factor : kernel.exprs.factors(form.terms[0].atom))
    product.factors.emplace_back(factor, toProgram(factor));
  return product;
}

bool CutKernel::cutBy(const PartOf &partOf, const Product &divisor, Ref left) {
  if (outerExtents().empty() || !spread())
    return false;
  std::vector<Ref> elements, steps(kernel.buffers.size(), noRef);
  for (uint32_t b = 0; b < kernel.buffers.size(); ++b)
    elements.push_back(kernel.elements(b));
  for (size_t s = 0; s < kernel.stages.size(); ++s) {
    Stage &stage = kernel.stages[s];
    Part part = partOf(kernel.exprs.extent(axes_[s]));
    if (part.rows == noRef || isUsedBare(stage, axes_[s]) ||
        !move(stage, axes_[s], part.distance, steps))
      return false;
    shorten(stage, axes_[s], part.rows);
  }
  return shrinkBuffers(elements, divisor, left, std::move(steps));
}

// How many elements each buffer moves by; false: one does by several, or no fixed, numbers.
bool CutKernel::move(const Stage &stage, uint32_t axis, Ref distance, std::vector<Ref> &steps) {
  auto add = [&](uint32_t buffer, Ref index) {
    Ref step = kernel.exprs.stride(index, axis);
    if (step == noRef)
      return false;
    step = kernel.exprs.mul(step, distance);
    bool agrees = steps[buffer] == noRef || steps[buffer] == step;
    steps[buffer] = step;
    return agrees;
  };
  return add(stage.buffer, stage.store) && std::ranges::all_of(allLoads(stage), [&](Ref load) {
           return add(static_cast<uint32_t>(kernel.exprs[load].i), kernel.exprs[load].a);
         });
}

// What is the kernel's own holds one part, and does not move.
bool CutKernel::shrinkBuffers(const std::vector<Ref> &elements, const Product &divisor, Ref left,
                              std::vector<Ref> steps) {
  Ref zero = kernel.exprs.integer(0);
  for (uint32_t b = 0; b < kernel.buffers.size(); ++b) {
    Buffer &buffer = kernel.buffers[b];
    bool isOwn = buffer.role == Role::Temp || std::ranges::find(passed_, b) != passed_.end();
    if (isOwn && steps[b] != noRef) {
      auto product = productOf(elements[b]);
      auto rest = product ? product->over(divisor) : std::nullopt;
      if (!rest)
        return false;
      buffer.shape = {kernel.exprs.mul(toRef(*rest), left)};
      steps[b] = zero;
    }
    if (steps[b] == noRef)
      steps[b] = zero;
    // What is packed while compiling would be the first strip's.
    buffer.isConstant = buffer.isConstant && steps[b] == zero;
    steps[b] = toProgram(kernel.exprs.times(steps[b], sizeInBytes(buffer.type)));
  }
  steps_.push_back(std::move(steps));
  return true;
}

Ref CutKernel::toRef(const Product &product) {
  Ref made = kernel.exprs.integer(product.number);
  for (auto [own, program] : product.factors)
    made = kernel.exprs.mul(made, own);
  return made;
}

std::vector<Ref> CutKernel::allLoads(const Stage &stage) const {
  std::vector<Ref> loads;
  kernel.exprs.visit(stage.body, [&](Ref ref) {
    if (kernel.exprs[ref].op == Op::Load)
      loads.push_back(ref);
    return true;
  });
  return loads;
}

std::vector<Ref> CutKernel::loadsOf(const Stage &stage, uint32_t buffer) const {
  std::vector<Ref> indices;
  for (Ref load : allLoads(stage))
    if (kernel.exprs[load].i == buffer)
      indices.push_back(kernel.exprs[load].a);
  return indices;
}

uint32_t CutKernel::outermost(const Stage &stage, Ref index, Ref elements) {
  for (uint32_t axis : stage.axes) {
    Ref extent = kernel.exprs.extent(axis), step = kernel.exprs.stride(index, axis);
    if (step != noRef && kernel.exprs.constant(extent).value_or(2) > 1 &&
        kernel.exprs.mul(step, extent) == elements)
      return axis;
  }
  return noAxis;
}

bool CutKernel::assign(size_t stage, uint32_t axis) {
  bool agrees = axes_[stage] == noAxis || axes_[stage] == axis;
  axes_[stage] = axis;
  return agrees;
}

// Stages that only see what others of the kernel make: through those values.
bool CutKernel::spread() {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t p = 0; p < kernel.stages.size(); ++p)
      for (size_t c = p + 1; c < kernel.stages.size(); ++c)
        if (!assignAcross(p, c, changed))
          return false;
  }
  if (std::ranges::find(axes_, noAxis) != axes_.end())
    return false;
  for (size_t m = 0; m < kernel.stages.size(); ++m)
    if (kernel.buffers[kernel.stages[m].buffer].role == Role::Temp && !agreesInside(m))
      return false;
  return true;
}

// From the one of two stages that has an axis to the other one.
bool CutKernel::assignAcross(size_t maker, size_t reader, bool &isNew) {
  const Stage &made = kernel.stages[maker];
  if ((axes_[maker] == noAxis) == (axes_[reader] == noAxis))
    return true;
  for (Ref index : loadsOf(kernel.stages[reader], made.buffer)) {
    size_t to = axes_[maker] == noAxis ? maker : reader;
    uint32_t axis = outermost(kernel.stages[to], to == maker ? made.store : index,
                              kernel.elements(made.buffer));
    if (axis == noAxis || !assign(to, axis))
      return false;
    isNew = true;
  }
  return true;
}

// Both ends of a value that stays inside.
bool CutKernel::agreesInside(size_t maker) {
  const Stage &made = kernel.stages[maker];
  Ref elements = kernel.elements(made.buffer);
  if (outermost(made, made.store, elements) != axes_[maker])
    return false;
  for (size_t c = 0; c < kernel.stages.size(); ++c)
    for (Ref index : loadsOf(kernel.stages[c], made.buffer))
      if (outermost(kernel.stages[c], index, elements) != axes_[c])
        return false;
  return true;
}

// Anywhere but in the index of a load: a mask of what lies ahead, say.
bool CutKernel::isUsedBare(const Stage &stage, uint32_t axis) const {
  bool isUsed = false;
  kernel.exprs.visit(stage.body, [&](Ref ref) {
    const Expr &e = kernel.exprs[ref];
    isUsed = isUsed || (e.op == Op::Axis && e.i == axis);
    return e.op != Op::Load;
  });
  return isUsed;
}

void CutKernel::shorten(Stage &stage, uint32_t axis, Ref rows) {
  Ref value = kernel.exprs.integer(0);
  auto at = std::ranges::find(stage.axes, axis);
  if (kernel.exprs.constant(rows) == 1) {
    stage.axes.erase(at);
  } else {
    *at = kernel.exprs.newAxis(rows);
    value = kernel.exprs.axis(*at);
  }
  for (Ref *ref : {&stage.body, &stage.store})
    if (*ref != noRef)
      *ref = kernel.exprs.substitute(*ref, {{axis, value}});
}

} // namespace bycc::codegen
