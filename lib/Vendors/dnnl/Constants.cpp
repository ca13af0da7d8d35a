// See Constants.h.
#include "Constants.h"

#include "Library.h"
#include "Usage.h"

#include "bycc/Support/MemoryBlock.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>

namespace bycc::onednn {

namespace {

using PackedByKey = std::map<std::string, std::weak_ptr<const uint8_t>>;

// Walks from the constants that are read back to the stored ones.
class Packer {
public:
  Packer(const Plan &plan, const Program &program, const StoredBytes &stored, PackedByKey &packed)
      : plan_(plan), program_(program), stored_(stored), packed_(packed),
        isRead_(program.constants.size()), made_(program.constants.size()) {}

  Expected<std::vector<ConstantBytes>> run() {
    for (const Slot &slot : program_.slots)
      if (const Buffer &buffer = program_.buffers[slot.buffer];
          buffer.place == Buffer::Place::Constant && !isAny(slot.layout))
        isRead_[buffer.index] = true;
    reserve();
    for (uint32_t id = 0; id < isRead_.size(); ++id)
      if (isRead_[id])
        BYCC_TRY(bytesOfConstant(id));
    for (uint32_t id = 0; id < isRead_.size(); ++id)
      if (!isRead_[id])
        made_[id].reset();
    return std::move(made_);
  }

private:
  // One block for all that stays: many small ones would each begin with faults for their pages.
  void reserve() {
    uint64_t bytes = 0;
    for (uint32_t id = 0; id < isRead_.size(); ++id)
      if (const Constant &constant = program_.constants[id]; isRead_[id] && constant.stored == none)
        bytes += aligned(bytesOf(constant.layout));
    if (bytes)
      block_ = std::make_shared<MemoryBlock>(bytes);
  }

  // Null when there is no memory. What others are made of goes again, and has its own.
  std::shared_ptr<uint8_t> allocate(uint64_t bytes, bool stays) {
    if (stays && block_ && block_->size() - used_ >= aligned(bytes)) {
      uint8_t *data = block_->data() + used_;
      used_ += aligned(bytes);
      return {block_, data};
    }
    auto own = std::make_shared<MemoryBlock>(bytes);
    return {own, own->data()};
  }

  Expected<ConstantBytes> bytesOfConstant(uint32_t id) {
    if (made_[id])
      return made_[id];
    const Constant &constant = program_.constants[id];
    if (constant.stored != none)
      return made_[id] = stored_.bytes[constant.stored];
    std::string key = keyOf(constant);
    if (!key.empty())
      made_[id] = packed_[key].lock();
    if (!made_[id])
      made_[id] =
          BYCC_TRY(pack(constant, BYCC_TRY(bytesOfConstant(constant.from)).get(), isRead_[id]));
    if (!key.empty())
      packed_[key] = made_[id];
    return made_[id];
  }

  // What it is made of and how, "" where the source may go. The address of stored bytes
  // that nobody owns stands for them: they stay where they are.
  std::string keyOf(const Constant &constant) const {
    std::string key;
    auto add = [&](const void *data, size_t size) {
      key.append(static_cast<const char *>(data), size);
    };
    if (constant.stored != none) {
      const ConstantBytes &bytes = stored_.bytes[constant.stored];
      const void *address = bytes.get();
      if (bytes.use_count() == 0)
        add(&address, sizeof address);
      return key;
    }
    key = keyOf(program_.constants[constant.from]);
    if (key.empty())
      return key;
    key += keyOfLayout(constant.seen) + keyOfLayout(constant.layout);
    if (constant.step != none)
      key += keyOfStep(plan_.steps[constant.step]);
    return key;
  }

  // Only stored constants come in layouts that the library may not read back.
  const LayoutForm *formToUnpack(const Constant &constant) const {
    uint32_t stored = program_.constants[constant.from].stored;
    if (stored == none || constant.step != none || !isPlain(constant.layout) ||
        (isLayout(constant.seen) && stridesOf(constant.seen)))
      return nullptr;
    return &stored_.stored[stored].form;
  }

  Expected<Primitive> makerOf(const Constant &constant) const {
    if (constant.step == none)
      return makeReorder(constant.seen, constant.layout);
    return makePrimitive(plan_.steps[constant.step], {{constant.seen}, constant.layout}, {});
  }

  bool isBias(const Constant &constant) const {
    return constant.step != none && isProduct(plan_.steps[constant.step].kind);
  }

