// One pass over the plan in order. Layouts are LowerLayouts' business; here they are
// brought about:
//
// 1. A reorder is made at most once per value and layout; those of constants become
//    constants of the program.
// 2. Views (reshape, permute) only relabel a layout. Where the layout does not
//    allow it the operand is copied to row-major first.
// 3. A summand (`add` as first post-op) that dies here and has the layout of the
//    result lends its memory to it; else it is copied there. Elementwise steps
//    work in place on operands that die.
// 4. Region outputs are row-major; the buffer that ends as an output is the
//    caller's memory from the start when its layout allows.
#include "Lower.h"

#include "LowerLayouts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace bycc::onednn {

namespace {

struct Location {
  uint32_t buffer = 0;
  Layout layout;
  uint64_t offset = 0; // in bytes
};

class Lowering {
public:
  explicit Lowering(const Plan &plan)
      : plan_(plan), usage_(plan), versions_(plan.values.size()), layouts_(plan.values.size()),
        chooser_(plan_, usage_, layouts_) {}

  Expected<Program> lower(const std::vector<Stored> &stored, bool takesPacked) {
    placeInputs();
    for (uint32_t i = 0; i < stored.size(); ++i)
      placeStored(i, stored[i], takesPacked);
    for (step_ = 0; step_ < plan_.steps.size(); ++step_) {
      const Step &step = plan_.steps[step_];
      if (isNotNeeded(step))
        continue;
      BYCC_TRY(checkOperands(step));
      if (isView(step.kind))
        BYCC_TRY(lowerView(step));
      else
        BYCC_TRY(lowerStep(step));
    }
    step_ = none;
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (versions_[plan_.outputs[i]].empty())
        return error(Status::Load) << "a constant of the region is not stored";
      BYCC_TRY(lowerOutput(i));
    }
    return std::move(program_);
  }

private:
  // ---- memory ----
  uint32_t newBuffer(uint64_t bytes, Buffer::Place place = Buffer::Place::Arena,
                     uint64_t index = 0) {
    program_.buffers.push_back({place, index, bytes});
    return static_cast<uint32_t>(program_.buffers.size() - 1);
  }
  Buffer &buffer(const Location &location) { return program_.buffers[location.buffer]; }

  const Location &at(ValueId id) const { return versions_[id].front(); }
  const Value &value(ValueId id) const { return plan_.values[id]; }
  Layout plain(ValueId id) const { return plainLayout(value(id).dims, value(id).dtype); }

  // The version that users find first.
  void makeFirst(ValueId id, const Location &location) {
    versions_[id].insert(versions_[id].begin(), location);
    layouts_[id] = location.layout;
  }

  void placeInputs() {
    for (ValueId id : plan_.inputs) {
      uint32_t target = newBuffer(bytesOf(plain(id)), Buffer::Place::Input, value(id).where);
      makeFirst(id, {target, plain(id)});
    }
  }

  // Users see a row-major constant, and find the packed one when they ask for that.
  void placeStored(uint32_t index, const Stored &stored, bool takesPacked) {
    ValueId id = stored.value;
    std::optional<Layout> layout = layoutOf(stored.form);
    if (!layout || (!takesPacked && !isPlain(*layout)))
      layout = Layout();
    Location packed = newConstant({id, index, none, {}, none, *layout});
    if (versions_[id].empty())
      makeFirst(id, isPlain(*layout) ? packed : madeOf(id, packed, *layout, plain(id)));
    if (isLayout(*layout))
      versions_[id].push_back(packed);
  }

  bool isPlain(const Layout &layout) const { return isLayout(layout) && onednn::isPlain(layout); }

  // What steps make of constants may be stored instead of the constants.
  bool isNotNeeded(const Step &step) const {
    return usage_.isConstant[step.output] && versions_[step.inputs[0]].empty();
  }

