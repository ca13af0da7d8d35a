// Chooses layouts and memory. One pass over the plan in order:
//
// 1. Convolutions and constant weights are asked for with the layout `any`; what
//    they answer flows on. Everything else takes its operands as they come, and
//    only when the library then falls back to a reference loop are they brought
//    to row-major. A reorder is made at most once per value and layout; those of
//    constants run here, once.
// 2. Views (reshape, permute) only relabel a layout. Where the layout does not
//    allow it the operand is copied to row-major first. A matmul whose result
//    goes through a permute writes in the permuted order at once:
//        matmul -> (12,128,64) -> reshape, permute -> (1,128,12,64): no copy
// 3. A summand (`add` as first post-op) that dies here and has the layout of the
//    result lends its memory to it; else it is copied there. Elementwise steps
//    work in place on operands that die.
// 4. Region outputs are row-major; the buffer that ends as an output is the
//    caller's memory from the start when its layout allows.
// 5. Convolutions that end in a concatenation of channels (batch 1) write blocks of
//    channels straight into its memory; the concatenation is then nothing:
//        conv 64 -> |####____|  conv 64 -> |____####|  concat: |########|
//    Blocks are measured to be as fast as channels-last, to which the library
//    tends. A convolution keeps a blocked operand as it is.
// 6. Buffers and scratchpads share one arena by lifetime.
#include "Program.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

namespace bycc::onednn {

namespace {

constexpr uint64_t alignment = 64;

struct Location {
  uint32_t buffer;
  Layout layout;
  uint64_t offset = 0; // in bytes
};

// Facts of the plan that do not depend on layouts.
struct Usage {
  std::vector<ValueId> root;        // the value whose elements a view shows
  std::vector<uint32_t> lastUse;    // per root: last step that reads any view of it
  std::vector<uint32_t> userCount;  // per value: uses by steps and outputs
  std::vector<uint32_t> onlyUser;   // per value: the step, when userCount is 1
  std::vector<bool> isConstant;     // constants, views of them, and what Convert makes of them
};
constexpr uint32_t never = ~0u;

Usage analyse(const Plan &plan) {
  size_t count = plan.values.size();
  Usage usage{std::vector<ValueId>(count), std::vector<uint32_t>(count, 0),
              std::vector<uint32_t>(count, 0), std::vector<uint32_t>(count, never),
              std::vector<bool>(count)};
  std::iota(usage.root.begin(), usage.root.end(), 0);
  for (size_t i = 0; i < count; ++i)
    usage.isConstant[i] = plan.values[i].kind == ValueKind::Constant;
  for (uint32_t s = 0; s < plan.steps.size(); ++s) {
    const Step &step = plan.steps[s];
    auto use = [&](ValueId id) {
      ++usage.userCount[id];
      usage.onlyUser[id] = s;
      usage.lastUse[usage.root[id]] = s;
    };
    for (ValueId id : step.inputs)
      use(id);
    for (const PostOp &postOp : step.postOps)
      if (postOp.operand != noValue)
        use(postOp.operand);
    if (isView(step.kind))
      usage.root[step.output] = usage.root[step.inputs[0]];
    if (isView(step.kind) || step.kind == StepKind::Convert)
      usage.isConstant[step.output] = usage.isConstant[step.inputs[0]];
  }
  for (ValueId id : plan.outputs) {
    ++usage.userCount[id];
    usage.onlyUser[id] = never;
    usage.lastUse[usage.root[id]] = never;
  }
  return usage;
}

class Lowering {
public:
  Lowering(const Plan &plan, std::span<const uint8_t> weights, PackedConstants &packed)
      : plan_(plan), usage_(analyse(plan)), weights_(weights), packed_(packed), versions_(plan.values.size()),
        maker_(plan.values.size()), program_(std::make_unique<Program>()) {
    for (const Step &step : plan.steps)
      maker_[step.output] = &step;
  }

