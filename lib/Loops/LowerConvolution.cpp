// Convolutions as sums of products. One reads a padded copy of its input, so that its
// own indices need no bounds; or, where vectors run along channels of several groups, its input
// under guards.
#include "LowerProducts.h"
#include "bycc/Loops/TargetFacts.h"

#include <algorithm>

namespace bycc::loops {
namespace {

size_t spatialRank(OpLowering &op) { return op.input(0).rank() - 2; }

// An input that is padded already, and its spatial extents; where what is not padding begins, and
// how long that is.
struct Source {
  Factor element;
  std::vector<Ref> extents;
  std::vector<int64_t> before;
  std::vector<Ref> inside;
};

// Reads the data where an index of the padded one is inside, and 0 elsewhere.
Factor guardedElement(OpLowering &op, const AxisOrder &order, const Padding &pads,
                      const std::vector<int64_t> &spread, Factor element, DType type) {
  std::vector<Ref> extents = op.input(0).shape;
  return [=, &op](const Indices &i) {
    Indices at = i;
    Ref inside = noRef;
    for (size_t s = 0; s < spread.size(); ++s) {
      size_t d = order.spatial[s];
      if (pads.before[s] == 0 && pads.after[s] == 0 && spread[s] == 1)
        continue;
      Ref p = op.x.plus(i[d], -pads.before[s]), step = op.x.integer(spread[s]);
      at[d] = op.op2(Op::FloorDiv, p, step);
      inside = op.x.both(inside, op.x.both(op.op2(Op::Le, op.x.integer(0), at[d]),
                                           op.op2(Op::Lt, at[d], extents[d])));
      if (spread[s] > 1)
        inside = op.x.both(inside, op.op2(Op::Eq, op.op2(Op::FloorMod, p, step), op.x.integer(0)));
    }
    return op.x.guard(inside, element(at), op.real(0, type));
  };
}

// A copy of x with its `depth` channels, `low` and `high` more elements around each spatial
// axis, and `spread` - 1 zeros between elements; x itself where there is nothing to add. It is
// made in the form of the product. Where it is not copied, x is read under guards.
Source padded(OpLowering &op, const AxisOrder &order, int64_t depth, const Padding &pads,
              const std::vector<int64_t> &spread, ProductForm form, bool isCopied = true) {
  const Tensor &a = op.input(0);
  bool isPlain = true;
  std::vector<Ref> shape = a.shape, inside;
  shape[order.channel] = op.x.integer(depth);
  for (size_t s = 0; s < spread.size(); ++s) {
    isPlain = isPlain && pads.before[s] == 0 && pads.after[s] == 0 && spread[s] == 1;
    Ref &extent = shape[order.spatial[s]];
    inside.push_back(op.x.plus(op.x.times(op.x.plus(extent, -1), spread[s]), 1));
    extent = op.x.plus(inside.back(), pads.before[s] + pads.after[s]);
  }
  std::vector<Ref> extents;
  for (size_t d : order.spatial)
    extents.push_back(shape[d]);
  if (isPlain)
    return {leftFactor(op, a, order.channel, depth, form), extents, pads.before, inside};
  bool arePaired = form == ProductForm::Paired && !holdsPairs(op, a, order.channel, depth);
  DType type = arePaired ? DType::Int32 : form == ProductForm::Widened ? DType::Float32 : a.type;
  Tensor guarded = a; // is read where the guard says, however far the loops go
  guarded.shape = shape;
  Factor element = [&op, guarded](const Indices &at) { return op.at(guarded, at); };
  if (!isCopied) {
    Factor read = guardedElement(op, order, pads, spread, element, a.type);
    return {[=, &op](const Indices &at) { return op.x.cast(read(at), type); }, extents, pads.before,
            inside};
  }
  if (arePaired) {
    shape[order.channel] = op.x.integer(stepsOf(form, depth));
    element = rightFactor(op, guarded, order.channel, depth, form);
  }
  Factor made = [&](const Indices &at) { return op.x.cast(element(at), type); };
  Tensor copy = op.map(type, shape, guardedElement(op, order, pads, spread, made, type), true);
  bool isDone = arePaired || form == ProductForm::Widened;
  return {leftFactor(op, copy, order.channel, depth, isDone ? ProductForm::Plain : form), extents,
          pads.before, inside};
}

struct ConvLayouts {
  AxisOrder data, kernel, out;
};

Expected<ConvLayouts> layoutsOf(OpLowering &op) {
  size_t n = spatialRank(op);
  std::string data = op.text("data_layout"), out = op.text("out_layout");
  return ConvLayouts{BYCC_TRY(op.axisOrder("data_layout", data, "NC", n)),
                     BYCC_TRY(op.axisOrder("kernel_layout", op.text("kernel_layout"), "OI", n)),
                     BYCC_TRY(op.axisOrder("out_layout", out.empty() ? data : out, "NC", n))};
}

// Channels of the data, which are the weight's where the data's type leaves them open.
std::optional<int64_t> channelsOf(OpLowering &op, const AxisOrder &order,
                                  std::optional<int64_t> ofWeight) {
  Ref extent = op.input(0).shape[order.channel];
  if (op.x.constant(extent) || !ofWeight)
    return op.x.constant(extent);
  op.requireEqual(extent, op.x.integer(*ofWeight), "the axis of channels");
  return ofWeight;
}

// Groups of an odd number of channels are not paired.
ProductForm formOf(OpLowering &op, int64_t groups, int64_t perGroup) {
  return productForm(op, op.input(0), op.input(1), groups > 1 && perGroup % 2 != 0 ? 0 : perGroup);
}

// The groups of a convolution, and what vectors run along.
struct Groups {
  int64_t count = 1, out = 1, in = 1; // channels of each
  bool areLast = false;               // channels of several groups; else those of one, or places
  // A lane is one of `count * out` channels, as a product for each group would fill few lanes: those
  // of a group read the same element.
  bool shareLanes = false;
};

Groups groupsOf(OpLowering &op, const ConvLayouts &layouts, int64_t count, int64_t out,
                int64_t in) {
  int64_t lanes = factsOf(op.dims.around.target()).lanes;
  size_t last = spatialRank(op) + 1;
  bool isFew = out > 1 && out < lanes && lanes % out == 0 && count * out >= lanes && in <= out,
       isPaired = !isFloat(op.input(0).type) && formOf(op, count, in) == ProductForm::Paired;
  Groups groups{count, out, in};
  groups.shareLanes = isFew && !isPaired && layouts.data.channel == last &&
                      layouts.out.channel == last && layouts.kernel.batch == last;
  groups.areLast = groups.shareLanes || (in == 1 && count > 1 && layouts.out.channel == last);
  return groups;
}

// Is x read where it is, with padding known by its place? Where an extent is open it would have to be
// looked for, and what the kernel itself makes is better made once, in a copy.
bool isReadInPlace(OpLowering &op, const ConvLayouts &layouts, const Groups &groups) {
  const Tensor &x = op.input(0);
  return groups.areLast && op.x.constant(x.shape[layouts.data.spatial.back()]) &&
         std::ranges::none_of(op.k.stages,
                              [&](const Stage &stage) { return stage.buffer == x.buffer; });
}

// A convolution of stride `strides`. Kernel element (o, i, k) is
// weight[kernelIndex(group, o in group, i in group, k)].
Expected<>
addConvolution(OpLowering &op, const Source &source, const ConvLayouts &layouts, ProductForm form,
               const Groups &groups, const std::vector<int64_t> &strides,
               const std::vector<int64_t> &dilation,
               const std::function<Indices(Ref, Ref, Ref, const Indices &)> &kernelIndex) {
  size_t n = strides.size();
  // The kernel of a depthwise convolution is small, and each element is used alone.
  const Tensor w =
      form == ProductForm::Widened && groups.in == 1 ? widened(op, op.input(1)) : op.input(1);
  std::vector<Ref> likely(n + 2);
  likely[layouts.out.batch] = op.input(0).shape[layouts.data.batch];
  likely[layouts.out.channel] = op.x.integer(groups.count * groups.out);
  for (size_t s = 0; s < n; ++s) {
    Ref window =
        op.x.plus(op.x.times(op.x.plus(w.shape[layouts.kernel.spatial[s]], -1), dilation[s]), 1);
    Ref free = op.x.sub(source.extents[s], window);
    likely[layouts.out.spatial[s]] =
        op.x.plus(op.op2(Op::FloorDiv, free, op.x.integer(strides[s])), 1);
  }
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  int64_t steps = stepsOf(form, groups.in);
  std::vector<Ref> channels{op.x.integer(groups.count), op.x.integer(groups.out)}, spatial;
  if (groups.shareLanes)
    channels = {op.x.integer(groups.count * groups.out)};
  std::vector<Ref> reduction;
  for (size_t s = 0; s < n; ++s) {
    spatial.push_back(shape[layouts.out.spatial[s]]);
    reduction.push_back(w.shape[layouts.kernel.spatial[s]]);
  }
  bool isLast = groups.areLast;
  // Where vectors run across groups, neighbours along the last axis of the window read the same
  // elements; channels are summed over around it, as little is unrolled.
  size_t d = isLast ? n - 1 : 0; // where the channel is
  reduction.insert(reduction.begin() + static_cast<ptrdiff_t>(d), op.x.integer(steps));
  size_t c = isLast ? 1 + n : 1, p = isLast ? 1 : 3; // where channels and places begin
  std::vector<Ref> iteration{shape[layouts.out.batch]};
  for (const auto *axes : {isLast ? &spatial : &channels, isLast ? &channels : &spatial})
    iteration.insert(iteration.end(), axes->begin(), axes->end());
  auto groupOf = [&](const Indices &i) {
    return groups.shareLanes ? op.op2(Op::FloorDiv, i[c], op.x.integer(groups.out)) : i[c];
  };
  auto placeOf = [&](const Indices &i) { // in its group
    return groups.shareLanes ? op.op2(Op::FloorMod, i[c], op.x.integer(groups.out)) : i[c + 1];
  };
  return addProduct(
      op, shape, iteration, reduction,
      [&](const Indices &i) {
        Indices at(shape.size());
        at[layouts.out.batch] = i[0];
        at[layouts.out.channel] = op.x.add(op.x.times(groupOf(i), groups.out), placeOf(i));
        for (size_t s = 0; s < n; ++s)
          at[layouts.out.spatial[s]] = i[p + s];
        return at;
      },
      [&](const Indices &i, const Indices &r) {
        Indices at(shape.size()), taps;
        for (size_t s = 0; s < n; ++s)
          taps.push_back(r[s + (s >= d)]);
        at[layouts.data.batch] = i[0];
        at[layouts.data.channel] = op.x.add(op.x.times(groupOf(i), steps), r[d]);
        for (size_t s = 0; s < n; ++s)
          at[layouts.data.spatial[s]] =
              op.x.add(op.x.times(i[p + s], strides[s]), op.x.times(taps[s], dilation[s]));
        auto weight = [&](Ref channel) {
          return op.at(w, kernelIndex(groupOf(i), placeOf(i), channel, taps));
        };
        return std::pair{source.element(at), form == ProductForm::Paired
                                                 ? pairOf(op, r[d], groups.in, weight)
                                                 : weight(r[d])};
      },
      [&](const Indices &i, const Indices &r) {
        std::vector<Window> windows;
        for (size_t s = 0; s < n; ++s)
          if (const Expr tap = op.x[r[s + (s >= d)]];
              tap.op == Op::Axis && source.inside[s] != source.extents[s])
            windows.push_back({op.x.plus(op.x.times(i[p + s], strides[s]), -source.before[s]),
                               static_cast<uint32_t>(tap.i), dilation[s], source.inside[s]});
        return windows;
      });
}

Expected<> lowerConv(OpLowering &op) {
  ConvLayouts layouts = BYCC_TRY(layoutsOf(op));
  const Tensor &w = op.input(1);
  size_t n = spatialRank(op);
  std::vector<int64_t> strides = op.perAxis("strides", n), dilation = op.perAxis("dilation", n);
  int64_t count = op.integer("groups");
  auto out = op.extent(w, layouts.kernel.batch), in = op.extent(w, layouts.kernel.channel);
  if (!out || !in)
    return op.unsupported() << "the number of channels must be known";
  int64_t channels = *channelsOf(op, layouts.data, *in * count);
  // A depthwise kernel may put its multiplier in the second place of "HWOI".
  int64_t total = *out, perGroup = *in;
  bool isMultiplier = *in * count != channels && count == channels && *out == channels;
  if (*in * count != channels) {
    if (!isMultiplier)
      return op.unsupported() << "groups " << count << " do not divide " << channels << " channels";
    total = *out * *in;
    perGroup = 1;
  }
  Groups groups = groupsOf(op, layouts, count, total / count, perGroup);
  ProductForm form = formOf(op, count, perGroup);
  if (groups.shareLanes && form == ProductForm::Paired)
    form = ProductForm::Widened;
  Source source = padded(op, layouts.data, channels, op.padding(n), std::vector<int64_t>(n, 1),
                         form, form == ProductForm::Paired || !isReadInPlace(op, layouts, groups));
  return addConvolution(op, source, layouts, form, groups, strides, dilation,
                        [&](Ref group, Ref o, Ref i, const Indices &taps) {
                          Indices at(w.rank());
                          bool swapped = isMultiplier;
                          at[layouts.kernel.batch] =
                              swapped ? group : op.x.add(op.x.times(group, groups.out), o);
                          at[layouts.kernel.channel] = swapped ? o : i;
                          for (size_t s = 0; s < n; ++s)
                            at[layouts.kernel.spatial[s]] = taps[s];
                          return at;
                        });
}

// A transposed convolution is a convolution of the input spread out by the strides
// with the kernel turned around.
Expected<> lowerConvTranspose(OpLowering &op) {
  ConvLayouts layouts = BYCC_TRY(layoutsOf(op));
  const Tensor &w = op.input(1);
  size_t n = spatialRank(op);
  std::vector<int64_t> strides = op.perAxis("strides", n), dilation = op.perAxis("dilation", n),
                       extra = op.integers("output_padding");
  Padding pads = op.padding(n), around;
  int64_t count = op.integer("groups");
  auto out = op.extent(w, layouts.kernel.batch),
       in = channelsOf(op, layouts.data, op.extent(w, layouts.kernel.channel));
  if (!out || !in)
    return op.unsupported() << "the number of channels must be known";
  std::vector<int64_t> taps;
  for (size_t s = 0; s < n; ++s) {
    auto size = op.extent(w, layouts.kernel.spatial[s]);
    if (!size)
      return op.unsupported() << "the kernel's size must be known";
    taps.push_back(*size);
    int64_t reach = (*size - 1) * dilation[s];
    int64_t more = extra.empty() ? 0 : extra[std::min(s, extra.size() - 1)];
    if (reach < pads.before[s] || reach + more < pads.after[s])
      return op.unsupported() << "padding larger than the kernel";
    around.before.push_back(reach - pads.before[s]);
    around.after.push_back(reach - pads.after[s] + more);
  }
  int64_t perGroup = *in / count;
  Groups groups{count, *out, perGroup, perGroup == 1 && count > 1 && layouts.out.channel == n + 1};
  ProductForm form = formOf(op, count, perGroup);
  Source source = padded(op, layouts.data, *in, around, strides, form);
  return addConvolution(op, source, layouts, form, groups, std::vector<int64_t>(n, 1), dilation,
                        [&](Ref group, Ref o, Ref i, const Indices &r) {
                          Indices at(w.rank());
                          at[layouts.kernel.channel] = op.x.add(op.x.times(group, perGroup), i);
                          at[layouts.kernel.batch] = o;
                          for (size_t s = 0; s < n; ++s)
                            at[layouts.kernel.spatial[s]] =
                                op.x.sub(op.x.integer(taps[s] - 1), r[s]);
                          return at;
                        });
}

} // namespace

void addConvolutionLowerings(LowerTable &table) {
  table[ops::nn_conv1d.index] = lowerConv;
  table[ops::nn_conv2d.index] = lowerConv;
  table[ops::nn_conv3d.index] = lowerConv;
  table[ops::nn_conv1d_transpose.index] = lowerConvTranspose;
  table[ops::nn_conv2d_transpose.index] = lowerConvTranspose;
  table[ops::nn_conv3d_transpose.index] = lowerConvTranspose;
}

} // namespace bycc::loops