  Expected<> checkOperands(const Step &step) const {
    bool hasAll = std::all_of(step.inputs.begin(), step.inputs.end(),
                              [&](ValueId id) { return !versions_[id].empty(); });
    for (const PostOp &postOp : step.postOps)
      hasAll &= postOp.operand == noValue || !versions_[postOp.operand].empty();
    if (!hasAll)
      return error(Status::Load) << "a constant of the region is not stored";
    return {};
  }

  Location newConstant(Constant constant) {
    Layout layout = constant.layout;
    program_.constants.push_back(std::move(constant));
    return {newBuffer(bytesOf(layout), Buffer::Place::Constant, program_.constants.size() - 1),
            layout};
  }

  uint32_t slotOf(const Location &location) {
    program_.slots.push_back({location.buffer, location.layout, location.offset});
    return static_cast<uint32_t>(program_.slots.size() - 1);
  }

  bool diesHere(ValueId id) const { return usage_.lastUse[usage_.root[id]] == step_; }

  // ---- reorders ----
  // The value in the wanted layout, copied there if need be. Equal layouts may differ in
  // the strides of axes of extent 1; the library's choice of a kernel looks at them.
  Expected<Location> request(ValueId id, const Layout &layout) {
    for (const Location &version : versions_[id])
      if (version.layout == layout)
        return Location{version.buffer, layout, version.offset};
    Location target{0, layout};
    if (usage_.isConstant[id]) {
      target = packConstant(id, layout);
    } else {
      target.buffer = newBuffer(bytesOf(layout));
      BYCC_TRY(copy(at(id), target, Action::Kind::Reorder));
    }
    versions_[id].push_back(target);
    return target;
  }

  // The library packs from few layouts into some of its own: row-major is one of them.
  Location packConstant(ValueId id, const Layout &layout) {
    Location from = at(id);
    if (!isPlain(from.layout) && !describeReorder(from.layout, layout))
      from = madeOf(id, from, from.layout, plain(id));
    return madeOf(id, from, from.layout, layout);
  }

  Location madeOf(ValueId id, const Location &from, const Layout &seen, const Layout &layout,
                  uint32_t step = none) {
    auto source = static_cast<uint32_t>(buffer(from).index);
    return newConstant({id, none, source, seen, step, layout});
  }

  Expected<> copy(const Location &from, const Location &to, Action::Kind kind) {
    Action action;
    action.kind = kind;
    action.step = step_;
    action.implementation = BYCC_TRY(describeReorder(from.layout, to.layout)).implementation;
    action.inputs = {slotOf(from)};
    action.output = slotOf(to);
    program_.actions.push_back(std::move(action));
    return {};
  }

  // ---- views ----
  std::optional<Layout> viewed(const Step &step, const Layout &layout) const {
    const Dims &dims = value(step.output).dims;
    switch (step.kind) {
    case StepKind::Reshape:
      return reshaped(layout, dims);
    case StepKind::Slice:
      return sliced(layout, step.padBegin, step.strides, dims);
    default:
      return permuted(layout, step.permutation);
    }
  }

  Expected<> lowerView(const Step &step) {
    Location from = at(step.inputs[0]);
    std::optional<Layout> view = viewed(step, from.layout);
    if (!view) {
      from = BYCC_TRY(request(step.inputs[0], plain(step.inputs[0])));
      view = viewed(step, from.layout);
    }
    if (!view && step.kind == StepKind::Slice && !usage_.isConstant[step.output])
      return lowerSliceByParts(step, from);
    if (!view)
      return error(Status::Unsup) << "this oneDNN has no view for " << text(value(step.output).dims)
                                  << " of " << text(value(step.inputs[0]).dims);
    std::optional<Location> seen = Location{from.buffer, *view, from.offset};
    if (!usage_.isConstant[step.output]) // of those the layout says it
      seen = withoutStart(*seen);
    if (!seen)
      return error(Status::Internal) << "no view of a slice";
    makeFirst(step.output, *seen);
    return {};
  }