  Expected<std::unique_ptr<Program>> lower() {
    for (ValueId id = 0; id < plan_.values.size(); ++id)
      BYCC_TRY(placeSource(id));
    for (step_ = 0; step_ < plan_.steps.size(); ++step_) {
      const Step &step = plan_.steps[step_];
      if (isView(step.kind))
        BYCC_TRY(lowerView(step));
      else
        BYCC_TRY(lowerStep(step));
    }
    for (size_t i = 0; i < plan_.outputs.size(); ++i)
      BYCC_TRY(lowerOutput(i));
    BYCC_TRY(planArena());
    return std::move(program_);
  }

private:
  // ---- memory ----
  uint32_t newBuffer(uint64_t bytes) {
    program_->buffers.push_back({Buffer::Place::Arena, 0, nullptr, bytes});
    return static_cast<uint32_t>(program_->buffers.size() - 1);
  }
  Buffer &buffer(const Location &location) { return program_->buffers[location.buffer]; }

  const Location &at(ValueId id) const { return versions_[id].front(); }
  const Layout &layoutOf(ValueId id) const { return at(id).layout; }
  const Value &value(ValueId id) const { return plan_.values[id]; }
  Layout plain(ValueId id) const { return plainLayout(value(id).dims, value(id).dtype); }
  Layout any(ValueId id) const { return anyLayout(value(id).dims, value(id).dtype); }

  Expected<> placeSource(ValueId id) {
    const Value &source = value(id);
    if (source.kind == ValueKind::Temp)
      return {};
    Layout layout = plain(id);
    uint64_t bytes = bytesOf(layout);
    uint32_t slot = newBuffer(bytes);
    Buffer &target = program_->buffers[slot];
    if (source.kind == ValueKind::Input) {
      target.place = Buffer::Place::Input;
      target.index = source.where;
    } else {
      if (source.where > weights_.size() || bytes > weights_.size() - source.where)
        return error(Status::Load) << "constant lies outside the weights";
      target.place = Buffer::Place::Fixed;
      target.fixed = const_cast<uint8_t *>(weights_.data() + source.where);
    }
    versions_[id].push_back({slot, layout});
    return {};
  }

  uint32_t slotOf(const Location &location) {
    program_->slots.push_back({location.buffer, location.layout, location.offset});
    return static_cast<uint32_t>(program_->slots.size() - 1);
  }

  bool diesHere(ValueId id) const { return usage_.lastUse[usage_.root[id]] == step_; }

  // ---- reorders ----
  // The value in the wanted layout, copied there if need be.
  Expected<Location> request(ValueId id, const Layout &layout) {
    for (const Location &version : versions_[id])
      if (version.layout == layout)
        return version;
    Location target{0, layout};
    if (usage_.isConstant[id]) {
      target = BYCC_TRY(packConstant(id, layout));
    } else {
      target.buffer = newBuffer(bytesOf(layout));
      BYCC_TRY(copy(at(id), target, "reorder"));
    }
    versions_[id].push_back(target);
    return target;
  }

  // The library packs from few layouts into some of its own: row-major is one of them.
  Expected<Location> packConstant(ValueId id, const Layout &layout) {
    if (Expected<Primitive> reorder = makeReorder(at(id).layout, layout))
      return runNow(*reorder, at(id), layout);
    Location from = at(id);
    if (!isPlain(from.layout)) {
      Primitive copy = BYCC_TRY(makeReorder(from.layout, plain(id)));
      from = BYCC_TRY(runNow(copy, from, plain(id)));
    }
    Primitive reorder = BYCC_TRY(makeReorder(from.layout, layout));
    return runNow(reorder, from, layout);
  }

  // Runs a primitive on a constant while the program is made, once per region.
  Expected<Location> runNow(const Primitive &made, const Location &from, const Layout &layout,
                            const std::vector<float> &scales = {}, int32_t zeroIn = 0) {
    std::weak_ptr<uint8_t> &known = packed_[keyOf(from, layout, scales, zeroIn)];
    std::shared_ptr<uint8_t> bytes = known.lock();
    if (!bytes) {
      bytes = BYCC_TRY(pack(made, from, layout));
      known = bytes;
    }
    Location target{newBuffer(bytesOf(layout)), layout};
    buffer(target).place = Buffer::Place::Fixed;
    buffer(target).fixed = bytes.get();
    program_->packed.push_back(std::move(bytes));
    return target;
  }

