// Neighbouring axes of a row nest that every index steps through as one become one:
//   y[i, j] = x[4 * i + j] + 1, i < 3, j < 4   =>   y[k] = x[k] + 1, k < 12
#include "LoopSteps.h"

#include <algorithm>

namespace bycc::loops {
namespace {

class AxisJoiner {
public:
  AxisJoiner(Kernel &kernel, Nest &nest) : kernel_(kernel), nest_(nest) {}

  void run() {
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

private:
  Exprs &e() { return kernel_.exprs; }

  // Whether (a, b) can become one axis in every index of the nest.
  bool canCollapse(uint32_t a, uint32_t b) {
    bool ok = true;
    auto agrees = [&](Ref index) {
      Ref x = e().stride(index, a), y = e().stride(index, b);
      return x != noRef && y != noRef && x == e().mul(y, e().extent(b));
    };
    for (const NestStage &inner : nest_.stages) {
      const Stage &stage = inner.stage;
      e().visit(stage.body, [&](Ref ref) {
        const Expr node = e()[ref];
        if (node.op == Op::Load) {
          ok = ok && agrees(node.a); // which refuses axes in anything but products
          return false;
        }
        if (node.op == Op::Axis && (node.i == a || node.i == b))
          ok = false;
        return ok;
      });
      ok = ok && agrees(stage.store);
      for (const auto *axes : {&stage.axes, &stage.reduceAxes})
        for (uint32_t axis : *axes) // the last part of what is split is shorter
          ok = ok && !e().uses(e().extent(axis), a) && !e().uses(e().extent(axis), b);
    }
    return ok;
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
      for (Ref *ref : {&inner.stage.body, &inner.stage.store})
        if (*ref != noRef)
          *ref = e().substitute(*ref, values);
    return merged;
  }

  Kernel &kernel_;
  Nest &nest_;
};

} // namespace

void joinAxes(Kernel &kernel, Nest &nest) { AxisJoiner(kernel, nest).run(); }

} // namespace bycc::loops
