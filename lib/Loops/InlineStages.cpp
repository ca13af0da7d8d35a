// Inlines elementwise stages into their consumers: a load of the stage's buffer
// becomes its body, with the axes recovered from the flat index of the load. Under a
// guard an axis has the range that the condition leaves: without the last place that a
// pad has added, divisions of the index fold. A body is
// repeated for each index that it is read at, and emitted again for each part of a
// tile: how large one may get, and how many costly functions it may have, is bounded.
#include "LoopSteps.h"

#include <algorithm>
#include <map>

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

bool loadsFrom(const Exprs &exprs, Ref root, uint32_t buffer) {
  bool found = false;
  exprs.visit(root, [&](Ref ref) {
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

// The places of an axis, from `low` on, before `high`.
struct Places {
  Ref low, high;
};
using PlacesOf = std::map<uint32_t, Places>;

// What conditions say about axes.
class Conditions {
public:
  explicit Conditions(Exprs &exprs) : exprs_(exprs) {}

  // Where `condition` holds, or does not. What is no bound of an axis says nothing.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the condition.
  void narrow(PlacesOf &places, Ref condition, bool holds) {
    const Expr e = exprs_[condition];
    if (e.op == Op::And && holds) {
      narrow(places, e.a, true);
      narrow(places, e.b, true);
    } else if (e.op == Op::Not) {
      narrow(places, e.a, !holds);
    } else if ((e.op == Op::Lt || e.op == Op::Le) && exprs_.type(e.a) == DType::Int64) {
      // a < b, a <= b; else b < a + 1, b < a
      Ref one = exprs_.integer(1);
      if (holds)
        less(places, e.a, e.op == Op::Lt ? e.b : exprs_.add(e.b, one));
      else
        less(places, e.b, e.op == Op::Lt ? exprs_.add(e.a, one) : e.a);
    }
  }

private:
  // Where a < b.
  void less(PlacesOf &places, Ref a, Ref b) {
    if (std::optional<uint32_t> axis = axisOf(a))
      at(places, *axis).high = exprs_.sub(b, exprs_.sub(a, exprs_.axis(*axis)));
    if (std::optional<uint32_t> axis = axisOf(b))
      at(places, *axis).low = exprs_.plus(exprs_.sub(a, exprs_.sub(b, exprs_.axis(*axis))), 1);
  }

  // Of an axis plus what is the same at all places.
  std::optional<uint32_t> axisOf(Ref ref) const {
    std::optional<uint32_t> axis;
    size_t count = 0;
    exprs_.visit(ref, [&](Ref part) {
      const Expr &e = exprs_[part];
      if (e.op == Op::Axis)
        axis = static_cast<uint32_t>(e.i);
      count += e.op == Op::Axis || e.op == Op::Load;
      return true;
    });
    return count == 1 && axis && exprs_.coefficient(ref, *axis) == 1 ? axis : std::nullopt;
  }

  Places &at(PlacesOf &places, uint32_t axis) {
    return places.try_emplace(axis, Places{exprs_.integer(0), exprs_.extent(axis)}).first->second;
  }

  Exprs &exprs_;
};

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
      if (!loadsFrom(exprs_, user.body, stage.buffer))
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
    stage_ = kernel_.stages[index];
    isPlain_ = true;
    std::vector<std::pair<size_t, Ref>> changed;
    bool isSmall = true;
    for (size_t s = index + 1; s < kernel_.stages.size() && isPlain_ && isSmall; ++s)
      if (loadsFrom(exprs_, kernel_.stages[s].body, stage_.buffer)) {
        changed.push_back({s, inlined(kernel_.stages[s].body, {})});
        isSmall = sizeOf(exprs_, changed.back().second).nodes <= mostNodes;
      }
    if (!isPlain_ || !isSmall)
      return false;
    for (auto [s, body] : changed)
      kernel_.stages[s].body = body;
    return true;
  }

  // The outermost guards of `root` on their own, as their branches have other places.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as guards lie in each other.
  Ref inlined(Ref root, const PlacesOf &places) {
    if (!loadsFrom(exprs_, root, stage_.buffer))
      return root;
    std::map<Ref, Ref> guards;
    exprs_.visit(root, [&](Ref ref) {
      bool isGuard = exprs_[ref].op == Op::Guard;
      if (isGuard)
        guards[ref] = noRef;
      return !isGuard;
    });
    for (auto &[guard, to] : guards)
      to = inlinedGuard(guard, places);
    std::unordered_map<uint32_t, Ref> there, back;
    for (const auto &[axis, range] : places) {
      uint32_t narrow = exprs_.newAxis(exprs_.sub(range.high, range.low));
      there[axis] = exprs_.add(exprs_.axis(narrow), range.low);
      back[narrow] = exprs_.sub(exprs_.axis(axis), range.low);
    }
    return exprs_.rewrite(root, [&](Ref old, const Expr &e) -> Ref {
      if (auto guard = guards.find(old); guard != guards.end())
        return guard->second;
      if (e.op != Op::Load || e.i != stage_.buffer)
        return noRef;
      auto values = unravel(exprs_, stage_, exprs_.substitute(e.a, there));
      isPlain_ = isPlain_ && values;
      return values ? exprs_.substitute(exprs_.substitute(stage_.body, *values), back) : noRef;
    });
  }

  // NOLINTNEXTLINE(misc-no-recursion): see inlined().
  Ref inlinedGuard(Ref guard, const PlacesOf &places) {
    const Expr e = exprs_[guard];
    PlacesOf inside = places, outside = places;
    Conditions(exprs_).narrow(inside, e.a, true);
    Conditions(exprs_).narrow(outside, e.a, false);
    Ref condition = inlined(e.a, places), a = inlined(e.b, inside);
    return exprs_.guard(condition, a, inlined(e.c, outside));
  }

  Kernel &kernel_;
  Exprs &exprs_;
  Stage stage_;         // that goes into others
  bool isPlain_ = true; // so far: every load of it is unravelled
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