  // The bytes' address stands for them: weights and packed constants stay where they are.
  std::string keyOf(const Location &from, const Layout &layout, const std::vector<float> &scales,
                    int32_t zeroIn) {
    std::string key;
    auto add = [&](const void *data, size_t size) {
      key.append(static_cast<const char *>(data), size);
    };
    const void *address = buffer(from).fixed;
    add(&address, sizeof address);
    add(&from.layout.data, sizeof from.layout.data);
    add(&layout.data, sizeof layout.data);
    add(scales.data(), scales.size() * sizeof(float));
    add(&zeroIn, sizeof zeroIn);
    return key;
  }

  Expected<std::shared_ptr<uint8_t>> pack(const Primitive &made, const Location &from,
                                          const Layout &layout) {
    AlignedBytes bytes = allocateAligned(bytesOf(layout));
    if (!bytes)
      return error(Status::Limit) << "no memory for " << bytesOf(layout) << " bytes of weights";
    AlignedBytes scratch = allocateAligned(std::max<uint64_t>(bytesOf(made.scratchpad), 1));
    if (!scratch)
      return error(Status::Limit) << "no memory to reorder weights";
    BYCC_TRY(guarded(Status::Internal, [&] {
      dnnl::stream stream(engine());
      made.primitive.execute(
          stream,
          {{DNNL_ARG_FROM, dnnl::memory(from.layout, engine(), buffer(from).fixed)},
           {DNNL_ARG_TO, dnnl::memory(layout, engine(), bytes.get())},
           {DNNL_ARG_SCRATCHPAD, dnnl::memory(made.scratchpad, engine(), scratch.get())}});
      stream.wait();
    }));
    return std::shared_ptr<uint8_t>(std::move(bytes));
  }

  Expected<> copy(const Location &from, const Location &to, const char *what) {
    Primitive reorder = BYCC_TRY(makeReorder(from.layout, to.layout));
    Action action{reorder.primitive, {}, what, reorder.implementation, source()};
    action.args = {{DNNL_ARG_FROM, slotOf(from)}, {DNNL_ARG_TO, slotOf(to)}};
    push(std::move(action), reorder.scratchpad);
    return {};
  }

  std::string source() const {
    return step_ < plan_.steps.size() ? plan_.steps[step_].source : std::string();
  }

  void push(Action action, const Layout &scratchpad) {
    if (uint64_t bytes = bytesOf(scratchpad))
      action.args.push_back({DNNL_ARG_SCRATCHPAD, slotOf({newBuffer(bytes), scratchpad})});
    program_->actions.push_back(std::move(action));
  }

  // ---- views ----
  std::optional<Layout> viewed(const Step &step, const Layout &layout) const {
    return step.kind == StepKind::Reshape ? reshaped(layout, value(step.output).dims)
                                          : permuted(layout, step.permutation);
  }

  Expected<> lowerView(const Step &step) {
    Location from = at(step.inputs[0]);
    std::optional<Layout> view = viewed(step, from.layout);
    if (!view) {
      from = BYCC_TRY(request(step.inputs[0], plain(step.inputs[0])));
      view = viewed(step, from.layout);
    }
    if (!view)
      return error(Status::Internal) << "no view of a row-major tensor";
    versions_[step.output].push_back({from.buffer, *view, from.offset});
    return {};
  }

  // ---- steps ----
  Expected<> lowerStep(const Step &step) {
    if (step.kind == StepKind::Concat && isInPlaceAlready(step)) {
      versions_[step.output].push_back({at(step.inputs[0]).buffer, blocked(step.output)});
      return {};
    }
    int sum = sumPostOpOf(plan_, step);
    Primitive made = BYCC_TRY(choose(step, sum));
    if (usage_.isConstant[step.output]) {
      Location from = BYCC_TRY(request(step.inputs[0], made.layouts.inputs[0]));
      versions_[step.output].push_back(BYCC_TRY(runNow(made, from, made.layouts.output, step.scales, step.zeroIn)));
      return {};
    }
    std::vector<Location> operands;
    for (size_t i = 0; i < step.inputs.size(); ++i)
      operands.push_back(BYCC_TRY(operandAt(step, i, made.layouts.inputs[i])));
    std::vector<Location> postOperands;
    for (const PostOp &postOp : step.postOps)
      postOperands.push_back(postOp.operand == noValue ? Location{} : at(postOp.operand));
    Location target = BYCC_TRY(placeResult(step, sum, operands, made.layouts.output));

    Action action{made.primitive, {}, name(step.kind), made.implementation, step.source};
    for (size_t i = 0; i < operands.size(); ++i)
      action.args.push_back({made.inputArgs[i], slotOf(operands[i])});
    for (size_t i = 0; i < postOperands.size(); ++i)
      if (made.postOpArgs[i])
        action.args.push_back({made.postOpArgs[i], slotOf(postOperands[i])});
    action.args.push_back({DNNL_ARG_DST, slotOf(target)});
    push(std::move(action), made.scratchpad);
    versions_[step.output].push_back(target);
    return {};
  }