  void scaleBias(const Constant &constant, const uint8_t *from, float *to) const {
    const std::vector<float> &scales = plan_.steps[constant.step].scales;
    size_t count = bytesOf(constant.layout) / sizeof(float);
    for (size_t i = 0; i < count; ++i)
      to[i] = scales[scales.size() == 1 ? 0 : i] * biasAt(dtypeOf(constant.seen), from, i);
  }
  static float biasAt(DType dtype, const uint8_t *from, size_t index) {
    if (dtype == DType::Float32)
      return reinterpret_cast<const float *>(from)[index];
    return static_cast<float>(reinterpret_cast<const int32_t *>(from)[index]);
  }

  Expected<ConstantBytes> pack(const Constant &constant, const uint8_t *from, bool stays) {
    std::shared_ptr<uint8_t> bytes = allocate(bytesOf(constant.layout), stays);
    if (!bytes)
      return error(Status::Limit) << "no memory for " << bytesOf(constant.layout)
                                  << " bytes of weights";
    // Reorders leave some of what fills up blocks, and of the sums behind the elements, as it
    // was: blobs would not be the same twice, and would show what was in memory before.
    std::optional<LayoutForm> form = formOf(constant.layout);
    if (!form || form->extraFlags || isFilledUp(constant.layout))
      std::memset(bytes.get(), 0, bytesOf(constant.layout));
    if (const LayoutForm *packed = formToUnpack(constant)) {
      unpack(*packed, from, bytes.get());
      return ConstantBytes(std::move(bytes));
    }
    if (isBias(constant)) {
      scaleBias(constant, from, reinterpret_cast<float *>(bytes.get()));
      return ConstantBytes(std::move(bytes));
    }
    Primitive made = BYCC_TRY(makerOf(constant));
    MemoryBlock scratch(bytesOf(made.scratchpad));
    if (!scratch.data())
      return error(Status::Limit) << "no memory to reorder weights";
    BYCC_TRY(guarded(Status::Internal, [&] {
      dnnl::stream stream(engine());
      std::unordered_map<int, dnnl::memory> args(made.fixed.begin(), made.fixed.end());
      args.emplace(DNNL_ARG_FROM,
                   dnnl::memory(constant.seen, engine(), const_cast<uint8_t *>(from)));
      args.emplace(DNNL_ARG_TO, dnnl::memory(constant.layout, engine(), bytes.get()));
      args.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(made.scratchpad, engine(), scratch.data()));
      made.primitive.execute(stream, args);
      stream.wait();
    }));
    return ConstantBytes(std::move(bytes));
  }

  const Plan &plan_;
  const Program &program_;
  const StoredBytes &stored_;
  PackedByKey &packed_;
  std::vector<bool> isRead_; // by steps; the others only make these
  std::vector<ConstantBytes> made_;
  std::shared_ptr<MemoryBlock> block_;
  uint64_t used_ = 0; // of block_
};

} // namespace

uint64_t storedBytes(const LayoutForm &form) {
  std::optional<Layout> layout = layoutOf(form);
  auto elements = static_cast<uint64_t>(numPlaces(form) * sizeInBytes(form.dtype));
  return layout ? std::max(elements, bytesOf(*layout)) : elements;
}

Expected<StoredBytes> storedIn(std::span<const uint8_t> weights, std::vector<Stored> stored) {
  StoredBytes found;
  for (const Stored &one : stored) {
    uint64_t bytes = storedBytes(one.form);
    if (one.offset > weights.size() || bytes > weights.size() - one.offset)
      return error(Status::Load) << "constant lies outside the weights";
    found.bytes.emplace_back(ConstantBytes(), weights.data() + one.offset);
  }
  found.stored = std::move(stored);
  return found;
}

StoredBytes storedOf(const Plan &plan) {
  Usage usage(plan);
  StoredBytes found;
  for (ValueId id = 0; id < plan.values.size(); ++id) {
    const Value &value = plan.values[id];
    if (value.kind != ValueKind::Constant || usage.userCount[id] == 0)
      continue;
    found.stored.push_back({id, *formOf(plainLayout(value.dims, value.dtype)), 0});
    found.bytes.push_back(plan.constants[value.where]);
  }
  return found;
}

Expected<std::vector<ConstantBytes>>
ConstantPool::bytesFor(const Plan &plan, const Program &program, const StoredBytes &stored) {
  return Packer(plan, program, stored, packed_).run();
}

} // namespace bycc::onednn
