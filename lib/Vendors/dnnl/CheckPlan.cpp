// The checks that make a plan safe to hand to the library, which itself accepts
// nonsense extents without complaint.
#include "Plan.h"

#include <algorithm>
#include <cmath>

namespace bycc::onednn {

namespace {

constexpr int64_t maxExtent = int64_t{1} << 31;
constexpr int64_t maxElements = (int64_t{1} << 31) - 1; // kernels count in 32 bits
constexpr int64_t maxWindow = int64_t{1} << 15;         // strides, dilations, pads

// Checks one step; value ids are known to be in range.
class StepChecker {
public:
  StepChecker(const Plan &plan, const Step &step) : plan_(plan), step_(step) {}

  Expected<> check() const {
    if (step_.inputs.empty())
      return bad("has no operand");
    BYCC_TRY(checkKind());
    BYCC_TRY(checkQuantization());
    return checkPostOps();
  }

private:
  Error bad(const std::string &what) const {
    return error(Status::Unsup) << name(step_.kind) << ": " << what;
  }
  const Dims &in(size_t index) const { return plan_.values[step_.inputs[index]].dims; }
  const Dims &out() const { return plan_.values[step_.output].dims; }
  DType dtypeIn(size_t index) const { return plan_.values[step_.inputs[index]].dtype; }
  DType dtypeOut() const { return plan_.values[step_.output].dtype; }
  Error shapes(const Dims &found, const Dims &wanted) const {
    return bad("shape " + text(found) + ", wanted " + text(wanted));
  }

  Expected<> checkKind() const {
    switch (step_.kind) {
    case StepKind::Conv:
      return checkConv(false);
    case StepKind::Deconv:
      return checkConv(true);
    case StepKind::MatMul:
      return checkMatMul();
    case StepKind::Pool:
      return checkPool();
    case StepKind::Softmax:
      return checkAlongAxis(step_.math == Math::Softmax || step_.math == Math::LogSoftmax);
    case StepKind::LayerNorm:
      return checkLayerNorm();
    case StepKind::Eltwise:
      return checkAlongAxis(isEltwise(step_.math));
    case StepKind::Binary:
      return checkBinary();
    case StepKind::Concat:
      return checkConcat();
    case StepKind::Reduce:
      return checkReduce();
    case StepKind::Convert:
      return in(0) == out() ? operands(1, 1) : Expected<>(shapes(out(), in(0)));
    case StepKind::Pad:
      return checkPad();
    case StepKind::Reshape:
      return checkReshape();
    case StepKind::Permute:
      return checkPermute();
    case StepKind::Slice:
      return checkSlice();
    }
    return bad("unknown kind");
  }

  Expected<> operands(size_t least, size_t most) const {
    if (step_.inputs.size() < least || step_.inputs.size() > most)
      return bad("has " + std::to_string(step_.inputs.size()) + " operands");
    return {};
  }

  Expected<> checkBias(int64_t channels) const {
    if (step_.hasBias && in(2) != Dims{channels})
      return shapes(in(2), {channels});
    return {};
  }

  Expected<> checkWindow(size_t spatial) const {
    for (const Dims *dims :
         {&step_.kernel, &step_.strides, &step_.dilation, &step_.padBegin, &step_.padEnd})
      if (dims->size() != spatial)
        return bad("window of wrong rank");
    for (size_t i = 0; i < spatial; ++i) {
      for (const Dims *dims : {&step_.kernel, &step_.strides, &step_.dilation})
        if ((*dims)[i] < 1 || (*dims)[i] > maxWindow)
          return bad("kernel, stride or dilation " + std::to_string((*dims)[i]) +
                     " is out of range");
      for (const Dims *dims : {&step_.padBegin, &step_.padEnd})
        if ((*dims)[i] < 0 || (*dims)[i] > maxWindow)
          return bad("padding " + std::to_string((*dims)[i]) + " is out of range");
    }
    return {};
  }

  // Extents of a sliding window; all terms are below 2^31, so nothing wraps.
  Expected<> checkWindowShape(const Dims &from, const Dims &to) const {
    for (size_t i = 0; i + 2 < from.size(); ++i) {
      int64_t reach = (step_.kernel[i] - 1) * step_.dilation[i] + 1;
      int64_t padded = from[i + 2] + step_.padBegin[i] + step_.padEnd[i];
      if (reach > padded)
        return bad("kernel reaches " + std::to_string(reach) + ", padded data has " +
                   std::to_string(padded));
      if ((padded - reach) / step_.strides[i] + 1 != to[i + 2])
        return bad("extent " + std::to_string(to[i + 2]) + " does not follow from the window");
    }
    return {};
  }

