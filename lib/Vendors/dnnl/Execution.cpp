// See Execution.h.
#include "Execution.h"

#include "MemoryReserve.h"
#include "Threads.h"

#include <chrono>

namespace bycc::onednn {

Execution::Execution(const Instance &instance) : instance_(instance), stream_(engine()) {
  for (uint32_t s = 0; s < instance.slots.size(); ++s) {
    const Slot &slot = instance.slots[s];
    const Buffer &buffer = instance.buffers[slot.buffer];
    void *data = nullptr; // the rest gets its place in a run
    if (buffer.place == Buffer::Place::Constant)
      data = const_cast<uint8_t *>(instance.constants[buffer.index].get()) + slot.offset;
    if (isAny(slot.layout)) // of weights that have got another one
      memories_.emplace_back();
    else
      memories_.emplace_back(slot.layout, engine(), data);
    if (buffer.place == Buffer::Place::Input)
      inputs_.push_back({s, static_cast<uint32_t>(buffer.index), slot.offset, nullptr});
    if (buffer.place == Buffer::Place::Output)
      outputs_.push_back({s, static_cast<uint32_t>(buffer.index), slot.offset, nullptr});
  }
  for (const PrimitiveCall &call : instance.calls) {
    begins_.push_back(static_cast<uint32_t>(args_.size()));
    for (auto [arg, slot] : call.args)
      args_.push_back({arg, memories_[slot].get()});
    for (const auto &[arg, memory] : call.fixed)
      args_.push_back({arg, memory.get()});
  }
  begins_.push_back(static_cast<uint32_t>(args_.size()));
}

dnnl_status_t Execution::run(uint8_t *arena, const bycc_array *inputs, const bycc_array *outputs,
                             uint64_t *ns) {
  if (dnnl_status_t status = moveTo(arena); status != dnnl_success)
    return status;
  for (auto [bindings, arrays] : {std::pair(&inputs_, inputs), {&outputs_, outputs}})
    if (dnnl_status_t status = bind(*bindings, arrays); status != dnnl_success)
      return status;
  using Clock = std::chrono::steady_clock;
  int32_t threads = libraryThreads();
  ThreadScope given(threads); // put back, whatever happens
  MemoryReserve reserve;
  for (size_t c = 0; c < instance_.calls.size(); ++c) {
    Clock::time_point begin = ns ? Clock::now() : Clock::time_point();
    if (instance_.calls[c].threads != threads)
      setLibraryThreads(threads = instance_.calls[c].threads);
    std::span<const dnnl_exec_arg_t> args(args_.data() + begins_[c], args_.data() + begins_[c + 1]);
    dnnl_status_t status =
        instance_.calls[c].loop
            ? runLoop(instance_.calls[c], args)
            : dnnl_primitive_execute(instance_.calls[c].primitive.get(), stream_.get(),
                                     static_cast<int>(args.size()), args.data());
    if (status != dnnl_success)
      return status;
    if (ns)
      ns[c] += static_cast<uint64_t>(
          std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
  }
  return dnnl_stream_wait(stream_.get());
}

dnnl_status_t Execution::runLoop(const PrimitiveCall &call,
                                 std::span<const dnnl_exec_arg_t> args) const {
  std::vector<float *> data;
  for (const dnnl_exec_arg_t &arg : args) {
    void *memory = nullptr;
    if (dnnl_status_t status = dnnl_memory_get_data_handle(arg.memory, &memory);
        status != dnnl_success)
      return status;
    data.push_back(static_cast<float *>(memory));
  }
  const Loop &loop = *call.loop;
  std::vector<const float *> inputs(
      data.begin(), data.begin() + static_cast<std::ptrdiff_t>(loop.inputDims.size()));
  std::vector<const float *> postOperands;
  size_t next = inputs.size();
  for (const PostOp &postOp : loop.step.postOps)
    postOperands.push_back(postOp.operand == noValue ? nullptr : data[next++]);
  loop.run(inputs, postOperands, data.back(), call.threads);
  return dnnl_success;
}

dnnl_status_t Execution::moveTo(uint8_t *arena) {
  if (arena == arena_)
    return dnnl_success;
  for (size_t s = 0; s < memories_.size(); ++s) {
    const Slot &slot = instance_.slots[s];
    const Buffer &buffer = instance_.buffers[slot.buffer];
    if (buffer.place == Buffer::Place::Arena && !isAny(slot.layout) &&
        !pointTo(memories_[s].get(), arena + buffer.index + slot.offset, stream_.get()))
      return dnnl_runtime_error;
  }
  arena_ = arena;
  return dnnl_success;
}

dnnl_status_t Execution::bind(std::vector<Binding> &bindings, const bycc_array *arrays) {
  for (Binding &binding : bindings) {
    void *data = arrays[binding.index].data;
    if (data == binding.bound)
      continue;
    if (!pointTo(memories_[binding.slot].get(), static_cast<uint8_t *>(data) + binding.offset,
                 stream_.get()))
      return dnnl_runtime_error;
    binding.bound = data;
  }
  return dnnl_success;
}

} // namespace bycc::onednn
