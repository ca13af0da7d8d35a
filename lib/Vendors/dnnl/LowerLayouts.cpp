// See LowerLayouts.h.
#include "LowerLayouts.h"

#include "Prefer.h"
#include "Threads.h"

#include <algorithm>

namespace bycc::onednn {

std::vector<Layout> LayoutChooser::postOpLayouts(const Step &step) const {
  std::vector<Layout> out;
  for (const PostOp &postOp : step.postOps)
    out.push_back(postOp.operand == noValue ? Layout() : layoutOf(postOp.operand));
  return out;
}

std::vector<Layouts> LayoutChooser::candidates(const Step &step, int sum) const {
  switch (step.kind) {
  case StepKind::Conv:
  case StepKind::Deconv:
    return convLayouts(step);
  case StepKind::MatMul:
    return matmulLayouts(step, sum);
  case StepKind::Binary:
    return {binaryLayouts(step), plainLayouts(step)};
  case StepKind::Convert:
    return {flowingLayouts(step, convertedLayout(step)), plainLayouts(step)};
  case StepKind::Concat:
    return {concatLayouts(step), flowingLayouts(step, any(step.output)), plainLayouts(step)};
  case StepKind::Pool:
    // The library pools integers in this layout alone.
    return {flowingLayouts(step, any(step.output)), plainLayouts(step), channelsLast(step)};
  case StepKind::Reduce:
    return {flowingLayouts(step, any(step.output)), plainLayouts(step)};
  default:
    return {flowingLayouts(step, withDType(flowing(step.inputs[0]), value(step.output).dtype)),
            plainLayouts(step)};
  }
}

Layouts LayoutChooser::plainLayouts(const Step &step) const {
  Layouts out;
  for (ValueId id : step.inputs)
    out.inputs.push_back(plain(id));
  if (step.kind == StepKind::MatMul)
    out.inputs[1] = weightsLayout(step);
  if (isProduct(step.kind) && step.hasBias)
    out.inputs[2] = biasLayout(plan_, step);
  out.output = plain(step.output);
  return out;
}

Layouts LayoutChooser::flowingLayouts(const Step &step, const Layout &output) const {
  Layouts out;
  for (ValueId id : step.inputs)
    out.inputs.push_back(flowing(id));
  out.output = output;
  return out;
}

std::vector<Layouts> LayoutChooser::convLayouts(const Step &step) const {
  Layouts free{{any(step.inputs[0]), any(step.inputs[1])}, any(step.output)};
  if (step.hasBias)
    free.inputs.push_back(biasLayout(plan_, step));
  Layouts kept = free;
  if (!stridesOf(layoutOf(step.inputs[0])))
    kept.inputs[0] = layoutOf(step.inputs[0]);
  Layouts sliced = kept;
  sliced.output = blocked(step.output);
  if (concatOf(step))
    return {sliced, kept, free};
  return {kept, free};
}

// All in one layout, that of the first operand which is not row-major. The library would
// take them as they are, an element at a time: 48 instead of 5 us for 32 channels of 32x32.
Layouts LayoutChooser::concatLayouts(const Step &step) const {
  size_t rank = value(step.output).dims.size();
  bool hasLast = rank >= 3 && rank <= 5 &&
                 std::any_of(step.inputs.begin(), step.inputs.end(),
                             [&](ValueId id) { return !isPlain(flowing(id)); });
  return hasLast ? channelsLast(step) : plainLayouts(step);
}

Layouts LayoutChooser::channelsLast(const Step &step) const {
  Layouts out;
  for (ValueId id : step.inputs)
    out.inputs.push_back(channelsLastLayout(value(id).dims, value(id).dtype));
  out.output = channelsLastLayout(value(step.output).dims, value(step.output).dtype);
  return out;
}

Layouts LayoutChooser::binaryLayouts(const Step &step) const {
  Layouts out = flowingLayouts(step, withDType(flowing(step.inputs[0]), value(step.output).dtype));
  if (value(step.inputs[0]).dims != value(step.inputs[1]).dims)
    return out;
  // Bring the row-major operand to the other's layout.
  size_t from = isPlain(out.inputs[0]) ? 1 : 0;
  out.inputs[1 - from] = withDType(out.inputs[from], value(step.inputs[1 - from]).dtype);
  out.output = withDType(out.inputs[from], value(step.output).dtype);
  return out;
}

// In place, as it were: a reorder of the narrower elements afterwards is faster than one
// that does both (1x3x224x224 float32 to int8 channels last: 46 us instead of 79).
Layout LayoutChooser::convertedLayout(const Step &step) const {
  return withDType(flowing(step.inputs[0]), value(step.output).dtype);
}

Layout LayoutChooser::weightsLayout(const Step &step) const {
  return usage_.isConstant[step.inputs[1]] ? any(step.inputs[1]) : plain(step.inputs[1]);
}

// Strided operands and results first, then row-major ones. The library's kernel fails at
// run time for odd strides of axes of extent 1.
std::vector<Layouts> LayoutChooser::matmulLayouts(const Step &step, int sum) const {
  Layouts rowMajor = plainLayouts(step), strided = rowMajor;
  for (size_t i = 0; i < 2; ++i)
    if (!(i == 1 && usage_.isConstant[step.inputs[1]]) && stridesOf(layoutOf(step.inputs[i])) &&
        !isPlain(layoutOf(step.inputs[i]))) // else axes of extent 1 with the strides of row-major
      strided.inputs[i] = layoutOf(step.inputs[i]);
  std::vector<Layouts> out;
  if (sum < 0)
    if (std::optional<Layout> wanted = wantedLayout(step.output); wanted && !isPlain(*wanted)) {
      Layouts permutedResult = strided;
      permutedResult.output = *wanted;
      out.push_back(permutedResult);
    }
  out.push_back(strided);
  out.push_back(rowMajor);
  return out;
}

// The layout of `id` that makes the end of its chain of views row-major; only
// where there is a permute to save.
std::optional<Layout> LayoutChooser::wantedLayout(ValueId id) const {
  std::vector<const Step *> chain;
  bool hasPermute = false;
  ValueId end = id;
  while (usage_.userCount[end] == 1 && usage_.onlyUser[end] != Usage::never &&
         isWholeView(plan_.steps[usage_.onlyUser[end]].kind)) {
    chain.push_back(&plan_.steps[usage_.onlyUser[end]]);
    hasPermute |= chain.back()->kind == StepKind::Permute;
    end = chain.back()->output;
  }
  if (!hasPermute)
    return std::nullopt;
  std::optional<Layout> layout = plain(end);
  for (size_t i = chain.size(); i-- > 0 && layout;) {
    const Step &view = *chain[i];
    if (view.kind == StepKind::Reshape) {
      layout = reshaped(*layout, value(view.inputs[0]).dims);
      continue;
    }
    Dims inverse(view.permutation.size());
    for (size_t k = 0; k < inverse.size(); ++k)
      inverse[static_cast<size_t>(view.permutation[k])] = static_cast<int64_t>(k);
    layout = permuted(*layout, inverse);
  }
  return layout;
}

Expected<Descriptor> LayoutChooser::choose(const Step &step, int sum) const {
  ThreadScope scope(threadsFor(plan_, step, libraryThreads()));
  std::vector<Layout> postOps = postOpLayouts(step);
  std::optional<Descriptor> slow;
  for (const Layouts &candidate : candidates(step, sum)) {
    Expected<Descriptor> found = describe(step, candidate, postOps, sum);
    // For the layouts that it chose itself the library may have another kernel.
    if (found && step.kind == StepKind::Deconv)
      found = describe(step, found->layouts, postOps, sum);
    // Large row-major images are pooled an element at a time: 16x128x128 took 2.4 ms, with
    // channels last and both reorders 0.11.
    bool isSlow = found && (found->isSlow() || (step.kind == StepKind::Pool &&
                                                found->implementation.starts_with("simple")));
    if (found && !isSlow && !isHeldBack(step, *found, candidate, postOps, sum))
      return found;
    if (found && !slow)
      slow = *found;
  }
  if (slow)
    return *slow;
  return describe(step, plainLayouts(step), postOps, sum);
}

// A convolution that keeps a blocked operand may get an older kernel for it than for the
// layout of the library's choice: blocks of 8 channels that grouped ones are computed in
// have kernels for AVX2 alone, half as fast.
bool LayoutChooser::isHeldBack(const Step &step, const Descriptor &found, const Layouts &candidate,
                               const std::vector<Layout> &postOps, int sum) const {
  if (!isConvolution(step.kind) || isAny(candidate.inputs[0]))
    return false;
  Layouts free = candidate;
  free.inputs[0] = any(step.inputs[0]);
  free.output = any(step.output);
  Expected<Descriptor> other = describe(step, free, postOps, sum);
  return other && isOlder(found.implementation, other->implementation);
}

// None for windows of one element, which take the same time in any layout.
double LayoutChooser::windowFlops(const Step &conv) const {
  const Dims &weights = value(conv.inputs[1]).dims, &result = value(conv.output).dims;
  double perResult = static_cast<double>(numElements(weights)) / static_cast<double>(result[1]);
  return numElements(conv.kernel) == 1 ? 0.0
                                       : 2 * static_cast<double>(numElements(result)) * perResult;
}

// The concatenation of whole blocks of channels that is the only user of this step
// and of its siblings.
const Step *LayoutChooser::concatOf(const Step &step) const {
  uint32_t user = usage_.userOf(step.output);
  if (step.kind != StepKind::Conv || user == Usage::never ||
      plan_.steps[user].kind != StepKind::Concat)
    return nullptr;
  const Step &concat = plan_.steps[user];
  if (concat.axis != 1 || value(concat.output).dims[0] != 1)
    return nullptr;
  double flops = 0;
  for (ValueId part : concat.inputs) {
    uint32_t maker = usage_.maker[part];
    if (maker == Usage::never || plan_.steps[maker].kind != StepKind::Conv ||
        usage_.userOf(part) != user || value(part).dtype != DType::Float32 ||
        value(part).dims[1] % channelBlock != 0 || sumPostOpOf(plan_, plan_.steps[maker]) >= 0)
      return nullptr;
    flops += windowFlops(plan_.steps[maker]);
  }
  uint64_t bytes = bytesOf(plain(concat.output));
  return areBlocksCheaper(flops, value(concat.output).dims.back(), bytes) ? &concat : nullptr;
}

} // namespace bycc::onednn