  Expected<> checkConv(bool isTransposed) const {
    BYCC_TRY(operands(2 + step_.hasBias, 2 + step_.hasBias));
    const Dims &data = in(0), &weights = in(1), &result = out();
    size_t rank = data.size();
    if (rank < 3 || rank > 5 || result.size() != rank)
      return bad("data of rank " + std::to_string(rank) + ", wanted 3 to 5");
    BYCC_TRY(checkWindow(rank - 2));
    uint64_t groups = step_.groups;
    int64_t inChannels = data[1], outChannels = result[1];
    if (groups < 1 || groups > static_cast<uint64_t>(maxExtent) ||
        inChannels % static_cast<int64_t>(groups) || outChannels % static_cast<int64_t>(groups))
      return bad(std::to_string(groups) + " groups do not divide the channels");
    int64_t g = static_cast<int64_t>(groups);
    Dims wanted;
    if (g > 1)
      wanted.push_back(g);
    wanted.insert(wanted.end(), {outChannels / g, inChannels / g});
    wanted.insert(wanted.end(), step_.kernel.begin(), step_.kernel.end());
    if (weights != wanted)
      return shapes(weights, wanted);
    if (data[0] != result[0])
      return bad("batch differs");
    BYCC_TRY(checkBias(outChannels));
    return isTransposed ? checkWindowShape(result, data) : checkWindowShape(data, result);
  }

  Expected<> checkMatMul() const {
    BYCC_TRY(operands(2 + step_.hasBias, 2 + step_.hasBias));
    const Dims &a = in(0), &b = in(1), &result = out();
    size_t rank = a.size();
    if (rank < 2 || b.size() != rank || result.size() != rank)
      return bad("ranks differ");
    for (size_t i = 0; i + 2 < rank; ++i)
      if (std::max(a[i], b[i]) != result[i] || (a[i] != b[i] && std::min(a[i], b[i]) != 1))
        return bad("batches " + text(a) + " and " + text(b) + " do not fit");
    if (a[rank - 1] != b[rank - 2] || a[rank - 2] != result[rank - 2] ||
        b[rank - 1] != result[rank - 1])
      return bad(text(a) + " x " + text(b) + " is not " + text(result));
    return checkBias(result[rank - 1]);
  }

  Expected<> checkPool() const {
    BYCC_TRY(operands(1, 1));
    if (step_.math < Math::MaxPool || step_.math > Math::AvgPoolAll)
      return bad("bad algorithm");
    const Dims &data = in(0), &result = out();
    if (data.size() < 3 || data.size() > 5 || result.size() != data.size())
      return bad("data of rank " + std::to_string(data.size()) + ", wanted 3 to 5");
    BYCC_TRY(checkWindow(data.size() - 2));
    if (data[0] != result[0] || data[1] != result[1])
      return bad("batch or channels differ");
    for (size_t i = 0; i < step_.kernel.size(); ++i) {
      if (step_.padBegin[i] >= step_.kernel[i] || step_.padEnd[i] >= step_.kernel[i])
        return bad("padding is not smaller than the window");
      if (step_.dilation[i] != 1)
        return bad("dilation " + std::to_string(step_.dilation[i]) + " is not supported");
    }
    return checkWindowShape(data, result);
  }

  Expected<> checkAlongAxis(bool isGoodMath) const {
    BYCC_TRY(operands(1, 1));
    if (!isGoodMath)
      return bad("bad algorithm");
    if (in(0) != out())
      return shapes(out(), in(0));
    if (step_.axis >= in(0).size())
      return bad("axis is out of range");
    return {};
  }

  Expected<> checkLayerNorm() const {
    size_t count = 1u + step_.hasScale + step_.hasShift;
    BYCC_TRY(operands(count, count));
    if (in(0).size() != 2 || in(0) != out())
      return shapes(out(), in(0));
    for (size_t i = 1; i < count; ++i)
      if (in(i) != Dims{in(0)[1]})
        return shapes(in(i), {in(0)[1]});
      else if (dtypeIn(i) != DType::Float32)
        return bad("scale or shift of " + std::string(name(dtypeIn(i))));
    return {};
  }

  // `small` has the rank of `large` and its extents, or 1.
  static bool broadcasts(const Dims &small, const Dims &large) {
    if (small.size() != large.size())
      return false;
    for (size_t i = 0; i < small.size(); ++i)
      if (small[i] != large[i] && small[i] != 1)
        return false;
    return true;
  }

