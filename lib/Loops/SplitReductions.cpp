// Long reductions as two stages, so that they can run in parallel where there are few rows:
//
//   t[n] = sum over k < 1000 of x[n, k]    =>    p[c, n] = sum over i < 256 of x[n, 256 c + i]
//                                                t[n] = sum over c < 4 of p[c, n]
//
// p has the parts of an axis outside, as rows of its nest. What it reads and is made along the
// same axis, say exp(x[n, k] - m[n]) of a softmax, is made in parts, too. What follows and is as
// long has a nest of its own: beside t it would run on one thread again.
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
    Ref value = exprs_.add(start, exprs_.axis(inner));
    splitMakers(part, {axis, outer, inner, value});
    part.body = exprs_.substitute(part.body, {{axis, value}});
    std::ranges::replace(part.reduceAxes, axis, inner);
    part.axes.insert(part.axes.begin(), outer);
    part.ownRows = part.axes.size();

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
        stage.ownRows = stage.ownRows == 0 ? stage.axes.size() : stage.ownRows;
    }
  }

private:
  struct Parts {
    uint32_t axis, outer, inner;
    Ref value; // of the axis, by the two others
  };

  // Maps that the reduction reads along its axis share a nest with it: a part is read while it is in
  // the cache.
  void splitMakers(const Stage &reduction, const Parts &parts) {
    std::vector<Expr> loads;
    exprs_.visit(reduction.body, [&](Ref ref) {
      if (exprs_[ref].op == Op::Load)
        loads.push_back(exprs_[ref]);
      return true;
    });
    for (Stage &maker : kernel_.stages) {
      auto isOfMaker = [&](const Expr &load) { return load.i == maker.buffer; };
      auto isAlong = [&](const Expr &load) {
        return !isOfMaker(load) ||
               exprs_.stride(load.a, parts.axis) == exprs_.stride(maker.store, maker.axes.back());
      };
      if (maker.reduce != Reduce::None || maker.axes.empty() ||
          exprs_.extent(maker.axes.back()) != exprs_.extent(parts.axis) ||
          std::ranges::none_of(loads, isOfMaker) || !std::ranges::all_of(loads, isAlong))
        continue;
      for (Ref *ref : {&maker.body, &maker.store})
        *ref = exprs_.substitute(*ref, {{maker.axes.back(), parts.value}});
      maker.axes.back() = parts.inner;
      maker.ownRows = maker.axes.size();
      maker.axes.insert(maker.axes.begin(), parts.outer);
    }
  }

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