  // The library has no view whose last step goes beyond an axis ([::2] of 7), as those
  // of the axes outside would meet it: the last place of each such axis is a part of its own.
  Expected<> lowerSliceByParts(const Step &step, const Location &from) {
    const Dims &dims = value(step.output).dims;
    Location target{newBuffer(bytesOf(plain(step.output))), plain(step.output)};
    BYCC_TRY(copySlice(from, step.padBegin, step, dims, target, Dims(dims.size(), 0)));
    makeFirst(step.output, target);
    return {};
  }

  // `dims` places from `begin` on, to those from `first` on.
  Expected<> copySlice(const Location &from, Dims begin, const Step &step, Dims dims,
                       const Location &to, Dims first) {
    if (std::optional<size_t> axis =
            axisSteppedBeyond(value(step.inputs[0]).dims, step.strides, dims)) {
      int64_t before = std::exchange(dims[*axis], 1) - 1;
      Dims lastBegin = begin, lastFirst = first, front = dims;
      lastBegin[*axis] += before * step.strides[*axis];
      lastFirst[*axis] += before;
      front[*axis] = before;
      BYCC_TRY(copySlice(from, std::move(begin), step, std::move(front), to, std::move(first)));
      return copySlice(from, std::move(lastBegin), step, std::move(dims), to, std::move(lastFirst));
    }
    std::optional<Location> part = partOf(from, begin, step.strides, dims);
    std::optional<Location> place = partOf(to, first, {}, dims);
    if (!part || !place)
      return error(Status::Internal) << "no slice of a strided tensor";
    return copy(*part, *place, Action::Kind::Copy);
  }

  // ---- steps ----
  Expected<> lowerStep(const Step &step) {
    if (step.kind == StepKind::Concat && isInPlaceAlready(step)) {
      makeFirst(step.output, {at(step.inputs[0]).buffer, chooser_.blocked(step.output)});
      return {};
    }
    int sum = sumPostOpOf(plan_, step);
    BYCC_TRY(plainPostOperands(step));
    Descriptor chosen = BYCC_TRY(chooser_.choose(step, sum));
    if (usage_.isConstant[step.output]) {
      Location from = BYCC_TRY(request(step.inputs[0], chosen.layouts.inputs[0]));
      makeFirst(step.output, madeOf(step.output, from, from.layout, chosen.layouts.output, step_));
      return {};
    }
    if (step.kind == StepKind::Concat && isCopiedByParts(step, chosen.layouts.output))
      return lowerParts(step, chosen.layouts.output);
    return lowerWork(step, sum, chosen);
  }

  // The library's concatenation moves one run of neighbours after the other, short or
  // long: its reorders are faster (Zen 4: two of 6144x8 side by side 142 us, as reorders 15;
  // two of 192x256 one behind the other 154 us and 8; two of 768x64 side by side 20 and 8).
  bool isCopiedByParts(const Step &step, const Layout &output) const {
    constexpr size_t maxParts = 16; // each is a primitive that is called
    return step.inputs.size() <= maxParts && stridesOf(output) && step.scales.empty() &&
           step.postOps.empty() &&
           std::all_of(step.inputs.begin(), step.inputs.end(),
                       [&](ValueId part) { return value(part).dtype == value(step.output).dtype; });
  }

  Expected<> lowerParts(const Step &step, const Layout &layout) {
    Location target{newBuffer(bytesOf(layout)), layout};
    Dims begin(value(step.output).dims.size(), 0);
    for (ValueId part : step.inputs) {
      std::optional<Location> place = partOf(target, begin, {}, value(part).dims);
      if (!place)
        return error(Status::Internal) << "no slice of a strided tensor";
      BYCC_TRY(copy(at(part), *place, Action::Kind::Copy));
      begin[step.axis] += value(part).dims[step.axis];
    }
    makeFirst(step.output, target);
    return {};
  }

