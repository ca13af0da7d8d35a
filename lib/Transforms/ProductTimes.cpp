// See ProductTimes.h.
#include "ProductTimes.h"

#include "SimplifyRules.h"
#include "bycc/IR/LikelyExtents.h"
#include "bycc/IR/Op.h"
#include "bycc/Support/Layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bycc {

double shareOfTaps(const Module &module, NodeId call) {
  auto extents = [&](NodeId node) {
    std::vector<int64_t> likely;
    for (Dim dim : module.types.shape(module.type(node)).subspan(2))
      likely.push_back(module.types.likely(dim));
    return likely;
  };
  if (!isPlainConvolution(module, call) ||
      !attrs::text(module, call, "data_layout").starts_with("NC"))
    return 1;
  std::vector<int64_t> out = extents(call), in = extents(module.operands(call)[0]),
                       taps = extents(module.operands(call)[1]);
  auto strides = attrs::perAxis(module, call, "strides", out.size());
  auto dilation = attrs::perAxis(module, call, "dilation", out.size());
  Padding padding = attrs::padding(module, call, out.size());
  constexpr int64_t manyTaps = 128; // padding is little of these
  double share = 1;
  for (size_t s = 0; s < out.size(); ++s) {
    if (out[s] < 1 || taps[s] < 1 || taps[s] > manyTaps)
      continue;
    // Places before the one that reads element `at` or one behind it.
    auto placesBefore = [&](double at) {
      return std::clamp(std::ceil(at / static_cast<double>(strides[s])), 0.0,
                        static_cast<double>(out[s]));
    };
    double read = 0;
    for (int64_t tap = 0; tap < taps[s]; ++tap) {
      double first = static_cast<double>(padding.before[s]) -
                     static_cast<double>(tap) * static_cast<double>(dilation[s]);
      read += placesBefore(first + static_cast<double>(in[s])) - placesBefore(first);
    }
    share *= read / (static_cast<double>(out[s]) * static_cast<double>(taps[s]));
  }
  return share;
}

// The fastest way of the target to multiply in bfloat16; without one, decisions
// are those for the slowest that there is.
static double halfRate(const PrecisionRules &rules, const TargetInfo &target) {
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (const auto &[feature, rate] : rules.bf16FlopsPerMicrosecond) {
    least = std::min(least, rate);
    if (target.has(feature))
      best = std::max(best, rate);
  }
  return best > 0 ? best : least;
}

ProductTimes::ProductTimes(const Module &module, const PassContext &context,
                           const PrecisionRules &rules)
    : module_(module), floatRate_(rules.flopsPerMicrosecond),
      halfRate_(halfRate(rules, *context.target)) {
  const CostModel *host = context.hostTimes();
  // Who has rules of their own says in them how fast products are, too.
  if (context.precision || !host || !context.vendors)
    return;
  auto add = [&](const CostModel &costs, double trust, std::unique_ptr<VendorAsker> asker) {
    models_.push_back({costs, trust, std::move(asker)});
    models_.back().costs.threads = std::max(1, context.target->threads);
  };
  add(*host, 1, nullptr);
  for (size_t i = 0; i < context.vendors->size(); ++i)
    if (const Vendor &vendor = (*context.vendors)[i]; vendor.cost && !vendor.isEmulated())
      add(*vendor.cost, vendor.cost->trustInProducts(),
          std::make_unique<VendorAsker>(vendor, module, *context.target));
  if (models_.size() == 1)
    models_.clear();
}

// Of extents that are known at run time only not all vendors take what they take else.
bool ProductTimes::takes(const Model &model, NodeId product) const {
  if (!model.asker)
    return true;
  auto isStatic = [&](NodeId node) { return module_.types.isStatic(module_.type(node)); };
  bool isOpen = !isStatic(product) || !std::ranges::all_of(module_.operands(product), isStatic);
  return !model.asker->vendor().mayTake(module_.node(product).op).empty() &&
         (!isOpen || model.asker->supports(product).isYes);
}

ProductTimes::Times ProductTimes::of(NodeId product) const {
  if (models_.empty())
    return byRules(product);
  constexpr double never = std::numeric_limits<double>::infinity();
  Times least{never, never};
  for (const Model &model : models_) {
    if (!takes(model, product))
      continue;
    least.inFloat = std::min(least.inFloat, microseconds(model, product, DType::Float32));
    least.inHalf = std::min(least.inHalf, microseconds(model, product, DType::BFloat16));
  }
  return least;
}

ProductTimes::Times ProductTimes::byRules(NodeId product) const {
  double flops = flopsOf(module_, product);
  double inFloat = shareOfTaps(module_, product) * flops / floatRate_;
  bool isGuess = hasUnknownExtents(module_, product);
  return {inFloat, isGuess ? inFloat : flops / halfRate_};
}

double ProductTimes::microseconds(const Model &model, NodeId product, DType dtype) const {
  std::optional<CostRates> said = model.costs.ratesIn(dtype, module_, product);
  CostRates rates = said ? *said : model.costs.ratesOf(module_, product);
  if (dtype == DType::Float32)
    rates.flopsPerMicrosecond /= shareOfTaps(module_, product);
  else if (!said && model.asker)
    rates.flopsPerMicrosecond *= halfRate_ / floatRate_;
  double arithmetic = rates.arithmetic(flopsOf(module_, product));
  return (rates.callMicroseconds + arithmetic) * model.trust;
}

} // namespace bycc
