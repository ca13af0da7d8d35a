// See Sums.h.
#include "Sums.h"

#include "Usage.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bycc::onednn {

namespace {

constexpr double exactInFloat32 = 1 << 24;

// The products that are added for one element of the result.
double productsOf(const Plan &plan, const Step &step) {
  if (step.kind == StepKind::MatMul)
    return static_cast<double>(plan.values[step.inputs[0]].dims.back());
  return static_cast<double>(numElements(plan.values[step.inputs[1]].dims)) /
         static_cast<double>(plan.values[step.output].dims[1]);
}

double largest(DType dtype, int32_t zero) {
  Range range = rangeOf(dtype);
  return std::max(std::fabs(double{range.low} - zero), std::fabs(double{range.high} - zero));
}

double largestSum(const Plan &plan, const Step &step) {
  if (step.hasBias)
    return std::numeric_limits<double>::infinity();
  DType data = plan.values[step.inputs[0]].dtype, weights = plan.values[step.inputs[1]].dtype;
  return productsOf(plan, step) * largest(data, step.zeroIn) * largest(weights, step.zeroWeights);
}

// Values whose elements something other than a change of scale reads, by their roots.
std::vector<bool> seenValues(const Plan &plan, const Usage &usage) {
  std::vector<bool> isSeen(plan.values.size());
  for (ValueId id : plan.outputs)
    isSeen[usage.root[id]] = true;
  for (const Step &step : plan.steps) {
    for (ValueId id : step.inputs)
      if (!isView(step.kind) && step.kind != StepKind::Convert)
        isSeen[usage.root[id]] = true;
    for (const PostOp &postOp : step.postOps)
      if (postOp.operand != noValue)
        isSeen[usage.root[postOp.operand]] = true;
  }
  return isSeen;
}

} // namespace

std::vector<double> sumsThatLeave(const Plan &plan) {
  Usage usage(plan);
  std::vector<bool> isSeen = seenValues(plan, usage);
  std::vector<double> sums;
  for (const Step &step : plan.steps)
    if (isProduct(step.kind) && plan.values[step.output].dtype == DType::Int32 &&
        isSeen[step.output])
      sums.push_back(largestSum(plan, step));
  return sums;
}

Expected<> checkSums(const Plan &plan) {
  std::vector<double> sums = sumsThatLeave(plan);
  if (std::all_of(sums.begin(), sums.end(), [](double sum) { return sum <= exactInFloat32; }))
    return {};
  return error(Status::Unsup)
         << "int32: oneDNN's sums pass through float32, which is exact up to 2^24, "
            "and these may be larger";
}

} // namespace bycc::onednn
