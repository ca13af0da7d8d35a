// See Constants.h.
#include "Constants.h"

#include "Arena.h"

#include <algorithm>
#include <functional>

namespace bycc::onednn {

namespace {

using Packed = std::map<std::string, std::weak_ptr<const uint8_t>>;

// Walks from the constants that are read back to the stored ones.
class Packer {
public:
  Packer(const Plan &plan, const Program &program, std::span<const uint8_t> weights,
         Packed &packed)
      : plan_(plan), program_(program), weights_(weights), packed_(packed),
        made_(program.constants.size()) {}

  Expected<std::vector<ConstantBytes>> run() {
    std::vector<bool> isRead(program_.constants.size());
    for (const Slot &slot : program_.slots)
      if (const Buffer &buffer = program_.buffers[slot.buffer];
          buffer.place == Buffer::Place::Constant)
        isRead[buffer.index] = true;
    for (uint32_t id = 0; id < isRead.size(); ++id)
      if (isRead[id])
        BYCC_TRY(bytesOfConstant(id));
    for (uint32_t id = 0; id < isRead.size(); ++id)
      if (!isRead[id])
        made_[id].reset();
    return std::move(made_);
  }

private:
  Expected<ConstantBytes> bytesOfConstant(uint32_t id) {
    if (made_[id])
      return made_[id];
    const Constant &constant = program_.constants[id];
    if (constant.stored != none)
      return made_[id] = BYCC_TRY(mapped(program_.stored[constant.stored]));
    ConstantBytes from = BYCC_TRY(bytesOfConstant(constant.from));
    std::weak_ptr<const uint8_t> &known = packed_[keyOf(constant, from.get())];
    ConstantBytes bytes = known.lock();
    if (!bytes) {
      bytes = BYCC_TRY(pack(constant, from.get()));
      known = bytes;
    }
    return made_[id] = bytes;
  }

  Expected<ConstantBytes> mapped(const Stored &stored) {
    uint64_t bytes = bytesOf(stored.layout);
    if (stored.offset > weights_.size() || bytes > weights_.size() - stored.offset)
      return error(Status::Load) << "constant lies outside the weights";
    return ConstantBytes(ConstantBytes(), weights_.data() + stored.offset);
  }

  // The bytes' address stands for them: weights and packed constants stay where they are.
  std::string keyOf(const Constant &constant, const void *from) const {
    std::string key;
    auto add = [&](const void *data, size_t size) {
      key.append(static_cast<const char *>(data), size);
    };
    add(&from, sizeof from);
    key += keyOfLayout(constant.seen) + keyOfLayout(constant.layout);
    if (constant.step != none) {
      const Step &step = plan_.steps[constant.step];
      add(step.scales.data(), step.scales.size() * sizeof(float));
      for (int32_t zero : {step.zeroIn, step.zeroOut})
        add(&zero, sizeof zero);
    }
    return key;
  }

  Expected<Primitive> makerOf(const Constant &constant) const {
    if (constant.step == none)
      return makeReorder(constant.seen, constant.layout);
    return makePrimitive(plan_.steps[constant.step], {{constant.seen}, constant.layout}, {});
  }

  Expected<ConstantBytes> pack(const Constant &constant, const uint8_t *from) const {
    Primitive made = BYCC_TRY(makerOf(constant));
    AlignedBytes bytes = allocateAligned(bytesOf(constant.layout));
    if (!bytes)
      return error(Status::Limit) << "no memory for " << bytesOf(constant.layout)
                                  << " bytes of weights";
    AlignedBytes scratch = allocateAligned(std::max<uint64_t>(bytesOf(made.scratchpad), 1));
    if (!scratch)
      return error(Status::Limit) << "no memory to reorder weights";
    BYCC_TRY(guarded(Status::Internal, [&] {
      dnnl::stream stream(engine());
      made.primitive.execute(
          stream,
          {{DNNL_ARG_FROM, dnnl::memory(constant.seen, engine(), const_cast<uint8_t *>(from))},
           {DNNL_ARG_TO, dnnl::memory(constant.layout, engine(), bytes.get())},
           {DNNL_ARG_SCRATCHPAD, dnnl::memory(made.scratchpad, engine(), scratch.get())}});
      stream.wait();
    }));
    return ConstantBytes(std::move(bytes));
  }

  const Plan &plan_;
  const Program &program_;
  std::span<const uint8_t> weights_;
  Packed &packed_;
  std::vector<ConstantBytes> made_;
};

} // namespace

AlignedBytes allocateAligned(uint64_t bytes) {
  uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  return AlignedBytes(static_cast<uint8_t *>(std::aligned_alloc(alignment, rounded)));
}

Expected<std::vector<ConstantBytes>> ConstantPool::bytesFor(const Plan &plan,
                                                            const Program &program) {
  return Packer(plan, program, weights_, packed_).run();
}

} // namespace bycc::onednn