  Expected<> checkBinary() const {
    BYCC_TRY(operands(2, 2));
    if (!isBinary(step_.math))
      return bad("bad algorithm");
    if (in(0) != out())
      return shapes(in(0), out());
    if (!broadcasts(in(1), out()))
      return shapes(in(1), out());
    return {};
  }

  Expected<> checkConcat() const {
    size_t axis = step_.axis;
    if (axis >= out().size())
      return bad("axis is out of range");
    int64_t sum = 0;
    for (size_t i = 0; i < step_.inputs.size(); ++i) {
      if (in(i).size() != out().size())
        return bad("ranks differ");
      sum += in(i)[axis];
      Dims wanted = out();
      wanted[axis] = in(i)[axis];
      if (in(i) != wanted)
        return shapes(in(i), wanted);
    }
    return sum == out()[axis] ? Expected<>() : bad("extents do not add up");
  }

  Expected<> checkReduce() const {
    BYCC_TRY(operands(1, 1));
    if (step_.math != Math::Add && step_.math != Math::Mean)
      return bad("bad algorithm");
    if (!broadcasts(out(), in(0)) || in(0) == out())
      return shapes(out(), in(0));
    return {};
  }

  Expected<> checkReshape() const {
    BYCC_TRY(operands(1, 1));
    if (numElements(in(0)) != numElements(out()))
      return shapes(out(), in(0));
    return {};
  }

  Expected<> checkPermute() const {
    BYCC_TRY(operands(1, 1));
    const Dims &from = in(0), &to = out();
    if (step_.permutation.size() != from.size() || to.size() != from.size())
      return bad("not a permutation of the axes");
    uint64_t seen = 0;
    for (size_t i = 0; i < to.size(); ++i) {
      int64_t axis = step_.permutation[i];
      if (axis < 0 || axis >= static_cast<int64_t>(from.size()) || (seen >> axis & 1))
        return bad("not a permutation of the axes");
      seen |= uint64_t{1} << axis;
      if (to[i] != from[axis])
        return shapes(to, from);
    }
    return {};
  }

  Expected<> checkSlice() const {
    BYCC_TRY(operands(1, 1));
    const Dims &from = in(0), &to = out(), &begin = step_.padBegin, &strides = step_.strides;
    if (begin.size() != from.size() || to.size() != from.size() ||
        (!strides.empty() && strides.size() != from.size()))
      return bad("slice of wrong rank");
    for (size_t i = 0; i < from.size(); ++i) {
      int64_t stride = strides.empty() ? 1 : strides[i];
      if (stride < 1 || begin[i] < 0 || begin[i] >= from[i] ||
          to[i] - 1 > (from[i] - 1 - begin[i]) / stride)
        return bad(std::to_string(to[i]) + " elements from " + std::to_string(begin[i]) +
                   " on, each " + std::to_string(stride) + "th, of " + std::to_string(from[i]));
    }
    return {};
  }

  Expected<> checkPad() const {
    BYCC_TRY(operands(1, 1));
    const Dims &from = in(0), &to = out();
    if (step_.padBegin.size() != from.size() || step_.padEnd.size() != from.size() ||
        to.size() != from.size())
      return bad("padding of wrong rank");
    for (size_t i = 0; i < from.size(); ++i) {
      for (int64_t pad : {step_.padBegin[i], step_.padEnd[i]})
        if (pad < 0 || pad > maxWindow)
          return bad("padding " + std::to_string(pad) + " is out of range");
      if (from[i] + step_.padBegin[i] + step_.padEnd[i] != to[i])
        return shapes(to, from);
    }
    return {};
  }

  // How many scales there may be when it is more than one.
  int64_t numScales() const {
    if (isProduct(step_.kind))
      return out()[channelAxis(step_.kind, out().size())];
    if (step_.kind == StepKind::Convert)
      return step_.axis < out().size() ? out()[step_.axis] : 1;
    return step_.kind == StepKind::Binary ? 2 : 0;
  }

  Expected<> checkQuantization() const {
    size_t count = step_.scales.size();
    int64_t most = numScales();
    bool isOneForAll = count == 1 && most > 0 && step_.kind != StepKind::Binary;
    if (count != 0 && !isOneForAll && static_cast<int64_t>(count) != most)
      return bad(std::to_string(count) + " scales, wanted " + std::to_string(most));
    for (float scale : step_.scales)
      if (!std::isfinite(scale))
        return bad("a scale is not finite");
    return checkDTypes();
  }