  // Where a tensor begins is its slot's business, not its layout's.
  static std::optional<Location> partOf(const Location &whole, const Dims &begin, const Dims &steps,
                                        const Dims &dims) {
    std::optional<Layout> view = sliced(whole.layout, begin, steps, dims);
    return view ? withoutStart({whole.buffer, *view, whole.offset}) : std::nullopt;
  }
  static std::optional<Location> withoutStart(const Location &location) {
    int64_t start = startOf(location.layout);
    std::optional<Layout> layout = withStart(location.layout, 0);
    if (!layout)
      return std::nullopt;
    uint64_t before =
        static_cast<uint64_t>(start) * static_cast<uint64_t>(sizeInBytes(dtypeOf(*layout)));
    return Location{location.buffer, *layout, location.offset + before};
  }

  Expected<> lowerWork(const Step &step, int sum, const Descriptor &chosen) {
    std::vector<Location> operands;
    for (size_t i = 0; i < step.inputs.size(); ++i)
      operands.push_back(BYCC_TRY(operandAt(step, i, chosen.layouts.inputs[i])));
    std::vector<Location> postOperands;
    for (const PostOp &postOp : step.postOps)
      postOperands.push_back(postOp.operand == noValue ? Location{} : at(postOp.operand));
    Location target = BYCC_TRY(placeResult(step, sum, operands, chosen.layouts.output));
    if (sum >= 0) // its operand is there now
      postOperands[sum] = {target.buffer, withDType(target.layout, summandDType(step, sum)),
                           target.offset};

    Action action;
    action.step = step_;
    action.sum = sum;
    action.implementation = chosen.implementation;
    for (const Location &operand : operands)
      action.inputs.push_back(slotOf(operand));
    for (size_t i = 0; i < postOperands.size(); ++i)
      action.postOperands.push_back(step.postOps[i].operand == noValue ? none
                                                                       : slotOf(postOperands[i]));
    action.output = slotOf(target);
    program_.actions.push_back(std::move(action));
    makeFirst(step.output, target);
    return {};
  }

  DType summandDType(const Step &step, int sum) const {
    return value(step.postOps[static_cast<size_t>(sum)].operand).dtype;
  }

  // Small broadcast operands of post-ops are row-major, slices too.
  Expected<> plainPostOperands(const Step &step) {
    for (const PostOp &postOp : step.postOps) {
      ValueId id = postOp.operand;
      if (id == noValue || isPlain(at(id).layout))
        continue;
      if (value(id).dims != value(step.output).dims || hasGaps(at(id).layout))
        makeFirst(id, BYCC_TRY(request(id, plain(id))));
    }
    return {};
  }

  Expected<Location> operandAt(const Step &step, size_t index, const Layout &layout) {
    if (!isProduct(step.kind) || index != 2)
      return request(step.inputs[index], layout);
    Location bias = BYCC_TRY(request(step.inputs[2], plain(step.inputs[2])));
    if (!hasScaledBias(step))
      return Location{bias.buffer, layout, bias.offset};
    if (!usage_.isConstant[step.inputs[2]] || bytesOf(bias.layout) != bytesOf(layout))
      return error(Status::Load) << "a bias of scaled sums that is no constant of 4-byte elements";
    bias = madeOf(step.inputs[2], bias, bias.layout, withDType(bias.layout, DType::Float32), step_);
    return Location{bias.buffer, layout, bias.offset};
  }

  Expected<Location> placeResult(const Step &step, int sum, const std::vector<Location> &operands,
                                 const Layout &layout) {
    if (sum >= 0)
      return placeSum(step, static_cast<size_t>(sum), operands, layout);
    if (std::optional<Location> slice = sliceOf(step); slice && slice->layout == layout)
      return Location{slice->buffer, layout, slice->offset};
    if (canWorkInPlace(step, operands, layout))
      return Location{operands[0].buffer, layout, operands[0].offset};
    return Location{newBuffer(bytesOf(layout)), layout};
  }

  // The summand may have another dtype of the same size.
  Expected<Location> placeSum(const Step &step, size_t sum, const std::vector<Location> &operands,
                              const Layout &layout) {
    ValueId summand = step.postOps[sum].operand;
    Layout waiting = withDType(layout, value(summand).dtype);
    for (const Location &version : versions_[summand])
      if (version.layout == waiting && diesHere(summand) && ownsArena(version) &&
          !isAmong(operands, version) && !isPostOperand(step, sum))
        return Location{version.buffer, layout, version.offset};
    uint32_t target = newBuffer(bytesOf(layout));
    BYCC_TRY(copy(at(summand), {target, waiting}, Action::Kind::Copy));
    return Location{target, layout};
  }

