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

// Is x read where it is, with padding known by its place, or looked for where an extent is open? What
// the kernel itself makes is better made once, in a copy.
bool isReadInPlace(OpLowering &op, const Groups &groups) {
  const Tensor &x = op.input(0);
  return groups.areLast && std::ranges::none_of(op.k.stages, [&](const Stage &stage) {
           return stage.buffer == x.buffer;
         });
}

// A convolution: its axes, and what is multiplied at them.
class ConvolutionSum {
public:
  // Kernel element (o, i, k) is weight[kernelIndex(group, o in group, i in group, k)].
  using KernelIndex = std::function<Indices(Ref, Ref, Ref, const Indices &)>;
  ConvolutionSum(OpLowering &op, Source source, const ConvLayouts &layouts, ProductForm form,
                 const Groups &groups, std::vector<int64_t> strides, std::vector<int64_t> dilation,
                 KernelIndex kernelIndex)
      : op_(op), source_(std::move(source)), layouts_(layouts), form_(form), groups_(groups),
        strides_(std::move(strides)), dilation_(std::move(dilation)),
        kernelIndex_(std::move(kernelIndex)), n_(strides_.size()), steps_(stepsOf(form, groups.in)),
        // The kernel of a depthwise convolution is small, and each element is used alone.
        w_(form == ProductForm::Widened && groups.in == 1 ? widened(op, op.input(1)) : op.input(1)),
        channel_(groups.areLast ? 1 + n_ : 1), places_(groups.areLast ? 1 : 3),
        depth_(groups.areLast ? n_ - 1 : 0) {}

  Expected<> add() {
    std::vector<Ref> shape = BYCC_TRY(resultShape());
    return addProduct(
        op_, shape, iteration(shape), reduction(), [&](const Indices &i) { return placeOf(i); },
        [&](const Indices &i, const Indices &r) { return factors(i, r); },
        [&](const Indices &i, const Indices &r) { return windows(i, r); });
  }

private:
  Expected<std::vector<Ref>> resultShape() {
    std::vector<Ref> likely(n_ + 2);
    likely[layouts_.out.batch] = op_.input(0).shape[layouts_.data.batch];
    likely[layouts_.out.channel] = op_.x.integer(groups_.count * groups_.out);
    for (size_t s = 0; s < n_; ++s) {
      Ref window = op_.x.plus(
          op_.x.times(op_.x.plus(w_.shape[layouts_.kernel.spatial[s]], -1), dilation_[s]), 1);
      Ref free = op_.x.sub(source_.extents[s], window);
      likely[layouts_.out.spatial[s]] =
          op_.x.plus(op_.op2(Op::FloorDiv, free, op_.x.integer(strides_[s])), 1);
    }
    return op_.resultShape(likely);
  }

  // The batch, then channels and places; channels last where vectors run along them.
  std::vector<Ref> iteration(const std::vector<Ref> &shape) {
    std::vector<Ref> channels{op_.x.integer(groups_.count), op_.x.integer(groups_.out)}, places;
    if (groups_.shareLanes)
      channels = {op_.x.integer(groups_.count * groups_.out)};
    for (size_t s = 0; s < n_; ++s)
      places.push_back(shape[layouts_.out.spatial[s]]);
    std::vector<Ref> all{shape[layouts_.out.batch]};
    for (const auto *axes :
         {groups_.areLast ? &places : &channels, groups_.areLast ? &channels : &places})
      all.insert(all.end(), axes->begin(), axes->end());
    return all;
  }

  // Channels of the data, then taps. Where vectors run across groups, neighbours along the last axis
  // of the window read the same elements: channels are summed over around it, as little is unrolled.
  std::vector<Ref> reduction() {
    std::vector<Ref> all;
    for (size_t s = 0; s < n_; ++s)
      all.push_back(w_.shape[layouts_.kernel.spatial[s]]);
    all.insert(all.begin() + static_cast<ptrdiff_t>(depth_), op_.x.integer(steps_));
    return all;
  }

