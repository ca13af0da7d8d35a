// The run half: the runtime loads this when a model has regions of this vendor. It
// puts the weights on the device once, then runs command streams.
//
// A region is shared by all contexts (threads) and does not change after it was made; the
// memory of one run belongs to a state, of which each context has one.
#include "device.h"

#include <cstdio>

namespace examplenpu {

namespace {

// Memory of the device, given back with the object.
class DeviceMemory {
public:
  DeviceMemory(Heap &heap, uint64_t bytes, const char *what) : heap_(heap), address(heap.take(bytes)) {
    if (!address)
      throw kit::Failure(BYCC_LIMIT, "no device memory for ", what);
  }
  DeviceMemory(const DeviceMemory &) = delete;
  ~DeviceMemory() { heap_.give(address); }

private:
  Heap &heap_;

public:
  const Address address;
};

class Region {
public:
  // What a context is of: a device, or a part of one. Regions of one context can leave values
  // in its memory for each other.
  struct Context {
    explicit Context(const bycc_vendor_context &context) : Context(kit::Attributes(context.options, context.num_options)) {}
    explicit Context(kit::Attributes options) : heap(heapBytes(options)), isTracing(options.flag("trace")) {}
    // Memory for values between two regions of this vendor.
    void *alloc(const bycc_tensor &tensor) { return reinterpret_cast<void *>(heap.take(tensor.bytes)); }
    void release(void *memory) { heap.give(reinterpret_cast<Address>(memory)); }
    Heap heap;
    bool isTracing;
  };

  struct State {
    State(Region &region, int32_t) : area(region.device_.heap, region.stream_.runBytes, "a run") {}
    DeviceMemory area;
  };

  explicit Region(const kit::Load &load)
      : device_(load.context<Context>()), symbol_(load.symbol()), stream_(kit::read<Stream>(streamFormat, load.blob)),
        weights_(device_.heap, stream_.weightBytes, "the weights") {
    stream_.check();
    load.expectTensors(stream_.inputs.size(), stream_.outputs.size());
    for (uint32_t i = 0; i < stream_.inputs.size(); ++i)
      isResidentInput_.push_back((load.input(i).flags & BYCC_VALUE_RESIDENT) != 0);
    for (uint32_t i = 0; i < stream_.outputs.size(); ++i)
      isResidentOutput_.push_back((load.output(i).flags & BYCC_VALUE_RESIDENT) != 0);
    for (const Buffer &buffer : stream_.buffers)
      if (buffer.isWeight)
        device_.heap.copyIn(weights_.address + buffer.offset, load.weightsAt(buffer.source, buffer.bytes).data(),
                            buffer.bytes);
    if (device_.isTracing)
      std::fprintf(stderr, "examplenpu: %s: %llu bytes of weights resident\n", symbol_.c_str(),
                   static_cast<unsigned long long>(stream_.weightBytes));
  }

  void run(const kit::Run &run, State &state) {
    const bycc_array *inputs = run.raw.inputs, *outputs = run.raw.outputs;
    Heap &heap = device_.heap;
    std::vector<Address> addresses = placeBuffers(state, inputs, outputs);
    unsigned in = 0, out = 0;
    for (const Command &command : stream_.commands) {
      auto which = static_cast<size_t>(command.p[0]);
      if (command.code == Code::CopyIn) {
        if (isResidentInput_[which])
          continue;
        heap.copyIn(addresses[command.a], inputs[which].data, stream_.buffers[command.a].bytes);
        ++in;
      } else if (command.code == Code::CopyOut && isResidentOutput_[which]) {
        auto there = reinterpret_cast<Address>(outputs[which].data);
        if (there != addresses[command.a]) // one value as several outputs
          std::memcpy(heap.at(there), heap.at(addresses[command.a]), stream_.buffers[command.a].bytes);
      } else if (command.code == Code::CopyOut) {
        heap.copyOut(outputs[which].data, addresses[command.a], stream_.buffers[command.a].bytes);
        ++out;
      } else {
        execute(heap, command, addresses);
      }
    }
    if (device_.isTracing)
      std::fprintf(stderr, "examplenpu: %s: %u copies in, %u copies out\n", symbol_.c_str(), in, out);
  }

private:
  // Where each buffer is in this run. The data of a resident input or output is a
  // device address, and the buffer is there.
  std::vector<Address> placeBuffers(const State &state, const bycc_array *inputs, const bycc_array *outputs) const {
    std::vector<Address> addresses;
    for (const Buffer &buffer : stream_.buffers)
      addresses.push_back((buffer.isWeight ? weights_.address : state.area.address) + buffer.offset);
    std::vector<bool> isInput(stream_.buffers.size());
    for (size_t i = 0; i < stream_.inputs.size(); ++i) {
      isInput[stream_.inputs[i]] = true;
      if (isResidentInput_[i])
        addresses[stream_.inputs[i]] = reinterpret_cast<Address>(inputs[i].data);
    }
    for (size_t i = 0; i < stream_.outputs.size(); ++i)
      if (isResidentOutput_[i] && !isInput[stream_.outputs[i]] && !stream_.buffers[stream_.outputs[i]].isWeight)
        addresses[stream_.outputs[i]] = reinterpret_cast<Address>(outputs[i].data);
    return addresses;
  }

  Context &device_;
  const std::string symbol_;
  const Stream stream_;
  const DeviceMemory weights_;
  // Which inputs and outputs are in device memory already: no copies for those.
  std::vector<bool> isResidentInput_, isResidentOutput_;
};

// --vendor-option examplenpu.trace=true when a model is run.
constexpr bycc_vendor_option options[] = {
    heapOption,
    kit::option(BYCC_ATTR_BOOL, "trace", "false", "say what is copied to the device and back"),
};

kit::About about() {
  kit::About about = aboutNpu;
  about.reads = "2.*"; // a version 3 of the compile half would write another stream
  about.options = options;
  return about;
}

} // namespace

} // namespace examplenpu

BYCC_VENDOR_RUNTIME(examplenpu::Region, examplenpu::about())