  bool isPostOperand(const Step &step, size_t sum) const {
    ValueId summand = step.postOps[sum].operand;
    for (size_t i = 0; i < step.postOps.size(); ++i)
      if (i != sum && step.postOps[i].operand != noValue &&
          usage_.root[step.postOps[i].operand] == usage_.root[summand])
        return true;
    return false;
  }

  bool ownsArena(const Location &location) {
    return buffer(location).place == Buffer::Place::Arena;
  }
  static bool isAmong(const std::vector<Location> &operands, const Location &location) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Location &o) { return o.buffer == location.buffer; });
  }

  bool canWorkInPlace(const Step &step, const std::vector<Location> &operands,
                      const Layout &layout) {
    if (step.kind != StepKind::Eltwise && step.kind != StepKind::Binary &&
        step.kind != StepKind::Softmax)
      return false;
    if (step.kind == StepKind::Binary && operands[1].buffer == operands[0].buffer)
      return false;
    // Before post-ops the library writes what fills up blocks, and elements of the operand with it.
    if (!step.postOps.empty() && isFilledUp(layout))
      return false;
    return diesHere(step.inputs[0]) && ownsArena(operands[0]) && operands[0].layout == layout;
  }

  // ---- concatenation in place ----
  // Where in the concatenation's memory the result belongs.
  std::optional<Location> sliceOf(const Step &step) {
    const Step *concat = chooser_.concatOf(step);
    if (!concat)
      return std::nullopt;
    auto [entry, isNew] = concatBuffers_.try_emplace(concat->output, 0);
    if (isNew)
      entry->second = newBuffer(bytesOf(chooser_.blocked(concat->output)));
    uint64_t offset = 0;
    for (ValueId part : concat->inputs) {
      if (part == step.output)
        break;
      offset += bytesOf(chooser_.blocked(part));
    }
    return Location{entry->second, chooser_.blocked(step.output), offset};
  }

  bool isInPlaceAlready(const Step &concat) const {
    auto entry = concatBuffers_.find(concat.output);
    return entry != concatBuffers_.end() &&
           std::all_of(concat.inputs.begin(), concat.inputs.end(), [&](ValueId part) {
             return at(part).buffer == entry->second && at(part).layout == chooser_.blocked(part);
           });
  }

  // ---- outputs ----
  Expected<> lowerOutput(size_t index) {
    ValueId id = plan_.outputs[index];
    Location from = at(id);
    for (const Location &version : versions_[id])
      if (isPlain(version.layout) && ownsArena(version) &&
          buffer(version).bytes == bytesOf(version.layout)) {
        buffer(version).place = Buffer::Place::Output;
        buffer(version).index = index;
        return {};
      }
    Location target{newBuffer(bytesOf(plain(id)), Buffer::Place::Output, index), plain(id)};
    return copy(from, target, isPlain(from.layout) ? Action::Kind::Copy : Action::Kind::Reorder);
  }

  const Plan &plan_;
  Usage usage_;
  std::vector<std::vector<Location>> versions_; // per value; first: where it was made
  std::vector<Layout> layouts_;                 // of the first versions
  LayoutChooser chooser_;
  std::map<ValueId, uint32_t> concatBuffers_; // of concatenations filled in place
  Program program_;
  uint32_t step_ = 0;
};

} // namespace

Expected<Program> lower(const Plan &plan, const std::vector<Stored> &stored, bool takesPacked) {
  std::optional<Expected<Program>> result;
  BYCC_TRY(guarded(Status::Internal,
                   [&] { result.emplace(Lowering(plan).lower(stored, takesPacked)); }));
  return std::move(*result);
}

} // namespace bycc::onednn