  Ref tap(const Indices &r, size_t s) const { return r[s + (s >= depth_)]; }
  Ref group(const Indices &i) {
    return groups_.shareLanes ? op_.op2(Op::FloorDiv, i[channel_], op_.x.integer(groups_.out))
                              : i[channel_];
  }
  Ref inGroup(const Indices &i) {
    return groups_.shareLanes ? op_.op2(Op::FloorMod, i[channel_], op_.x.integer(groups_.out))
                              : i[channel_ + 1];
  }

  Indices placeOf(const Indices &i) {
    Indices at(n_ + 2);
    at[layouts_.out.batch] = i[0];
    at[layouts_.out.channel] = op_.x.add(op_.x.times(group(i), groups_.out), inGroup(i));
    for (size_t s = 0; s < n_; ++s)
      at[layouts_.out.spatial[s]] = i[places_ + s];
    return at;
  }

  std::pair<Ref, Ref> factors(const Indices &i, const Indices &r) {
    Indices at(n_ + 2), taps;
    at[layouts_.data.batch] = i[0];
    at[layouts_.data.channel] = op_.x.add(op_.x.times(group(i), steps_), r[depth_]);
    for (size_t s = 0; s < n_; ++s) {
      taps.push_back(tap(r, s));
      at[layouts_.data.spatial[s]] =
          op_.x.add(op_.x.times(i[places_ + s], strides_[s]), op_.x.times(taps[s], dilation_[s]));
    }
    auto weight = [&](Ref channel) {
      return op_.at(w_, kernelIndex_(group(i), inGroup(i), channel, taps));
    };
    return {source_.element(at), form_ == ProductForm::Paired
                                     ? pairOf(op_, r[depth_], groups_.in, weight)
                                     : weight(r[depth_])};
  }

  std::vector<Window> windows(const Indices &i, const Indices &r) {
    std::vector<Window> all;
    for (size_t s = 0; s < n_; ++s)
      if (const Expr step = op_.x[tap(r, s)];
          step.op == Op::Axis && source_.inside[s] != source_.extents[s])
        all.push_back({op_.x.plus(op_.x.times(i[places_ + s], strides_[s]), -source_.before[s]),
                       static_cast<uint32_t>(step.i), dilation_[s], source_.inside[s]});
    return all;
  }

  OpLowering &op_;
  Source source_;
  const ConvLayouts &layouts_;
  ProductForm form_;
  Groups groups_;
  std::vector<int64_t> strides_, dilation_;
  KernelIndex kernelIndex_;
  size_t n_;      // spatial axes
  int64_t steps_; // of the sum over channels
  Tensor w_;
  size_t channel_, places_; // where channels and places begin in the iteration
  size_t depth_;            // ... and channels of the data in the reduction
};

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
                         form, form == ProductForm::Paired || !isReadInPlace(op, groups));
  return ConvolutionSum(op, source, layouts, form, groups, strides, dilation,
                        [&](Ref group, Ref o, Ref i, const Indices &taps) {
                          Indices at(w.rank());
                          bool swapped = isMultiplier;
                          at[layouts.kernel.batch] =
                              swapped ? group : op.x.add(op.x.times(group, groups.out), o);
                          at[layouts.kernel.channel] = swapped ? o : i;
                          for (size_t s = 0; s < n; ++s)
                            at[layouts.kernel.spatial[s]] = taps[s];
                          return at;
                        })
      .add();
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
  return ConvolutionSum(op, source, layouts, form, groups, std::vector<int64_t>(n, 1), dilation,
                        [&](Ref group, Ref o, Ref i, const Indices &r) {
                          Indices at(w.rank());
                          at[layouts.kernel.channel] = op.x.add(op.x.times(group, perGroup), i);
                          at[layouts.kernel.batch] = o;
                          for (size_t s = 0; s < n; ++s)
                            at[layouts.kernel.spatial[s]] =
                                op.x.sub(op.x.integer(taps[s] - 1), r[s]);
                          return at;
                        })
      .add();
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