  // A matmul's bias is a vector in the plan, a broadcast matrix for the library.
  Expected<Location> operandAt(const Step &step, size_t index, const Layout &layout) {
    if (step.kind == StepKind::MatMul && index == 2) {
      Location bias = BYCC_TRY(request(step.inputs[2], plain(step.inputs[2])));
      return Location{bias.buffer, layout, bias.offset};
    }
    return request(step.inputs[index], layout);
  }

  Expected<Location> placeResult(const Step &step, int sum, const std::vector<Location> &operands,
                                 const Layout &layout) {
    if (sum >= 0)
      return placeSum(step, static_cast<size_t>(sum), operands, layout);
    if (std::optional<Location> slice = sliceOf(step); slice && slice->layout == layout)
      return *slice;
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
    BYCC_TRY(copy(at(summand), {target, waiting}, "copy"));
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
    return diesHere(step.inputs[0]) && ownsArena(operands[0]) && operands[0].layout == layout;
  }

  // ---- concatenation in place ----
  Layout blocked(ValueId id) const { return blockedLayout(value(id).dims, value(id).dtype); }

  // The concatenation of whole blocks of channels that is the only user of this step
  // and of its siblings.
  const Step *sliceUser(const Step &step) const {
    auto userOf = [&](ValueId id) {
      return usage_.userCount[id] == 1 ? usage_.onlyUser[id] : never;
    };
    uint32_t user = userOf(step.output);
    if (user == never || plan_.steps[user].kind != StepKind::Concat)
      return nullptr;
    const Step &concat = plan_.steps[user];
    if (concat.axis != 1 || value(concat.output).dims[0] != 1)
      return nullptr;
    for (ValueId part : concat.inputs) {
      const Step *maker = maker_[part];
      if (!maker || maker->kind != StepKind::Conv || userOf(part) != user ||
          value(part).dtype != DType::Float32 ||
          value(part).dims[1] % channelBlock != 0 || sumPostOpOf(plan_, *maker) >= 0)
        return nullptr;
    }
    return &concat;
  }

  // Where in the concatenation's memory the result belongs.
  std::optional<Location> sliceOf(const Step &step) {
    const Step *concat = step.kind == StepKind::Conv ? sliceUser(step) : nullptr;
    if (!concat)
      return std::nullopt;
    auto [entry, isNew] = concatBuffers_.try_emplace(concat->output, 0);
    if (isNew)
      entry->second = newBuffer(bytesOf(blocked(concat->output)));
    uint64_t offset = 0;
    for (ValueId part : concat->inputs) {
      if (part == step.output)
        break;
      offset += bytesOf(blocked(part));
    }
    return Location{entry->second, blocked(step.output), offset};
  }

  bool isInPlaceAlready(const Step &concat) const {
    auto entry = concatBuffers_.find(concat.output);
    return entry != concatBuffers_.end() &&
           std::all_of(concat.inputs.begin(), concat.inputs.end(), [&](ValueId part) {
             return at(part).buffer == entry->second && at(part).layout == blocked(part);
           });
  }

  // ---- choice of layouts ----
  std::vector<Layout> postOpLayouts(const Step &step) const {
    std::vector<Layout> out;
    for (const PostOp &postOp : step.postOps)
      out.push_back(postOp.operand == noValue ? Layout() : layoutOf(postOp.operand));
    return out;
  }

