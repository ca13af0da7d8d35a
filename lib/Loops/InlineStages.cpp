// Inlines elementwise stages into their consumers: a load of the stage's buffer
// becomes its body, with the axes recovered from the flat index of the load. A body is
// repeated for each index that it is read at, and emitted again for each part of a
// tile: how large one may get, and how many costly functions it may have, is bounded.
#include "LoopSteps.h"

#include <algorithm>
#include <set>

namespace bycc::loops {
namespace {

constexpr size_t mostNodes = 1000, mostCostly = 16; // of a body that others were inlined into

struct BodySize {
  size_t nodes = 0, costly = 0;
};

BodySize sizeOf(const Exprs &exprs, Ref body) {
  BodySize size;
  exprs.visit(body, [&](Ref ref) {
    ++size.nodes;
    size.costly += isCostly(exprs[ref].op);
    return true;
  });
  return size;
}

bool isProduct(const Exprs &exprs, const Stage &stage) {
  return stage.reduce == Reduce::Sum && exprs[stage.body].op == Op::Mul;
}

bool loadsFrom(const Exprs &exprs, const Stage &stage, uint32_t buffer) {
  bool found = false;
  exprs.visit(stage.body, [&](Ref ref) {
    found = found || (exprs[ref].op == Op::Load && exprs[ref].i == buffer);
    return !found;
  });
  return found;
}

// axis -> value in terms of a flat index; nullopt when the store is not a plain
// row-major one.
std::optional<std::unordered_map<uint32_t, Ref>> unravel(Exprs &exprs, const Stage &stage,
                                                         Ref flat) {
  auto axes = byStride(exprs, stage.axes, stage.store);
  if (!axes)
    return std::nullopt;
  Ref sum = exprs.integer(0);
  std::unordered_map<uint32_t, Ref> values;
  for (auto [axis, stride] : *axes) {
    Ref value = exprs.binary(Op::FloorDiv, flat, stride);
    if (!values.empty())
      value = exprs.binary(Op::FloorMod, value, exprs.extent(axis));
    values[axis] = value;
    sum = exprs.add(sum, exprs.mul(exprs.axis(axis), stride));
  }
  return sum == stage.store ? std::optional(values) : std::nullopt;
}

class Inliner {
public:
  explicit Inliner(Kernel &kernel) : kernel_(kernel), exprs_(kernel.exprs) {}

  void run() {
    for (size_t s = 0; s < kernel_.stages.size();) {
      if (canInline(s) && inlineInto(s))
        kernel_.stages.erase(kernel_.stages.begin() + static_cast<ptrdiff_t>(s));
      else
        ++s;
    }
  }

private:
  double volume(const Stage &stage) const {
    double n = 1;
    for (const auto *axes : {&stage.axes, &stage.reduceAxes})
      for (uint32_t axis : *axes)
        n *= static_cast<double>(kernel_.likelyExtent(axis));
    return n;
  }

  bool canInline(size_t index) const {
    const Stage &stage = kernel_.stages[index];
    if (stage.reduce != Reduce::None || stage.keep ||
        kernel_.buffers[stage.buffer].role != Role::Temp)
      return false;
    BodySize size = sizeOf(exprs_, stage.body);
    bool costly = size.costly > 0;
    bool isPlainLoad = exprs_[stage.body].op == Op::Load;
    size_t users = 0;
    bool hasReduction = false;
    for (size_t s = index + 1; s < kernel_.stages.size(); ++s) {
      const Stage &user = kernel_.stages[s];
      if (!loadsFrom(exprs_, user, stage.buffer))
        continue;
      ++users;
      hasReduction = hasReduction || user.reduce != Reduce::None;
      if ((isProduct(exprs_, user) && !isPlainLoad) || isProductOfPairs(exprs_, user))
        return false;
      if (costly && (volume(user) > volume(stage) ||
                     size.costly + sizeOf(exprs_, user.body).costly > mostCostly))
        return false;
    }
    return !(costly && users > 1 && hasReduction);
  }

  bool inlineInto(size_t index) {
    const Stage stage = kernel_.stages[index];
    std::vector<std::pair<size_t, Ref>> changed;
    bool ok = true;
    auto expand = [&](Ref, const Expr &e) -> Ref {
      if (e.op != Op::Load || e.i != stage.buffer || !ok)
        return noRef;
      auto values = unravel(exprs_, stage, e.a);
      if (!values) {
        ok = false;
        return noRef;
      }
      return exprs_.substitute(stage.body, *values);
    };
    for (size_t s = index + 1; s < kernel_.stages.size() && ok; ++s)
      if (loadsFrom(exprs_, kernel_.stages[s], stage.buffer)) {
        changed.push_back({s, exprs_.rewrite(kernel_.stages[s].body, expand)});
        ok = ok && sizeOf(exprs_, changed.back().second).nodes <= mostNodes;
      }
    if (!ok)
      return false;
    for (auto [s, body] : changed)
      kernel_.stages[s].body = body;
    return true;
  }

  Kernel &kernel_;
  Exprs &exprs_;
};

} // namespace

bool isCostly(Op op) {
  return (op >= Op::Exp && op <= Op::Sigmoid && op != Op::Sqrt) || op == Op::Libm1 ||
         op == Op::Libm2;
}

bool isProductOfPairs(const Exprs &exprs, const Stage &stage) {
  Op op = exprs[stage.body].op;
  return stage.reduce == Reduce::Sum && (op == Op::DotPairs || op == Op::DotBFloat16);
}

std::optional<std::vector<std::pair<uint32_t, Ref>>>
byStride(Exprs &exprs, const std::vector<uint32_t> &axes, Ref store) {
  std::vector<std::pair<uint32_t, Ref>> strides;
  bool isKnown = true;
  for (uint32_t axis : axes) {
    Ref stride = exprs.stride(store, axis);
    if (stride == noRef || (exprs.constant(stride) && *exprs.constant(stride) <= 0))
      return std::nullopt;
    isKnown = isKnown && exprs.constant(stride);
    strides.push_back({axis, stride});
  }
  if (isKnown) {
    std::stable_sort(strides.begin(), strides.end(), [&](auto &a, auto &b) {
      return *exprs.constant(a.second) > *exprs.constant(b.second);
    });
    return strides;
  }
  for (size_t d = 0; d + 1 < strides.size(); ++d)
    if (strides[d].second != exprs.mul(strides[d + 1].second, exprs.extent(strides[d + 1].first)))
      return std::nullopt;
  return strides;
}

void inlineStages(Kernel &kernel) { Inliner(kernel).run(); }

} // namespace bycc::loops
