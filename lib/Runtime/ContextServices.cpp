// What compiled code asks of the runtime while it runs: threads, memory, regions of vendors,
// library kernels, failures, marks of the profile.
#include "Context.h"

#include "StatusCode.h"
#include "ThreadPool.h"
#include "VendorCall.h"

#include "bycc/Library/Call.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

namespace bycc::runtime {

void Context::parallelForCall(bycc_exec *exec, bycc_task_fn task, void *closure, int64_t count,
                              int64_t grain) {
  parallelFor(exec->threads, task, closure, count, grain);
}

void *Context::alloc(bycc_exec *exec, int64_t bytes) {
  if (bytes < 0 || static_cast<uint64_t>(bytes) > maxTensorBytes) {
    of(exec).record(error(Status::Limit)
                    << "an intermediate tensor of more than " << maxTensorBytes << " bytes");
    return nullptr;
  }
  void *memory = of(exec).cache_.take(static_cast<uint64_t>(bytes));
  if (!memory)
    of(exec).record(error(Status::Limit)
                    << "no memory for an intermediate tensor: " << bytes << " bytes");
  return memory;
}

void Context::release(bycc_exec *exec, void *memory) {
  if (memory && !of(exec).cache_.giveBack(memory))
    of(exec).record(error(Status::Internal) << "memory is released that was not allocated");
}

uint64_t Context::mark(bycc_exec *exec) { return of(exec).cache_.mark(); }
void Context::releaseTo(bycc_exec *exec, uint64_t mark) { of(exec).cache_.releaseTo(mark); }

void *Context::grow(bycc_exec *exec, void *memory, int64_t bytes) {
  void *grown = bytes < 0 ? nullptr : of(exec).cache_.grow(memory, bytes);
  if (!grown)
    of(exec).record(error(Status::Limit)
                    << "no memory for an intermediate tensor: " << bytes << " bytes");
  return grown;
}

void *Context::regionAlloc(bycc_exec *exec, uint32_t index, uint32_t output, const int64_t *shape) {
  Context &context = of(exec);
  if (index >= context.states_.size() ||
      output >= context.model_->regions()[index].outputs.size()) {
    context.record(error(Status::Internal) << "memory for output " << output << " of region "
                                           << index << ", there are " << context.states_.size());
    return nullptr;
  }
  const Region &region = context.model_->regions()[index];
  bycc_tensor tensor = region.outputs[output];
  if (shape) {
    auto bytes = tensorBytes(static_cast<DType>(tensor.dtype), shape, tensor.rank);
    if (!bytes) {
      context.record(bytes.takeError());
      return nullptr;
    }
    tensor.shape = shape;
    tensor.bytes = *bytes;
  }
  // loadRegion() has seen to it that the vendor has both functions.
  void *memory = region.vendor->alloc(region.context, &tensor);
  if (memory)
    context.vendorMemory_.emplace_back(&region, memory);
  else
    context.record(error(Status::Limit)
                   << "vendor " << region.vendor->name << " has no memory for a tensor of "
                   << tensor.bytes << " bytes");
  return memory;
}

void Context::regionRelease(bycc_exec *exec, void *memory) {
  auto &held = of(exec).vendorMemory_;
  auto found = std::find_if(held.begin(), held.end(),
                            [&](const auto &entry) { return entry.second == memory; });
  if (found == held.end()) {
    of(exec).record(error(Status::Internal) << "memory is released that no vendor gave");
    return;
  }
  found->first->vendor->release(found->first->context, memory);
  held.erase(found);
}

// What a run that ended early still holds.
void Context::releaseVendorMemory() {
  for (const auto &[region, memory] : vendorMemory_)
    region->vendor->release(region->context, memory);
  vendorMemory_.clear();
}

int32_t Context::hasRegion(bycc_exec *exec, uint32_t index) {
  const std::vector<Region> &regions = of(exec).model_->regions();
  return index < regions.size() && regions[index].isLoaded();
}

int32_t Context::callRegion(bycc_exec *exec, uint32_t index, const bycc_array *inputs,
                            const bycc_array *outputs) {
  Context &context = of(exec);
  if (index >= context.states_.size())
    return context.record(error(Status::Internal) << "call of region " << index << ", there are "
                                                  << context.states_.size());
  const Region &region = context.model_->regions()[index];
  void *state = context.states_[index].memory.data();
  char text[512];
  text[0] = 0;
  uint32_t steps = context.isProfiling_ ? context.profile_.numSteps(index) : 0;
  bycc_region_run &given = context.run_; // the rest of it stays null
  given.step_ns = nullptr;
  given.threads = exec->threads;
  given.inputs = inputs;
  given.outputs = outputs;
  auto run = [&] {
    if (steps == 0)
      return region.vendor->run(region.context, region.handle, state, &given, text, sizeof text);
    std::vector<uint64_t> ns(steps);
    given.step_ns = ns.data();
    uint64_t begin = context.profile_.now();
    int32_t status =
        region.vendor->run(region.context, region.handle, state, &given, text, sizeof text);
    context.profile_.addSteps(index, begin, ns.data());
    return status;
  };
  int32_t status = callVendor(run, text);
  if (status == BYCC_OK)
    return BYCC_OK;
  text[sizeof text - 1] = 0;
  return context.record(error(statusOf(status))
                        << "region " << context.module_.regions[index].symbol << ": "
                        << (text[0] ? text : "the vendor failed without a reason"));
}

int32_t Context::callLibrary(bycc_exec *exec, const bycc_library_call *call) {
  Context &context = of(exec);
  auto allocate = [exec](const bycc_operand &result, int64_t bytes) {
    return result.output < 0 ? alloc(exec, bytes)
                             : makeOutput(exec, static_cast<uint32_t>(result.output), result.shape);
  };
  auto parallel = [exec](bycc_task_fn task, void *closure, int64_t count, int64_t grain) {
    parallelFor(exec->threads, task, closure, count, grain);
  };
  LibraryCall seen(*call, allocate, parallel);
  Expected<> done = runLibraryKernel(seen, call->kernel);
  return done ? BYCC_OK : context.record(done.takeError());
}

int32_t Context::fail(bycc_exec *exec, int32_t status, const char *message) {
  if (status == BYCC_OK)
    status = BYCC_INTERNAL;
  of(exec).record(error(statusOf(status)) << (message ? message : "no reason given"));
  return status;
}

int32_t Context::failWith(bycc_exec *exec, int32_t status, const char *message,
                          const int64_t *values, uint32_t count) {
  std::string text = message;
  size_t at = 0;
  for (uint32_t i = 0; i < count && (at = text.find("{}", at)) != std::string::npos; ++i) {
    std::string value = std::to_string(values[i]);
    text.replace(at, 2, value);
    at += value.size();
  }
  return fail(exec, status, text.c_str());
}

void *Context::makeOutput(bycc_exec *exec, uint32_t index, const int64_t *shape) {
  Context &context = of(exec);
  auto memory = context.memoryForOutput(index, shape);
  if (memory)
    return *memory;
  context.record(memory.takeError());
  return nullptr;
}

void Context::nodeBegin(bycc_exec *exec, uint32_t node) {
  if (of(exec).isProfiling_)
    of(exec).profile_.begin(node);
}
void Context::nodeEnd(bycc_exec *exec, uint32_t node) {
  if (of(exec).isProfiling_)
    of(exec).profile_.end(node);
}

namespace {

void *addressOf(const bycc_exec &exec, const bycc_place &value) {
  switch (value.base) {
  case BYCC_AT_ADDRESS:
    return reinterpret_cast<void *>(value.offset);
  case BYCC_AT_ARENA:
    return exec.arena + value.offset;
  case BYCC_AT_WEIGHTS:
    return const_cast<uint8_t *>(exec.weights) + value.offset;
  case BYCC_AT_INPUT:
    return exec.inputs[value.offset];
  case BYCC_AT_OUTPUT:
    return exec.outputs[value.offset];
  default:
    return nullptr;
  }
}

} // namespace

void Context::nodeValues(bycc_exec *exec, uint32_t node, const int64_t *values, uint32_t numInputs,
                         uint32_t numOutputs) {
  Context &context = of(exec);
  if (!context.watch_)
    return;
  std::vector<bycc_operand> operands;
  for (uint32_t i = 0; i < numInputs + numOutputs; ++i) {
    bycc_place value;
    std::memcpy(&value, values, sizeof value);
    values += sizeof value / sizeof *values;
    operands.push_back({addressOf(*exec, value), const_cast<int64_t *>(values), value.dtype,
                        value.rank, value.output, 0});
    values += value.rank;
  }
  context.watch_(context.watchUser_, node, operands.data(), numInputs, operands.data() + numInputs,
                 numOutputs);
}

// A service as compiled code calls it. Nothing may be thrown through that: it cannot be
// unwound. A service that throws fails: null, or a status.
template <auto service> struct Guarded;
template <typename Result, typename... Args, Result (*service)(bycc_exec *, Args...)>
struct Guarded<service> {
  static Result call(bycc_exec *exec, Args... args) noexcept {
    int32_t status = BYCC_LIMIT;
    try {
      try {
        return service(exec, args...);
      } catch (const std::bad_alloc &) {
        Context::of(exec).lacksMemory_ = true;
      } catch (const std::exception &exception) {
        status = Context::of(exec).record(error(Status::Internal) << exception.what());
      } catch (...) {
        status = Context::of(exec).record(error(Status::Internal) << "an unknown exception");
      }
    } catch (const std::bad_alloc &) {
      Context::of(exec).lacksMemory_ = true;
    }
    if constexpr (std::is_same_v<Result, int32_t>)
      return status;
    else if constexpr (!std::is_void_v<Result>)
      return Result();
  }
};

const bycc_exec_api Context::api = {sizeof(bycc_exec_api),        parallelForCall,
                                    Guarded<alloc>::call,         Guarded<release>::call,
                                    Guarded<callRegion>::call,    Guarded<fail>::call,
                                    Guarded<makeOutput>::call,    Guarded<nodeBegin>::call,
                                    Guarded<nodeEnd>::call,       Guarded<regionAlloc>::call,
                                    Guarded<regionRelease>::call, Guarded<callLibrary>::call,
                                    Guarded<mark>::call,          Guarded<releaseTo>::call,
                                    Guarded<grow>::call,          Guarded<failWith>::call,
                                    Guarded<nodeValues>::call,    hasRegion};

} // namespace bycc::runtime