  // First what suits the neighbours; row-major where that gets only a slow loop.
  Expected<Primitive> choose(const Step &step, int sum) {
    BYCC_TRY(plainPostOperands(step));
    std::vector<Layout> postOps = postOpLayouts(step);
    std::optional<Primitive> slow;
    for (const Layouts &candidate : candidates(step, sum)) {
      Expected<Primitive> made = makePrimitive(step, candidate, postOps, sum);
      if (made && !made->isSlow())
        return made;
      if (made && !slow)
        slow = *made;
    }
    if (slow)
      return *slow;
    return makePrimitive(step, plainLayouts(step), postOps, sum);
  }

  // Small broadcast operands of post-ops are row-major.
  Expected<> plainPostOperands(const Step &step) {
    for (const PostOp &postOp : step.postOps)
      if (postOp.operand != noValue && value(postOp.operand).dims != value(step.output).dims &&
          !isPlain(layoutOf(postOp.operand)))
        versions_[postOp.operand].front() =
            BYCC_TRY(request(postOp.operand, plain(postOp.operand)));
    return {};
  }

  std::vector<Layouts> candidates(const Step &step, int sum) {
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
    case StepKind::Pool:
    case StepKind::Concat:
    case StepKind::Reduce:
      return {flowingLayouts(step, any(step.output)), plainLayouts(step)};
    default:
      return {flowingLayouts(step, layoutOf(step.inputs[0])), plainLayouts(step)};
    }
  }

  Layouts plainLayouts(const Step &step) const {
    Layouts out;
    for (ValueId id : step.inputs)
      out.inputs.push_back(plain(id));
    if (step.kind == StepKind::MatMul) {
      out.inputs[1] = weightsLayout(step);
      if (step.hasBias)
        out.inputs[2] = matMulBias(plan_, step);
    }
    out.output = plain(step.output);
    return out;
  }

  Layouts flowingLayouts(const Step &step, const Layout &output) const {
    Layouts out;
    for (ValueId id : step.inputs)
      out.inputs.push_back(layoutOf(id));
    out.output = output;
    return out;
  }

  std::vector<Layouts> convLayouts(const Step &step) const {
    Layouts free{{any(step.inputs[0]), any(step.inputs[1])}, any(step.output)};
    if (step.hasBias)
      free.inputs.push_back(plain(step.inputs[2]));
    Layouts kept = free;
    if (!stridesOf(layoutOf(step.inputs[0])))
      kept.inputs[0] = layoutOf(step.inputs[0]);
    Layouts sliced = kept;
    sliced.output = blocked(step.output);
    if (step.kind == StepKind::Conv && sliceUser(step))
      return {sliced, kept, free};
    return {kept, free};
  }

  Layouts binaryLayouts(const Step &step) const {
    Layouts out = flowingLayouts(step, withDType(layoutOf(step.inputs[0]), value(step.output).dtype));
    if (value(step.inputs[0]).dims != value(step.inputs[1]).dims)
      return out;
    // Bring the row-major operand to the other's layout.
    size_t from = isPlain(out.inputs[0]) ? 1 : 0;
    out.inputs[1 - from] = withDType(out.inputs[from], value(step.inputs[1 - from]).dtype);
    out.output = withDType(out.inputs[from], value(step.output).dtype);
    return out;
  }

  // Quantised convolutions want channels last: then one pass converts and reorders.
  Layout convertedLayout(const Step &step) const {
    uint32_t user = usage_.userCount[step.output] == 1 ? usage_.onlyUser[step.output] : never;
    const Layout &from = layoutOf(step.inputs[0]);
    if (user != never && plan_.steps[user].kind == StepKind::Conv && isPlain(from) &&
        plan_.steps[user].inputs[0] == step.output && isQuantized(value(step.output).dtype))
      return channelsLastLayout(value(step.output).dims, value(step.output).dtype);
    return withDType(from, value(step.output).dtype);
  }

  Layout weightsLayout(const Step &step) const {
    return usage_.isConstant[step.inputs[1]] ? any(step.inputs[1]) : plain(step.inputs[1]);
  }

