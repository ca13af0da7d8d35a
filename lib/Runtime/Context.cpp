// Runs a model. Everything that can be decided when bindings change is decided
// then; a run is a few checks, one call of the compiled entry and the services
// it asks for (ContextServices.cpp).
#include "Context.h"

#include "StatusCode.h"
#include "ThreadPool.h"
#include "VendorCall.h"

#include "bycc/Library/Call.h"
#include "bycc/Support/MappedFiles.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/ShellWord.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

namespace bycc::runtime {
namespace {

DType dtypeOf(const bycc_tensor_info &info) { return static_cast<DType>(info.dtype); }

std::string quotedName(const bycc_tensor_info &info) { return "'" + escaped(info.name) + "'"; }

std::string shapeText(const std::vector<int64_t> &shape) {
  std::vector<std::string> dims;
  for (int64_t dim : shape)
    dims.push_back(std::to_string(dim));
  return "(" + join(dims, ", ") + ")";
}

std::string shapeText(const bycc_tensor_info &info) {
  std::vector<std::string> dims;
  for (int32_t d = 0; d < info.rank; ++d)
    dims.push_back(info.dims[d].value >= 0 ? std::to_string(info.dims[d].value)
                                           : escaped(info.dims[d].text));
  return "(" + join(dims, ", ") + ")";
}

bool isStatic(const bycc_tensor_info &info) {
  return std::all_of(info.dims, info.dims + info.rank,
                     [](const bycc_dim &dim) { return dim.value >= 0; });
}

bool fits(const bycc_tensor_info &info, const std::vector<int64_t> &shape) {
  for (int32_t d = 0; d < info.rank; ++d)
    if (shape[d] < 0 || (info.dims[d].value >= 0 && shape[d] != info.dims[d].value))
      return false;
  return true;
}

std::vector<int64_t> staticShape(const bycc_tensor_info &info) {
  std::vector<int64_t> shape;
  for (int32_t d = 0; d < info.rank; ++d)
    shape.push_back(info.dims[d].value);
  return shape;
}

bool isAligned(const void *data, const bycc_tensor_info &info) {
  return reinterpret_cast<uintptr_t>(data) % sizeInBytes(dtypeOf(info)) == 0;
}

// Marks a context as in use; false when it already is.
class BusyMark {
public:
  explicit BusyMark(std::atomic<bool> &flag) : flag_(flag), isMine_(!flag.exchange(true)) {}
  BusyMark(const BusyMark &) = delete;
  ~BusyMark() {
    if (isMine_)
      flag_.store(false);
  }
  Expected<> check() const {
    if (!isMine_)
      return error(Status::Arg) << "the context is in use by another thread: make one per run";
    return {};
  }

private:
  std::atomic<bool> &flag_;
  bool isMine_;
};

} // namespace

Context::Context(std::shared_ptr<const Model> model)
    : model_(std::move(model)), module_(model_->module()), threads_(model_->threads()),
      inputs_(module_.num_inputs), outputs_(module_.num_outputs), states_(model_->regions().size()),
      inputPointers_(module_.num_inputs), outputPointers_(module_.num_outputs),
      inputShapes_(module_.num_inputs) {
  exec_.api = &api;
  exec_.weights = model_->weights();
  exec_.inputs = inputPointers_.data();
  exec_.input_shapes = inputShapes_.data();
  exec_.outputs = outputPointers_.data();
  exec_.owner = this;
  run_.scratch = lend;
  run_.owner = this;
  for (uint32_t i = 0; i < module_.num_outputs; ++i) {
    outputs_[i].isStatic = isStatic(module_.outputs[i]);
    if (outputs_[i].isStatic)
      outputs_[i].shape = staticShape(module_.outputs[i]);
  }
}

Context::~Context() { dropStates(); }

Expected<std::shared_ptr<Context>> Context::create(std::shared_ptr<const Model> model) {
  std::shared_ptr<Context> context(new Context(std::move(model)));
  const bycc_module &module = context->module_;
  for (uint32_t i = 0; i < module.num_outputs; ++i)
    if (context->outputs_[i].isStatic)
      context->outputs_[i].bytes = BYCC_TRY(tensorBytes(
          dtypeOf(module.outputs[i]), context->outputs_[i].shape.data(), module.outputs[i].rank));
  context->arena_ = MemoryBlock(module.arena_bytes);
  if (!context->arena_.data())
    return error(Status::Limit) << "no memory for the arena: " << module.arena_bytes << " bytes";
  context->exec_.arena = context->arena_.data();
  BYCC_TRY(context->setThreads(context->threads_));
  return context;
}

Expected<> Context::initStates() {
  if (states_.empty())
    return {};
  RunEnvironment environment(threads_);
  BYCC_TRY(environment.check());
  for (size_t i = 0; i < states_.size(); ++i)
    if (model_->regions()[i].isLoaded())
      BYCC_TRY(initState(i));
  return {};
}

Expected<> Context::initState(size_t index) {
  const Region &region = model_->regions()[index];
  MemoryBlock &memory = states_[index].memory;
  uint64_t bytes = region.vendor->state_bytes(region.context, region.handle);
  bool isNew = memory.size() < bytes || !memory.data();
  if (isNew)
    memory = MemoryBlock(bytes, true);
  if (!memory.data())
    return error(Status::Limit) << "no memory for the state of region "
                                << module_.regions[index].symbol << ": " << bytes << " bytes";
  if (!isNew)
    std::memset(memory.data(), 0, bytes);
  char text[512] = "no reason given";
  auto call = [&] {
    return region.vendor->init_state(region.context, region.handle, memory.data(), threads_);
  };
  if (int32_t status = callVendor(call, text); status != BYCC_OK)
    return error(statusOf(status)) << "region " << module_.regions[index].symbol
                                   << ": its state cannot be set up: " << text;
  states_[index].isReady = true;
  bytes = region.vendor->scratch_bytes ? region.vendor->scratch_bytes(region.context, region.handle)
                                       : 0;
  if (!lend(&run_, bytes))
    return error(Status::Limit) << "no memory for runs of region " << module_.regions[index].symbol
                                << ": " << bytes << " bytes";
  return {};
}

void *Context::lend(const bycc_region_run *run, uint64_t bytes) {
  MemoryBlock &lent = static_cast<Context *>(run->owner)->lent_;
  if (!lent.data() || lent.size() < bytes) {
    lent = MemoryBlock(); // first, so that there are never two
    lent = MemoryBlock(bytes);
  }
  return lent.data();
}

void Context::dropStates() {
  for (size_t i = 0; i < states_.size(); ++i) {
    const Region &region = model_->regions()[i];
    if (std::exchange(states_[i].isReady, false))
      region.vendor->drop_state(region.context, region.handle, states_[i].memory.data());
  }
}

Expected<> Context::setThreads(int32_t threads) {
  BusyMark busy(isBusy_);
  BYCC_TRY(busy.check());
  if (threads < 1 || threads > maxThreads)
    return error(Status::Arg) << "threads: wanted 1 to " << maxThreads << ", given " << threads;
  threads = usableThreads(threads);
  uint64_t bytes = 0;
  uint64_t perThread = (module_.scratch_bytes + 63) / 64 * 64;
  if (__builtin_mul_overflow(perThread, static_cast<uint64_t>(threads), &bytes))
    return error(Status::Limit) << "scratch of " << threads << " threads overflows";
  MemoryBlock scratch(bytes);
  if (!scratch.data())
    return error(Status::Limit) << "no memory for scratch: " << bytes << " bytes";
  scratch_ = std::move(scratch);
  exec_.scratch = scratch_.data();
  threads_ = threads;
  dropStates();
  return initStates();
}

Expected<> Context::bindInput(uint32_t index, const void *data, uint64_t bytes,
                              const int64_t *shape) {
  BusyMark busy(isBusy_);
  BYCC_TRY(busy.check());
  if (index >= inputs_.size())
    return error(Status::Arg) << "input " << index << ": the model has " << inputs_.size();
  const bycc_tensor_info &info = module_.inputs[index];
  if (!shape && !isStatic(info))
    return error(Status::Arg) << "input " << quotedName(info) << ": its shape " << shapeText(info)
                              << " has unknown extents, so a shape must be given";
  std::vector<int64_t> given =
      shape ? std::vector<int64_t>(shape, shape + info.rank) : staticShape(info);
  if (!fits(info, given))
    return error(Status::Arg).as(MessageId::InputType)
           << "input " << quotedName(info) << ": wanted shape " << shapeText(info) << ", given "
           << shapeText(given);
  uint64_t needed = BYCC_TRY(tensorBytes(dtypeOf(info), given.data(), info.rank));
  if (bytes < needed)
    return error(Status::Arg) << "input " << quotedName(info) << ": wanted " << needed
                              << " bytes, given " << bytes;
  if (!data && needed > 0)
    return error(Status::Arg) << "input " << quotedName(info) << ": the data is a null pointer";
  Input &input = inputs_[index];
  input.data = data;
  input.bytes = needed;
  input.shape = std::move(given);
  input.isBound = true;
  bindingsChanged_ = true;
  return {};
}

Expected<> Context::bindOutput(uint32_t index, void *data, uint64_t bytes) {
  BusyMark busy(isBusy_);
  BYCC_TRY(busy.check());
  if (index >= outputs_.size())
    return error(Status::Arg) << "output " << index << ": the model has " << outputs_.size();
  const bycc_tensor_info &info = module_.outputs[index];
  Output &output = outputs_[index];
  if (output.isStatic && bytes < output.bytes)
    return error(Status::Arg) << "output " << quotedName(info) << ": wanted " << output.bytes
                              << " bytes, given " << bytes;
  if (!data && !(output.isStatic && output.bytes == 0))
    return error(Status::Arg) << "output " << quotedName(info) << ": the data is a null pointer";
  output.bound = data;
  output.boundBytes = bytes;
  bindingsChanged_ = true;
  return {};
}

Expected<> Context::checkInputs() const {
  std::vector<std::string> missing;
  for (uint32_t i = 0; i < module_.num_inputs; ++i)
    if (!inputs_[i].isBound)
      missing.push_back(quotedName(module_.inputs[i]));
  if (missing.empty())
    return {};
  return error(Status::Arg).as(MessageId::NoData)
         << "no data for input" << (missing.size() > 1 ? "s " : " ") << join(missing, ", ");
}

namespace {

// As --shape takes it: "?x?x8".
std::string shapeWithOnly(const bycc_tensor_info &info, int32_t axis, int64_t extent) {
  std::string shape;
  for (int32_t d = 0; d < info.rank; ++d)
    shape += (d > 0 ? "x" : "") + (d == axis ? std::to_string(extent) : "?");
  return shape;
}

} // namespace

// One symbol stands for one extent everywhere; "?" stands for any.
Expected<> Context::checkSymbols() const {
  std::map<std::string_view, std::pair<int64_t, uint32_t>> known;
  for (uint32_t i = 0; i < module_.num_inputs; ++i) {
    const bycc_tensor_info &info = module_.inputs[i];
    for (int32_t d = 0; d < info.rank; ++d) {
      std::string_view symbol = info.dims[d].value >= 0 ? "?" : info.dims[d].text;
      if (symbol == "?")
        continue;
      int64_t extent = inputs_[i].shape[d];
      auto [entry, isNew] = known.try_emplace(symbol, extent, i);
      if (!isNew && entry->second.first != extent)
        return error(Status::Arg)
                   .note("an ONNX model that means two extents by this name: compile "
                         "it with --shape " +
                         shellWord(escaped(info.name) + "=" + shapeWithOnly(info, d, extent)))
               << "input " << quotedName(info) << ": extent " << escaped(symbol) << " is " << extent
               << ", in input " << quotedName(module_.inputs[entry->second.second]) << " it is "
               << entry->second.first;
    }
  }
  return {};
}

Expected<> Context::checkOverlap() const {
  struct Range {
    uintptr_t begin, end;
    const bycc_tensor_info *info;
    bool isOutput;
  };
  std::vector<Range> ranges;
  auto add = [&](const void *data, uint64_t bytes, const bycc_tensor_info &info, bool isOutput) {
    auto begin = reinterpret_cast<uintptr_t>(data);
    if (data && bytes > 0)
      ranges.push_back({begin, begin + bytes, &info, isOutput});
  };
  for (uint32_t i = 0; i < module_.num_inputs; ++i)
    add(inputs_[i].data, inputs_[i].bytes, module_.inputs[i], false);
  for (uint32_t i = 0; i < module_.num_outputs; ++i)
    add(outputs_[i].bound, outputs_[i].isStatic ? outputs_[i].bytes : outputs_[i].boundBytes,
        module_.outputs[i], true);
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  // Inputs may overlap each other; an output overlaps nothing. What reaches
  // furthest so far decides, for all ranges and for outputs alone.
  const Range *furthest = nullptr, *furthestOutput = nullptr;
  for (const Range &range : ranges) {
    const Range *before = range.isOutput ? furthest : furthestOutput;
    if (before && before->end > range.begin)
      return error(Status::Arg) << "output and "
                                << (before->isOutput && range.isOutput ? "output " : "input ")
                                << "overlap: " << quotedName(*before->info) << " and "
                                << quotedName(*range.info);
    if (!furthest || range.end > furthest->end)
      furthest = &range;
    if (range.isOutput && (!furthestOutput || range.end > furthestOutput->end))
      furthestOutput = &range;
  }
  return {};
}

Expected<> Context::prepareOutput(uint32_t index) {
  Output &output = outputs_[index];
  outputPointers_[index] = nullptr;
  if (!output.isStatic)
    return {};
  if (output.bound && isAligned(output.bound, module_.outputs[index])) {
    outputPointers_[index] = output.bound;
    return {};
  }
  if (!output.own.data() || output.own.size() < output.bytes)
    output.own = MemoryBlock(output.bytes);
  if (!output.own.data())
    return error(Status::Limit) << "no memory for output " << quotedName(module_.outputs[index])
                                << ": " << output.bytes << " bytes";
  outputPointers_[index] = output.own.data();
  return {};
}

Expected<> Context::prepareRun() {
  if (bindingsChanged_) {
    BYCC_TRY(checkInputs());
    BYCC_TRY(checkSymbols());
    BYCC_TRY(checkOverlap());
    for (uint32_t i = 0; i < module_.num_outputs; ++i)
      BYCC_TRY(prepareOutput(i));
    bindingsChanged_ = false;
  }
  for (uint32_t i = 0; i < module_.num_inputs; ++i) {
    Input &input = inputs_[i];
    inputShapes_[i] = input.shape.data();
    inputPointers_[i] = const_cast<void *>(input.data);
    if (isAligned(input.data, module_.inputs[i]))
      continue;
    if (input.copy.size() < input.bytes || !input.copy.data())
      input.copy = MemoryBlock(input.bytes);
    if (!input.copy.data())
      return error(Status::Limit) << "no memory to align input " << quotedName(module_.inputs[i]);
    std::memcpy(input.copy.data(), input.data, input.bytes);
    inputPointers_[i] = input.copy.data();
  }
  for (Output &output : outputs_)
    if (!output.isStatic)
      output.data = nullptr;
  if (areMappedFilesGuarded())
    return {}; // it is enough to look afterwards
  return checkWeights();
}

Expected<> Context::checkWeights() const {
  if (!model_->hasWholeWeights())
    return error(Status::Load)
           << "the params file became shorter after it was loaded, or cannot be read";
  return {};
}

void Context::enter() {
  RunEnvironment environment(exec_.threads);
  if (Expected<> hasThreads = environment.check())
    entryResult_ = module_.entry(&exec_);
  else
    entryResult_ = record(hasThreads.takeError());
}

Expected<> Context::execute() {
  failure_.reset();
  lacksMemory_ = false;
  exec_.threads = usableThreads(threads_);
  exec_.profile = isProfiling_ || watch_ ? &profile_ : nullptr;
  if (exec_.threads != threads_ && !states_.empty()) {
    // A child of fork(): OpenMP's pool of this thread is gone, but the vendors have
    // planned for its threads. A fresh thread gets a fresh pool.
    exec_.threads = threads_;
    std::thread([this] { enter(); }).join();
  } else {
    enter();
  }
  cache_.endRun();
  releaseVendorMemory();
  BYCC_TRY(checkWeights()); // they may have gone while it ran
  return finishRun(entryResult_);
}

Expected<> Context::finishRun(int32_t result) {
  if (failure_)
    return std::move(*failure_);
  if (lacksMemory_)
    return error(Status::Limit) << "no memory for what the run needs";
  if (result != BYCC_OK)
    return error(statusOf(result)) << "the compiled model failed without a reason";
  for (uint32_t i = 0; i < module_.num_outputs; ++i) {
    Output &output = outputs_[i];
    if (output.isStatic && output.bound && outputPointers_[i] != output.bound)
      std::memcpy(output.bound, outputPointers_[i], output.bytes);
    if (output.isStatic)
      output.data = output.bound ? output.bound : outputPointers_[i];
    else if (!output.data)
      return error(Status::Internal)
             << "output " << quotedName(module_.outputs[i]) << " was not made";
    else if (output.bound && output.data != output.bound)
      output.data = std::memcpy(output.bound, output.data, output.bytes);
  }
  hasResults_ = true;
  return {};
}

Expected<> Context::run() {
  BusyMark busy(isBusy_);
  BYCC_TRY(busy.check());
  hasResults_ = false;
  BYCC_TRY(prepareRun());
  return execute();
}

Expected<Context::OutputView> Context::output(uint32_t index) const {
  if (index >= outputs_.size())
    return error(Status::Arg) << "output " << index << ": the model has " << outputs_.size();
  if (!hasResults_)
    return error(Status::Arg) << "output " << quotedName(module_.outputs[index])
                              << ": there is no result, the model has not run";
  const Output &output = outputs_[index];
  return OutputView{output.data, output.shape.data(), output.bytes};
}

Expected<> Context::enableProfile(bool on) {
  BusyMark busy(isBusy_);
  BYCC_TRY(busy.check());
  isProfiling_ = on;
  if (on)
    profile_.restart(*model_);
  return {};
}

Expected<> Context::watchValues(bycc_values_fn watch, void *user) {
  BusyMark busy(isBusy_);
  BYCC_TRY(busy.check());
  watch_ = watch;
  watchUser_ = user;
  return {};
}

std::span<const bycc_profile_entry> Context::profileEntries() { return profile_.entries(); }

int32_t Context::record(Error problem) {
  int32_t code = codeOf(problem.status());
  std::lock_guard lock(failureMutex_);
  if (!failure_)
    failure_.emplace(std::move(problem));
  return code;
}

Expected<void *> Context::memoryForOutput(uint32_t index, const int64_t *shape) {
  if (index >= outputs_.size())
    return error(Status::Internal)
           << "output " << index << " is made, there are " << outputs_.size();
  const bycc_tensor_info &info = module_.outputs[index];
  Output &output = outputs_[index];
  std::vector<int64_t> extents(shape, shape + info.rank);
  if (!fits(info, extents))
    return error(Status::Internal) << "output " << quotedName(info) << ": wanted shape "
                                   << shapeText(info) << ", made " << shapeText(extents);
  uint64_t bytes = BYCC_TRY(tensorBytes(dtypeOf(info), shape, info.rank));
  if (output.bound && output.boundBytes < bytes)
    return error(Status::Arg) << "output " << quotedName(info) << ": shape " << shapeText(extents)
                              << " needs " << bytes << " bytes, given " << output.boundBytes;
  output.shape = std::move(extents);
  output.bytes = bytes;
  if (output.bound && isAligned(output.bound, info))
    return output.data = output.bound;
  // Keep a larger block unless it is much too large.
  if (!output.own.data() || output.own.size() < bytes || output.own.size() / 4 > bytes + 4096)
    output.own = MemoryBlock(bytes);
  if (!output.own.data())
    return error(Status::Limit) << "no memory for output " << quotedName(info) << ": " << bytes
                                << " bytes";
  return output.data = output.own.data();
}

} // namespace bycc::runtime
