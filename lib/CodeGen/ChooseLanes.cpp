// Which axis of a row nest the vector lanes run over: the one along which most loads
// and stores are contiguous. Neighbouring axes that every index steps through as one
// become one before, and a long innermost loop becomes rows of chunks.
#include "Schedule.h"

#include <algorithm>

namespace bycc::te {
namespace {

class LaneChooser {
public:
  LaneChooser(Kernel &kernel, Nest &nest, const TargetInfo &target)
      : kernel_(kernel), nest_(nest), target_(target) {}

  void choose() {
    collapseNest();
    double within = 0, across = 0;
    bool hasReduction = false;
    for (NestStage &inner : nest_.stages) {
      Stage &stage = inner.stage;
      bool reduces = stage.reduce != Reduce::None;
      hasReduction = hasReduction || reduces;
      bool isArg = stage.reduce == Reduce::ArgMax || stage.reduce == Reduce::ArgMin;
      inner.vectorAxis = isArg ? noAxis : reduces ? stage.reduceAxes.empty() ? noAxis : stage.reduceAxes.back()
                               : stage.axes.empty() ? noAxis : stage.axes.back();
      double weight = iterations(stage);
      if (inner.vectorAxis != noAxis)
        within += weight * contiguity(stage, inner.vectorAxis);
      if (!nest_.rows.empty())
        across += weight * contiguity(stage, nest_.rows.back());
    }
    nest_.isAcross = hasReduction && !nest_.rows.empty() && across > within;
    if (nest_.isAcross)
      for (NestStage &inner : nest_.stages)
        inner.vectorAxis = noAxis;
    if (!hasReduction && nest_.stages.size() == 1)
      chunkInner();
    nest_.cost = rowCost();
  }

private:
  Exprs &e() { return kernel_.exprs; }

  double extent(uint32_t axis) { return static_cast<double>(kernel_.likelyExtent(axis)); }
  double iterations(const Stage &stage) {
    double product = 1;
    for (const auto *axes : {&stage.axes, &stage.reduceAxes})
      for (uint32_t axis : *axes)
        product *= extent(axis);
    return product;
  }

  double contiguity(const Stage &stage, uint32_t axis) {
    double score = 0, count = 0;
    auto add = [&](Ref index) {
      auto step = e().coefficient(index, axis);
      score += !step ? -2 : *step == 1 ? 2 : *step == 0 ? 1 : *step <= 4 && *step > 0 ? 0.5 : -2;
      ++count;
    };
    e().visit(stage.body, [&](Ref ref) {
      if (e()[ref].op == Op::Load)
        add(e()[ref].a);
      return true;
    });
    if (stage.reduce == Reduce::None || std::find(stage.reduceAxes.begin(), stage.reduceAxes.end(), axis) == stage.reduceAxes.end()) {
      add(stage.store);
    }
    double lanes = target_.vectorBits / 32;
    return score / std::max(count, 1.0) * std::min(extent(axis), lanes) / lanes;
  }

  // A long innermost loop becomes rows of fixed-size chunks, so that it can run in parallel.
  void chunkInner() {
    NestStage &inner = nest_.stages[0];
    if (inner.vectorAxis == noAxis)
      return;
    const int64_t chunk = 2048;
    uint32_t axis = inner.vectorAxis;
    Ref extent = e().extent(axis);
    if (auto n = e().constant(extent); n && *n < 2 * chunk)
      return;
    Ref chunks = e().binary(Op::FloorDiv, e().plus(extent, chunk - 1), e().integer(chunk));
    uint32_t outer = e().newAxis(chunks);
    Ref start = e().times(e().axis(outer), chunk);
    uint32_t rest = e().newAxis(e().binary(Op::Min, e().integer(chunk), e().sub(extent, start)));
    Ref value = e().add(start, e().axis(rest));
    Stage &stage = inner.stage;
    stage.body = e().substitute(stage.body, {{axis, value}});
    stage.store = e().substitute(stage.store, {{axis, value}});
    nest_.rows.push_back(outer);
    std::replace(stage.axes.begin(), stage.axes.end(), axis, rest);
    inner.vectorAxis = rest;
  }

  double rowCost() {
    double cost = 0;
    for (const NestStage &inner : nest_.stages) {
      double ops = 1;
      e().visit(inner.stage.body, [&](Ref ref) {
        Op op = e()[ref].op;
        ops += op == Op::Libm1 || op == Op::Libm2 ? 40 : (op >= Op::Exp && op <= Op::Sigmoid) ? 2 : 0.2;
        return true;
      });
      cost += iterations(inner.stage) * ops / (inner.vectorAxis != noAxis || nest_.isAcross ? 4 : 1);
    }
    return cost;
  }

  // --- collapsing of neighbouring axes

  // Whether (a, b) can become one axis in every index of the nest.
  bool canCollapse(uint32_t a, uint32_t b) {
    bool ok = true;
    auto agrees = [&](Ref index) {
      Ref x = e().stride(index, a), y = e().stride(index, b);
      return x != noRef && y != noRef && x == e().mul(y, e().extent(b));
    };
    for (const NestStage &inner : nest_.stages) {
      const Stage &stage = inner.stage;
      for (Ref root : {stage.body, stage.position}) {
        if (root == noRef)
          continue;
        e().visit(root, [&](Ref ref) {
          const Expr node = e()[ref];
          if (node.op == Op::Load) {
            ok = ok && agrees(node.a); // which refuses axes in anything but products
            return false;
          }
          if (node.op == Op::Axis && (node.i == a || node.i == b))
            ok = false;
          return ok;
        });
      }
      ok = ok && agrees(stage.store);
    }
    return ok;
  }

  void collapseNest() {
    collapseList(nest_.rows);
    if (nest_.stages.size() > 1)
      return; // local buffers tie the inner axes of several stages together
    Stage &stage = nest_.stages[0].stage;
    collapseList(stage.reduceAxes);
    // The last row axis and a lone inner axis.
    while (stage.reduce == Reduce::None && stage.axes.size() == 1 && !nest_.rows.empty() &&
           canCollapse(nest_.rows.back(), stage.axes[0])) {
      stage.axes[0] = merge(nest_.rows.back(), stage.axes[0]);
      nest_.rows.pop_back();
    }
  }

  void collapseList(std::vector<uint32_t> &axes) {
    for (size_t i = 0; i + 1 < axes.size();) {
      if (!canCollapse(axes[i], axes[i + 1])) {
        ++i;
        continue;
      }
      axes[i] = merge(axes[i], axes[i + 1]);
      axes.erase(axes.begin() + static_cast<ptrdiff_t>(i) + 1);
      i = i == 0 ? 0 : i - 1;
    }
  }

  uint32_t merge(uint32_t a, uint32_t b) {
    uint32_t merged = e().newAxis(e().mul(e().extent(a), e().extent(b)));
    std::unordered_map<uint32_t, Ref> values{{a, e().integer(0)}, {b, e().axis(merged)}};
    for (NestStage &inner : nest_.stages)
      for (Ref *ref : {&inner.stage.body, &inner.stage.position, &inner.stage.store})
        if (*ref != noRef)
          *ref = e().substitute(*ref, values);
    return merged;
  }

  Kernel &kernel_;
  Nest &nest_;
  const TargetInfo &target_;
};

} // namespace

void chooseLanes(Kernel &kernel, Nest &nest, const TargetInfo &target) {
  LaneChooser(kernel, nest, target).choose();
}

} // namespace bycc::te
