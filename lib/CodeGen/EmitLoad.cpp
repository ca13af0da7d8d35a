// Loads and stores. A load is a scalar load when it does not vary, a vector load
// when the lanes walk it with step one, a wide load and a shuffle for small steps,
// else a gather.
#include "Emit.h"

namespace bycc::codegen {

void KernelEmitter::tag(llvm::Instruction *instruction, uint32_t buffer) {
  if (auto it = aliasScopes_.find(buffer); it != aliasScopes_.end()) {
    instruction->setMetadata(llvm::LLVMContext::MD_alias_scope, it->second);
    instruction->setMetadata(llvm::LLVMContext::MD_noalias, noAlias_.at(buffer));
  }
}

llvm::Value *KernelEmitter::pointerTo(uint32_t buffer, Value *index, bool local) {
  llvm::Type *type = memoryType(loops_.kernel.buffers[buffer].type);
  Value *base = local ? fieldPointer(frame_.scratch, locals_.at(buffer)->localOffset)
                      : frame_.pointers.at(buffer);
  return b_.CreateGEP(type, base, index);
}

// The element at an index that is not local to a lane. Of places that are made together all differ
// from the first one by a constant, which is left to the instruction's address.
llvm::Value *KernelEmitter::addressOf(uint32_t buffer, Ref index) {
  const Affine form = x_.affine(index);
  if (together_.axis == noAxis || form.isBroken)
    return pointerTo(buffer, emitAt(index), isLocal(buffer));
  Affine moving;
  int64_t offset = form.constant, steps = 0; // steps: of the axis of the places
  for (auto [atom, factor] : form.terms) {
    const Expr &e = x_[atom];
    auto axis = static_cast<uint32_t>(e.i);
    if (e.op == Op::Axis && axis == together_.axis)
      steps = factor;
    else if (auto *known =
                 e.op == Op::Axis ? llvm::dyn_cast<llvm::ConstantInt>(axes_.at(axis)) : nullptr)
      offset += factor * known->getSExtValue();
    else
      moving.terms.push_back({atom, factor});
  }
  Value *at =
      b_.CreateAdd(emitAt(x_.fromAffine(moving)), b_.CreateMul(together_.begin, i64(steps)));
  llvm::Type *type = memoryType(loops_.kernel.buffers[buffer].type);
  return b_.CreateGEP(type, pointerTo(buffer, at, isLocal(buffer)),
                      i64(offset + steps * together_.place));
}

bool KernelEmitter::hasMasks(llvm::Type *element) const {
  const TargetInfo &target = context_.target;
  return target.vectorBits == 512 ||
         (target.has("avx2") && element->getPrimitiveSizeInBits() >= 32);
}

// Where the target has no masks, a load of all lanes is worth a branch.
llvm::Value *KernelEmitter::loadMasked(llvm::Type *type, Value *pointer, uint32_t buffer) {
  llvm::Type *element = type->getScalarType();
  auto align = llvm::Align(element->getPrimitiveSizeInBits() / 8);
  auto masked = [&] {
    llvm::Instruction *load =
        b_.CreateMaskedLoad(type, pointer, align, lanes_.mask, llvm::Constant::getNullValue(type));
    tag(load, buffer);
    return load;
  };
  if (hasMasks(element) || lanes_.used)
    return masked();
  Value *result = entryAlloca(type);
  ifThen(
      b_.CreateAndReduce(lanes_.mask),
      [&] {
        llvm::Instruction *load = b_.CreateAlignedLoad(type, pointer, align);
        tag(load, buffer);
        b_.CreateStore(load, result);
      },
      [&] { b_.CreateStore(masked(), result); });
  return b_.CreateLoad(type, result);
}

// Side by side.
llvm::Value *KernelEmitter::loadLanes(llvm::Type *type, Value *pointer, uint32_t buffer) {
  if (lanes_.mask)
    return loadMasked(type, pointer, buffer);
  auto align = llvm::Align(type->getScalarType()->getPrimitiveSizeInBits() / 8);
  llvm::Instruction *load = b_.CreateAlignedLoad(type, pointer, align);
  tag(load, buffer);
  return load;
}

// Without masks a known number of lanes goes in pieces of 2^n lanes.
void KernelEmitter::storeMasked(Value *value, Value *pointer, uint32_t buffer) {
  llvm::Type *element = value->getType()->getScalarType();
  auto align = llvm::Align(element->getPrimitiveSizeInBits() / 8);
  if (hasMasks(element) || !lanes_.used)
    return tag(b_.CreateMaskedStore(value, pointer, align, lanes_.mask), buffer);
  int64_t from = 0;
  for (int64_t size = lanes_.count; size > 0; size /= 2) {
    if (lanes_.used - from < size)
      continue;
    std::vector<int> piece;
    for (int64_t lane = from; lane < from + size; ++lane)
      piece.push_back(static_cast<int>(lane));
    Value *at = b_.CreateConstInBoundsGEP1_64(element, pointer, static_cast<uint64_t>(from));
    tag(b_.CreateAlignedStore(b_.CreateShuffleVector(value, piece), at, align), buffer);
    from += size;
  }
}

// One vector load per run of lanes_.count elements, of which a mask leaves those that
// its lanes need; the last one ends at the last element that is needed.
llvm::Value *KernelEmitter::loadStrided(Value *pointer, int64_t step, llvm::Type *element,
                                        uint32_t buffer) {
  llvm::Type *type = vectorOf(element);
  auto align = llvm::Align(element->getPrimitiveSizeInBits() / 8);
  int64_t count = lanes_.count, span = (count - 1) * step + 1;
  auto beginOf = [&](int64_t piece) { return std::min(piece * count, span - count); };
  Value *result = llvm::PoisonValue::get(type);
  for (int64_t piece = 0; piece < step; ++piece) {
    int64_t begin = beginOf(piece);
    Value *from = b_.CreateConstInBoundsGEP1_64(element, pointer, static_cast<uint64_t>(begin));
    llvm::Instruction *load;
    if (lanes_.mask) {
      std::vector<int> lane;
      for (int64_t at = begin; at < begin + count; ++at)
        lane.push_back(static_cast<int>(at % step == 0 ? at / step : count));
      Value *none = llvm::Constant::getNullValue(lanes_.mask->getType());
      load = b_.CreateMaskedLoad(type, from, align, b_.CreateShuffleVector(lanes_.mask, none, lane),
                                 llvm::Constant::getNullValue(type));
    } else {
      load = b_.CreateAlignedLoad(type, from, align);
    }
    tag(load, buffer);
    std::vector<int> mask;
    for (int64_t lane = 0; lane < count; ++lane) {
      int64_t at = lane * step;
      bool mine = std::min(at / count, step - 1) == piece;
      mask.push_back(static_cast<int>(mine ? count + at - begin : lane));
    }
    result = b_.CreateShuffleVector(result, load, mask);
  }
  return result;
}

// Lanes that read the same element in runs of equal length: base + lane // length * step. All lanes
// of a run are under the mask, or none.
std::optional<KernelEmitter::LaneRuns> KernelEmitter::laneRuns(Ref index) {
  LaneRuns runs;
  if (!lanes_.areAligned || (lanes_.mask && lanes_.used == 0))
    return std::nullopt;
  for (auto [atom, coefficient] : x_.affine(index).terms) {
    if (!isVarying(atom))
      continue;
    const Expr &e = x_[atom];
    int64_t length = e.op == Op::FloorDiv ? x_.constant(e.b).value_or(0) : 0;
    int64_t extent = extentOf(lanes_.axis).value_or(0);
    bool isOfLanes = length > 0 && x_[e.a].op == Op::Axis && x_[e.a].i == lanes_.axis;
    if (runs.length != 0 || !isOfLanes || lanes_.count % length != 0 || extent == 0 ||
        extent % length != 0 || coefficient < 1)
      return std::nullopt;
    runs = {length, coefficient};
  }
  int64_t span = runs.length == 0 ? 0 : (lanes_.count / runs.length - 1) * runs.step + 1;
  return span > 0 && span <= lanes_.count ? std::optional(runs) : std::nullopt;
}

// One load, of those elements alone that lanes need, and a shuffle.
llvm::Value *KernelEmitter::loadRuns(Value *pointer, LaneRuns runs, llvm::Type *element,
                                     uint32_t buffer) {
  int64_t count = lanes_.count, numRuns = count / runs.length;
  auto align = llvm::Align(element->getPrimitiveSizeInBits() / 8);
  bool isWhole = runs.step == 1 && !lanes_.mask;
  llvm::Type *type =
      llvm::FixedVectorType::get(element, static_cast<unsigned>(isWhole ? numRuns : count));
  llvm::Instruction *load;
  if (isWhole) {
    load = b_.CreateAlignedLoad(type, pointer, align);
  } else {
    std::vector<int> firstLane; // of the run that reads the element
    for (int64_t at = 0; at < count; ++at) {
      bool isRead = at % runs.step == 0 && at / runs.step < numRuns;
      firstLane.push_back(static_cast<int>(isRead ? at / runs.step * runs.length : count));
    }
    Value *mask = lanes_.mask ? lanes_.mask : b_.CreateVectorSplat(lanes_.count, b_.getTrue());
    Value *none = llvm::Constant::getNullValue(mask->getType());
    load = b_.CreateMaskedLoad(type, pointer, align, b_.CreateShuffleVector(mask, none, firstLane),
                               llvm::Constant::getNullValue(type));
  }
  tag(load, buffer);
  std::vector<int> places;
  for (int64_t lane = 0; lane < count; ++lane)
    places.push_back(static_cast<int>(lane / runs.length * runs.step));
  return b_.CreateShuffleVector(load, places);
}

// A vector of the number in memory, to be read instead of a buffer.
llvm::Value *KernelEmitter::filled(DType type, Value *number) {
  auto *element = llvm::dyn_cast<llvm::Constant>(pack(type, number));
  if (!element)
    return nullptr;
  auto lanes = llvm::ElementCount::getFixed(static_cast<unsigned>(vectorLanes()));
  llvm::Constant *vector = llvm::ConstantVector::getSplat(lanes, element);
  llvm::GlobalVariable *&global = filled_[vector];
  if (!global) {
    global = new llvm::GlobalVariable(context_.module, vector->getType(), true,
                                      llvm::GlobalValue::PrivateLinkage, vector, "filled");
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  }
  return global;
}

// A load of a vector if the condition, the same for all lanes, holds, else a number: the address is
// chosen, as a branch for each load would be dear. Null where it is no such load.
llvm::Value *KernelEmitter::loadIf(Value *condition, Ref load, Ref otherwise) {
  const Expr e = x_[load];
  auto buffer = static_cast<uint32_t>(e.i);
  DType type = loops_.kernel.buffers[buffer].type;
  if (e.op != Op::Load || e.type != type || overrides_.count(load) || isPerLane(buffer) ||
      lanes_.count == 1)
    return nullptr;
  bool readsIndex = false; // which may be there under the condition alone
  x_.visit(e.a, [&](Ref ref) {
    readsIndex = readsIndex || x_[ref].op == Op::Load;
    return !readsIndex;
  });
  if (readsIndex)
    return nullptr;
  auto step = laneStep(e.a);
  auto runs = step ? std::nullopt : laneRuns(e.a);
  Value *fill = step == 1 || runs ? filled(type, emit(otherwise)) : nullptr;
  if (!fill)
    return nullptr;
  Value *pointer = b_.CreateSelect(condition, addressOf(buffer, e.a), fill);
  llvm::Type *element = memoryType(type);
  if (runs)
    return unpack(type, loadRuns(pointer, *runs, element, buffer));
  return unpack(type, loadLanes(vectorOf(element), pointer, buffer));
}

llvm::Value *KernelEmitter::emitLoad(Ref ref, DType as) {
  const Expr e = x_[ref];
  uint32_t buffer = static_cast<uint32_t>(e.i);
  bool local = isLocal(buffer);
  llvm::Type *element = memoryType(e.type);
  // Pairs of neighbours are read as one; indices count the buffer's elements.
  llvm::Type *unit = memoryType(loops_.kernel.buffers[buffer].type);
  auto align = llvm::Align(static_cast<uint64_t>(sizeInBytes(loops_.kernel.buffers[buffer].type)));
  auto finish = [&](llvm::Instruction *instruction) {
    tag(instruction, buffer);
    return unpack(as, instruction);
  };
  if (isPerLane(buffer)) {
    Value *index = b_.CreateMul(emitAt(e.a), i64(vectorLanes()));
    return finish(b_.CreateAlignedLoad(
        llvm::FixedVectorType::get(element, static_cast<unsigned>(vectorLanes())),
        pointerTo(buffer, index, true), align));
  }
  if (!isVarying(e.a))
    return finish(b_.CreateAlignedLoad(element, addressOf(buffer, e.a), align));
  auto step = laneStep(e.a);
  llvm::Type *type = vectorOf(element);
  if (step && *step >= 1 && *step <= 4 && unit == element) {
    Value *pointer = addressOf(buffer, e.a);
    return unpack(as, *step == 1 ? loadLanes(type, pointer, buffer)
                                 : loadStrided(pointer, *step, element, buffer));
  }
  if (auto runs = step || unit != element ? std::nullopt : laneRuns(e.a))
    return unpack(as, loadRuns(addressOf(buffer, e.a), *runs, element, buffer));
  Value *pointers;
  if (step) {
    Value *offsets = b_.CreateMul(laneIota(), b_.CreateVectorSplat(lanes_.count, i64(*step)));
    pointers = b_.CreateGEP(unit, addressOf(buffer, e.a), offsets);
  } else {
    pointers = pointerTo(buffer, emit(e.a), local);
  }
  Value *mask = lanes_.mask ? lanes_.mask : b_.CreateVectorSplat(lanes_.count, b_.getTrue());
  return finish(
      b_.CreateMaskedGather(type, pointers, align, mask, llvm::Constant::getNullValue(type)));
}

Ref KernelEmitter::storedValue(uint32_t buffer, Ref body) const {
  const Expr &e = x_[body];
  bool isRounding = e.op == Op::Cast && e.type == loops_.kernel.buffers[buffer].type &&
                    isFloat(e.type) && sizeInBytes(e.type) == 2 && x_.type(e.a) == DType::Float32;
  return isRounding && !overrides_.count(body) ? e.a : body;
}

void KernelEmitter::emitToStore(uint32_t buffer, Ref index, Ref body) {
  Ref value = storedValue(buffer, body);
  bool isNarrow = loops_.kernel.buffers[buffer].type == DType::BFloat16;
  emitStore(buffer, index, emit(value), isNarrow && isExact(value));
}

void KernelEmitter::emitStore(uint32_t buffer, Ref index, Value *value, bool isExact) {
  DType type = loops_.kernel.buffers[buffer].type;
  bool local = isLocal(buffer);
  auto align = llvm::Align(static_cast<uint64_t>(sizeInBytes(type)));
  llvm::Type *element = memoryType(type);
  if (isPerLane(buffer)) {
    Value *at = b_.CreateMul(emitAt(index), i64(vectorLanes()));
    tag(b_.CreateAlignedStore(pack(type, splat(value), isExact), pointerTo(buffer, at, true),
                              align),
        buffer);
    return;
  }
  if (lanes_.count == 1 || !isVarying(index)) {
    tag(b_.CreateAlignedStore(pack(type, value, isExact), addressOf(buffer, index), align), buffer);
    return;
  }
  value = pack(type, splat(value), isExact);
  auto step = laneStep(index);
  if (step == 1) {
    Value *pointer = addressOf(buffer, index);
    if (lanes_.mask)
      storeMasked(value, pointer, buffer);
    else
      tag(b_.CreateAlignedStore(value, pointer, align), buffer);
    return;
  }
  Value *pointers;
  if (step) {
    Value *offsets = b_.CreateMul(laneIota(), b_.CreateVectorSplat(lanes_.count, i64(*step)));
    pointers = b_.CreateGEP(element, addressOf(buffer, index), offsets);
  } else {
    pointers = pointerTo(buffer, emit(index), local);
  }
  tag(b_.CreateMaskedScatter(value, pointers, align,
                             lanes_.mask ? lanes_.mask
                                         : b_.CreateVectorSplat(lanes_.count, b_.getTrue())),
      buffer);
}

} // namespace bycc::codegen