  // Strided operands and results first, then row-major ones.
  std::vector<Layouts> matmulLayouts(const Step &step, int sum) const {
    Layouts rowMajor = plainLayouts(step), strided = rowMajor;
    for (size_t i = 0; i < 2; ++i)
      if (!(i == 1 && usage_.isConstant[step.inputs[1]]) && stridesOf(layoutOf(step.inputs[i])))
        strided.inputs[i] = layoutOf(step.inputs[i]);
    std::vector<Layouts> out;
    if (sum < 0)
      if (std::optional<Layout> wanted = wantedLayout(step.output)) {
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
  std::optional<Layout> wantedLayout(ValueId id) const {
    std::vector<const Step *> chain;
    bool hasPermute = false;
    ValueId end = id;
    while (usage_.userCount[end] == 1 && usage_.onlyUser[end] != never &&
           isView(plan_.steps[usage_.onlyUser[end]].kind)) {
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
    Location target{newBuffer(bytesOf(plain(id))), plain(id)};
    buffer(target).place = Buffer::Place::Output;
    buffer(target).index = index;
    return copy(from, target, isPlain(from.layout) ? "copy" : "reorder");
  }

  // ---- arena ----
  struct Life {
    uint32_t buffer, first, last;
  };

  std::vector<Life> lives() const {
    std::vector<Life> all(program_->buffers.size());
    for (uint32_t b = 0; b < all.size(); ++b)
      all[b] = {b, never, 0};
    for (uint32_t a = 0; a < program_->actions.size(); ++a)
      for (auto [arg, slot] : program_->actions[a].args) {
        Life &life = all[program_->slots[slot].buffer];
        life.first = std::min(life.first, a);
        life.last = std::max(life.last, a);
      }
    std::erase_if(all, [&](const Life &life) {
      return program_->buffers[life.buffer].place != Buffer::Place::Arena || life.first == never;
    });
    return all;
  }

  // Largest first, each at the lowest offset free during its life.
  Expected<> planArena() {
    std::vector<Life> todo = lives(), done;
    std::sort(todo.begin(), todo.end(), [&](const Life &a, const Life &b) {
      uint64_t x = program_->buffers[a.buffer].bytes, y = program_->buffers[b.buffer].bytes;
      return x != y ? x > y : a.buffer < b.buffer;
    });
    for (const Life &life : todo) {
      Buffer &target = program_->buffers[life.buffer];
      target.index = freeOffset(life, done);
      uint64_t end = target.index + padded(target.bytes);
      program_->arenaBytes = std::max(program_->arenaBytes, end);
      auto byOffset = [&](const Life &a, const Life &b) {
        return program_->buffers[a.buffer].index < program_->buffers[b.buffer].index;
      };
      done.insert(std::upper_bound(done.begin(), done.end(), life, byOffset), life);
    }
    if (program_->arenaBytes > uint64_t{1} << 42)
      return error(Status::Limit) << "region needs " << program_->arenaBytes << " bytes";
    return {};
  }

  static uint64_t padded(uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

  uint64_t freeOffset(const Life &life, const std::vector<Life> &placed) const {
    uint64_t offset = 0, bytes = padded(program_->buffers[life.buffer].bytes);
    for (const Life &other : placed) {
      if (other.last < life.first || life.last < other.first)
        continue;
      const Buffer &taken = program_->buffers[other.buffer];
      if (taken.index >= offset + bytes)
        break;
      offset = std::max(offset, taken.index + padded(taken.bytes));
    }
    return offset;
  }

  const Plan &plan_;
  Usage usage_;
  std::span<const uint8_t> weights_;
  PackedConstants &packed_;
  std::vector<std::vector<Location>> versions_; // first: where the value was made
  std::vector<const Step *> maker_;             // per value, null: not made by a step
  std::map<ValueId, uint32_t> concatBuffers_;   // of concatenations filled in place
  std::unique_ptr<Program> program_;
  uint32_t step_ = 0;
};

} // namespace

AlignedBytes allocateAligned(uint64_t bytes) {
  uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  return AlignedBytes(static_cast<uint8_t *>(std::aligned_alloc(alignment, rounded)));
}

Expected<std::unique_ptr<Program>> buildProgram(const Plan &plan, std::span<const uint8_t> weights,
                                                PackedConstants &packed) {
  std::optional<Expected<std::unique_ptr<Program>>> result;
  BYCC_TRY(guarded(Status::Internal, [&] { result.emplace(Lowering(plan, weights, packed).lower()); }));
  return std::move(*result);
}

} // namespace bycc::onednn
