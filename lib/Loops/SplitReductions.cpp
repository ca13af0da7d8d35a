// Long reductions as two stages, so that they can run in parallel where there are few rows:
//
//   t[n] = sum over k < 1000 of x[n, k]    =>    p[c, n] = sum over i < 256 of x[n, 256 c + i]
//                                                t[n] = sum over c < 4 of p[c, n]
//
// p has the parts of an axis outside, as rows of its nest. What follows and is as long, say
// exp(x[n, k] - t[n]) of a softmax, has a nest of its own then: beside t it would run on one
// thread again.
#include "LoopSteps.h"

#include <algorithm>
#include <set>

namespace bycc::loops {
namespace {

constexpr double longMap = 1 << 16; // elements that are too many for the rows of a short reduction

class Splitter {
public:
  Splitter(Kernel &kernel, const TargetFacts &facts)
      : kernel_(kernel), exprs_(kernel.exprs), facts_(facts) {}

  void split(const SplitSchedule &how) {
    auto stage = std::ranges::find_if(kernel_.stages, [&](const Stage &at) {
      return at.buffer == how.buffer && at.reduce != Reduce::None;
    });
    Stage part = *stage;
    uint32_t axis = splitRange(kernel_, part, facts_).axis;
    Ref extent = exprs_.extent(axis);
    Ref parts =
        exprs_.binary(Op::FloorDiv, exprs_.plus(extent, how.chunk - 1), exprs_.integer(how.chunk));
    uint32_t outer = exprs_.newAxis(parts), last = exprs_.newAxis(parts);
    Ref start = exprs_.times(exprs_.axis(outer), how.chunk), most = exprs_.integer(how.chunk);
    auto known = exprs_.constant(extent);
    uint32_t inner = exprs_.newAxis(known && *known % how.chunk == 0
                                        ? most
                                        : exprs_.binary(Op::Min, most, exprs_.sub(extent, start)));
    part.body = exprs_.substitute(part.body, {{axis, exprs_.add(start, exprs_.axis(inner))}});
    std::ranges::replace(part.reduceAxes, axis, inner);
    part.axes.insert(part.axes.begin(), outer);
    part.isApart = true;

    Ref elements = kernel_.elements(how.buffer);
    std::vector<Ref> shape = kernel_.buffers[how.buffer].shape;
    shape.insert(shape.begin(), parts);
    DType type = exprs_.type(part.body);
    part.buffer = kernel_.addBuffer(type, shape, Role::Temp);
    auto at = [&](uint32_t number) {
      return exprs_.add(exprs_.mul(exprs_.axis(number), elements), stage->store);
    };
    part.store = at(outer);
    stage->reduceAxes = {last};
    stage->body = exprs_.load(part.buffer, type, at(last));
    kernel_.stages.insert(stage, std::move(part));
  }

  // Of what is made of the results, maps that are as long as a reduction.
  void setApart(const std::vector<SplitSchedule> &splits) {
    std::set<uint32_t> made; // of them
    for (const SplitSchedule &split : splits)
      made.insert(split.buffer);
    for (Stage &stage : kernel_.stages) {
      bool isOfThem = false;
      double elements = 1;
      exprs_.visit(stage.body, [&](Ref ref) {
        isOfThem = isOfThem || (exprs_[ref].op == Op::Load &&
                                made.count(static_cast<uint32_t>(exprs_[ref].i)) != 0);
        return !isOfThem;
      });
      for (uint32_t axis : stage.axes)
        elements *= static_cast<double>(kernel_.likelyExtent(axis));
      if (isOfThem)
        made.insert(stage.buffer);
      if (isOfThem && stage.reduce == Reduce::None && elements >= longMap)
        stage.isApart = true;
    }
  }

private:
  Kernel &kernel_;
  Exprs &exprs_;
  const TargetFacts &facts_;
};

} // namespace

// The outermost axis that has many parts, so that what is in one stands together; else the longest.
SplitRange splitRange(const Kernel &kernel, const Stage &stage, const TargetFacts &facts) {
  constexpr int64_t manyParts = 64;
  const Expr body = kernel.exprs[stage.body];
  bool isSum = stage.reduce == Reduce::Sum || stage.reduce == Reduce::Prod;
  if (isProductOfPairs(kernel.exprs, stage) ||
      (isSum && isFloat(body.type) && sizeInBytes(body.type) == 2)) // parts would be rounded
    return {};
  SplitRange range;
  for (uint32_t axis : stage.reduceAxes)
    if (range.axis == noAxis || (kernel.likelyExtent(range.axis) < manyParts &&
                                 kernel.likelyExtent(axis) > kernel.likelyExtent(range.axis)))
      range.axis = axis;
  if (body.op == Op::Mul) {
    Kernel copy = kernel; // which axes are added to
    range.isProduct = findContraction(copy, stage, facts).has_value();
  }
  return range.isProduct && !kernel.exprs.constantExtent(range.axis) ? SplitRange() : range;
}

void splitReductions(Kernel &kernel, const std::vector<SplitSchedule> &splits,
                     const TargetFacts &facts) {
  Splitter splitter(kernel, facts);
  for (const SplitSchedule &split : splits)
    splitter.split(split);
  splitter.setApart(splits);
}

} // namespace bycc::loops
