// The run half: the runtime loads this when a model has regions of this vendor. It
// puts the weights on the device once, then runs command streams.
//
// A region is shared by all contexts (threads) and does not change after load(); the
// memory of one run belongs to a state, of which each context has one.
#include "device.h"

#include <bycc/vendor.h>

#include <cstdio>
#include <cstdlib>
#include <new>

namespace examplenpu {

namespace {

// What a context is of: a device, or a part of one. Regions of one context can leave values in
// its memory for each other.
struct Device {
  Heap heap;
  bool isTracing;
};
Device &deviceOf(const bycc_vendor_context *context) {
  return *static_cast<Device *>(context->impl);
}

struct Region {
  std::string symbol;
  Stream stream;
  Address weights = 0;
  // Which inputs and outputs are in device memory already: no copies for those.
  std::vector<bool> isResidentInput, isResidentOutput;
};

struct State {
  Address area;
};

int32_t fail(char *error, size_t size, int32_t status, const char *text) {
  std::snprintf(error, size, "%s", text);
  return status;
}

std::vector<bool> residentOnes(const void *tensors, uint32_t count) {
  std::vector<bool> flags;
  for (uint32_t i = 0; i < count; ++i)
    flags.push_back((bycc_tensor_at(tensors, i)->flags & BYCC_VALUE_RESIDENT) != 0);
  return flags;
}

// --- contexts

int32_t open(bycc_vendor_context *context, char *error, size_t errorSize) {
  bool isTracing = bycc_attr_named(context->options, context->num_options, "trace")->i != 0;
  auto *device =
      new (std::nothrow) Device{Heap(heapBytes(context->options, context->num_options)), isTracing};
  if (!device)
    return fail(error, errorSize, BYCC_LIMIT, "no memory");
  context->impl = device;
  return BYCC_OK;
}

void close(bycc_vendor_context *context) { delete &deviceOf(context); }

// --- regions

int32_t load(const bycc_vendor_context *context, const bycc_region_load *info, void **result,
             char *error, size_t errorSize) {
  Heap &heap = deviceOf(context).heap;
  auto *region = new (std::nothrow) Region;
  if (!region)
    return fail(error, errorSize, BYCC_LIMIT, "no memory");
  *result = region;
  region->symbol = info->symbol;
  if (!region->stream.read(info->blob, info->blob_bytes) || info->num_inputs != region->stream.inputs.size() ||
      info->num_outputs != region->stream.outputs.size()) {
    delete region;
    return fail(error, errorSize, BYCC_LOAD, "not a command stream of this version");
  }
  region->isResidentInput = residentOnes(info->inputs, info->num_inputs);
  region->isResidentOutput = residentOnes(info->outputs, info->num_outputs);
  const Header &header = region->stream.header;
  region->weights = heap.take(header.weightBytes);
  if (!region->weights) {
    delete region;
    return fail(error, errorSize, BYCC_LIMIT, "no device memory for the weights");
  }
  for (const Buffer &buffer : region->stream.buffers) {
    if (!buffer.isWeight)
      continue;
    if (buffer.source > info->weights_bytes || buffer.bytes > info->weights_bytes - buffer.source) {
      heap.give(region->weights);
      delete region;
      return fail(error, errorSize, BYCC_LOAD, "a weight lies outside of the params file");
    }
    heap.copyIn(region->weights + buffer.offset, info->weights + buffer.source, buffer.bytes);
  }
  if (deviceOf(context).isTracing)
    std::fprintf(stderr, "examplenpu: %s: %llu bytes of weights resident\n", info->symbol,
                 static_cast<unsigned long long>(header.weightBytes));
  return BYCC_OK;
}

void unload(const bycc_vendor_context *context, void *handle) {
  auto *region = static_cast<Region *>(handle);
  deviceOf(context).heap.give(region->weights);
  delete region;
}

uint64_t stateBytes(const bycc_vendor_context *, void *) { return sizeof(State); }

int32_t initState(const bycc_vendor_context *context, void *handle, void *state, int32_t) {
  auto *region = static_cast<Region *>(handle);
  static_cast<State *>(state)->area = deviceOf(context).heap.take(region->stream.header.runBytes);
  return static_cast<State *>(state)->area ? BYCC_OK : BYCC_LIMIT;
}

void dropState(const bycc_vendor_context *context, void *, void *state) {
  deviceOf(context).heap.give(static_cast<State *>(state)->area);
}

// Where each buffer is in this run. The data of a resident input or output is a
// device address, and the buffer is there.
std::vector<Address> placeBuffers(const Region &region, const State &state, const bycc_array *inputs,
                                  const bycc_array *outputs) {
  const Stream &stream = region.stream;
  std::vector<Address> addresses;
  for (const Buffer &buffer : stream.buffers)
    addresses.push_back((buffer.isWeight ? region.weights : state.area) + buffer.offset);
  std::vector<bool> isInput(stream.buffers.size());
  for (size_t i = 0; i < stream.inputs.size(); ++i) {
    isInput[stream.inputs[i]] = true;
    if (region.isResidentInput[i])
      addresses[stream.inputs[i]] = reinterpret_cast<Address>(inputs[i].data);
  }
  for (size_t i = 0; i < stream.outputs.size(); ++i)
    if (region.isResidentOutput[i] && !isInput[stream.outputs[i]] && !stream.buffers[stream.outputs[i]].isWeight)
      addresses[stream.outputs[i]] = reinterpret_cast<Address>(outputs[i].data);
  return addresses;
}

int32_t run(const bycc_vendor_context *context, void *handle, void *state,
            const bycc_region_run *run, char *, size_t) {
  const bycc_array *inputs = run->inputs, *outputs = run->outputs;
  const auto &region = *static_cast<Region *>(handle);
  const Stream &stream = region.stream;
  Heap &heap = deviceOf(context).heap;
  std::vector<Address> addresses = placeBuffers(region, *static_cast<State *>(state), inputs, outputs);
  unsigned in = 0, out = 0;
  for (const Command &command : stream.commands) {
    auto which = static_cast<size_t>(command.p[0]);
    if (command.code == Code::CopyIn) {
      if (region.isResidentInput[which])
        continue;
      heap.copyIn(addresses[command.a], inputs[which].data, stream.buffers[command.a].bytes);
      ++in;
    } else if (command.code == Code::CopyOut && region.isResidentOutput[which]) {
      auto there = reinterpret_cast<Address>(outputs[which].data);
      if (there != addresses[command.a]) // one value as several outputs
        std::memcpy(heap.at(there), heap.at(addresses[command.a]), stream.buffers[command.a].bytes);
    } else if (command.code == Code::CopyOut) {
      heap.copyOut(outputs[which].data, addresses[command.a], stream.buffers[command.a].bytes);
      ++out;
    } else {
      execute(heap, command, addresses);
    }
  }
  if (deviceOf(context).isTracing)
    std::fprintf(stderr, "examplenpu: %s: %u copies in, %u copies out\n", region.symbol.c_str(), in, out);
  return BYCC_OK;
}

// Memory for values between two regions of this vendor.
void *allocate(const bycc_vendor_context *context, const bycc_tensor *tensor) {
  return reinterpret_cast<void *>(deviceOf(context).heap.take(tensor->bytes));
}
void release(const bycc_vendor_context *context, void *memory) {
  deviceOf(context).heap.give(reinterpret_cast<Address>(memory));
}

// --vendor-option examplenpu.trace=true when a model is run.
const bycc_vendor_option options[] = {
    {sizeof(bycc_vendor_option), BYCC_ATTR_INT, "heap", "67108864", nullptr,
     "bytes of memory that the device has", 0},
    {sizeof(bycc_vendor_option), BYCC_ATTR_BOOL, "trace", "false", nullptr,
     "say what is copied to the device and back", 0},
};

} // namespace

} // namespace examplenpu

extern "C" __attribute__((visibility("default"))) const bycc_vendor_runtime *
bycc_vendor_runtime_entry(void) {
  using namespace examplenpu;
  static bycc_vendor_runtime vendor = {};
  vendor.abi_version = BYCC_VENDOR_ABI_VERSION;
  vendor.size = sizeof vendor;
  vendor.name = "examplenpu";
  vendor.version = "1.0";
  vendor.reads = "1.*"; // a version 2 of the compile half would write another stream
  vendor.library = "examplenpu driver 7";
  vendor.num_options = sizeof options / sizeof *options;
  vendor.options = options;
  vendor.open = open;
  vendor.close = close;
  vendor.load = load;
  vendor.unload = unload;
  vendor.state_bytes = stateBytes;
  vendor.init_state = initState;
  vendor.drop_state = dropState;
  vendor.run = run;
  vendor.alloc = allocate;
  vendor.release = release;
  return &vendor;
}