  // Dtypes as the library's kernels pair them; views and others keep theirs.
  Expected<> checkDTypes() const {
    DType from = dtypeIn(0), to = dtypeOut();
    if (isProduct(step_.kind)) {
      DType weights = dtypeIn(1);
      if (isReal(from) ? weights != from : !isQuantized(from) || weights != DType::Int8)
        return bad(std::string(name(from)) + " with weights of " + std::string(name(weights)));
    }
    if (from == to || mayDiffer(from, to))
      return {};
    return bad(std::string(name(from)) + " to " + std::string(name(to)));
  }

  bool mayDiffer(DType from, DType to) const {
    switch (step_.kind) {
    case StepKind::Conv:
    case StepKind::Deconv:
    case StepKind::MatMul:
      return isQuantized(from) || (from == DType::BFloat16 && to == DType::Float32);
    case StepKind::Binary:
      return isQuantized(from) && isQuantized(to);
    case StepKind::Softmax:
    case StepKind::Reduce:
      return isReal(from) && isReal(to);
    default:
      return step_.kind == StepKind::Convert;
    }
  }

  Expected<> checkPostOps() const {
    if (step_.postOps.size() > 31)
      return bad("more than 31 post-ops");
    if (!step_.postOps.empty() && !isProduct(step_.kind) && step_.kind != StepKind::Binary)
      return bad("takes no post-ops");
    for (const PostOp &postOp : step_.postOps) {
      if (!std::isfinite(postOp.scale))
        return bad("bad post-op");
      bool hasOperand = postOp.operand != noValue;
      if (hasOperand ? !isBinary(postOp.math) : !isEltwise(postOp.math))
        return bad("bad post-op");
      if (hasOperand && !broadcasts(plan_.values[postOp.operand].dims, out()))
        return shapes(plan_.values[postOp.operand].dims, out());
    }
    return {};
  }

  const Plan &plan_;
  const Step &step_;
};

Expected<> checkIds(const Plan &plan) {
  std::vector<bool> isDefined(plan.values.size());
  auto define = [&](ValueId id, ValueKind kind) {
    if (id >= plan.values.size() || isDefined[id] || plan.values[id].kind != kind)
      return false;
    isDefined[id] = true;
    return true;
  };
  auto isUsable = [&](ValueId id) {
    return id < plan.values.size() &&
           (isDefined[id] || plan.values[id].kind == ValueKind::Constant);
  };
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    if (!define(plan.inputs[i], ValueKind::Input) || plan.values[plan.inputs[i]].where != i)
      return error(Status::Load) << "region plan: bad input " << i;
  for (const Step &step : plan.steps) {
    for (ValueId id : step.inputs)
      if (!isUsable(id))
        return error(Status::Load) << "region plan: operand used before its definition";
    for (const PostOp &postOp : step.postOps)
      if (postOp.operand != noValue && !isUsable(postOp.operand))
        return error(Status::Load) << "region plan: post-op operand used before its definition";
    if (!define(step.output, ValueKind::Temp))
      return error(Status::Load) << "region plan: bad result";
  }
  for (ValueId id : plan.outputs)
    if (!isUsable(id))
      return error(Status::Load) << "region plan: bad output";
  return {};
}

} // namespace

Expected<> checkDims(const Dims &dims, DType dtype) {
  if (dims.empty() || dims.size() > maxRank)
    return error(Status::Unsup) << "rank " << dims.size() << " is not supported, at most "
                                << maxRank;
  int64_t elements = 1;
  for (int64_t dim : dims) {
    if (dim < 1 || dim >= maxExtent)
      return error(Status::Unsup) << "extent " << dim << " of " << text(dims)
                                  << " is not supported";
    if (elements > maxElements / dim)
      return error(Status::Unsup) << "tensor " << text(dims) << " of " << name(dtype)
                                  << " is too large for oneDNN's 32-bit counts";
    elements *= dim;
  }
  return {};
}

Expected<> checkPlan(const Plan &plan) {
  for (const Value &value : plan.values)
    BYCC_TRY(checkDims(value.dims, value.dtype));
  BYCC_TRY(checkIds(plan));
  for (const Step &step : plan.steps) {
    if (step.hasBias > 1 || step.hasScale > 1 || step.hasShift > 1)
      return error(Status::Load) << "region plan: bad flag";
    BYCC_TRY(StepChecker(plan, step).check());
  }
  return {};
}

} // namespace bycc::onednn
