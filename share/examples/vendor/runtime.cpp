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

bool isTracing() { return std::getenv("EXAMPLENPU_TRACE") != nullptr; }

int32_t fail(char *error, size_t size, int32_t status, const char *text) {
  std::snprintf(error, size, "%s", text);
  return status;
}

std::vector<bool> flags(const uint8_t *resident, uint32_t count) {
  return resident ? std::vector<bool>(resident, resident + count) : std::vector<bool>(count);
}

int32_t load(const bycc_region_info *info, const uint8_t *weights, uint64_t weightsBytes, int32_t,
             void **result, char *error, size_t errorSize) {
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
  region->isResidentInput = flags(info->resident_inputs, info->num_inputs);
  region->isResidentOutput = flags(info->resident_outputs, info->num_outputs);
  const Header &header = region->stream.header;
  region->weights = deviceHeap().take(header.weightBytes);
  if (!region->weights) {
    delete region;
    return fail(error, errorSize, BYCC_LIMIT, "no device memory for the weights");
  }
  for (const Buffer &buffer : region->stream.buffers) {
    if (!buffer.isWeight)
      continue;
    if (buffer.source > weightsBytes || buffer.bytes > weightsBytes - buffer.source) {
      deviceHeap().give(region->weights);
      delete region;
      return fail(error, errorSize, BYCC_LOAD, "a weight lies outside of the params file");
    }
    deviceHeap().copyIn(region->weights + buffer.offset, weights + buffer.source, buffer.bytes);
  }
  if (isTracing())
    std::fprintf(stderr, "examplenpu: %s: %llu bytes of weights resident\n", info->symbol,
                 static_cast<unsigned long long>(header.weightBytes));
  return BYCC_OK;
}

void unload(void *handle) {
  auto *region = static_cast<Region *>(handle);
  deviceHeap().give(region->weights);
  delete region;
}

uint64_t stateBytes(void *) { return sizeof(State); }

int32_t initState(void *handle, void *state, int32_t) {
  auto *region = static_cast<Region *>(handle);
  static_cast<State *>(state)->area = deviceHeap().take(region->stream.header.runBytes);
  return static_cast<State *>(state)->area ? BYCC_OK : BYCC_LIMIT;
}

void dropState(void *, void *state) { deviceHeap().give(static_cast<State *>(state)->area); }

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

int32_t run(void *handle, void *state, const bycc_array *inputs, const bycc_array *outputs, int32_t, char *,
            size_t) {
  const auto &region = *static_cast<Region *>(handle);
  const Stream &stream = region.stream;
  Heap &heap = deviceHeap();
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
  if (isTracing())
    std::fprintf(stderr, "examplenpu: %s: %u copies in, %u copies out\n", region.symbol.c_str(), in, out);
  return BYCC_OK;
}

// Memory for values between two regions of this vendor.
void *allocate(uint64_t bytes) { return reinterpret_cast<void *>(deviceHeap().take(bytes)); }
void release(void *memory) { deviceHeap().give(reinterpret_cast<Address>(memory)); }

} // namespace

} // namespace examplenpu

extern "C" __attribute__((visibility("default"))) const bycc_vendor_runtime *
bycc_vendor_runtime_entry(void) {
  using namespace examplenpu;
  static bycc_vendor_runtime vendor = {};
  vendor.abi_version = BYCC_VENDOR_ABI_VERSION;
  vendor.size = sizeof vendor;
  vendor.name = "examplenpu";
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
