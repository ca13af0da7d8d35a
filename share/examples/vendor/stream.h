// The command stream: all that the compile half tells the run half about a region.
// It is stored in the model's object file as it stands in memory:
//
//   Header | Buffer[numBuffers] | Command[numCommands] | uint32_t inputs[] | uint32_t outputs[]
//
// Buffers are places on the device; commands name them by index. Weights are not in
// the stream: a weight buffer says where in the model's params file its bytes are.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace examplenpu {

enum class Code : uint32_t {
  CopyIn,  // a = buffer to fill; p[0] = which input of the region
  CopyOut, // a = buffer to read; p[0] = which output of the region
  Conv2d,  // out = conv(a, b) (+ c per channel) (then relu); see ConvField
  Dense,   // out[m,n] = sum a[m,k] * b[n,k]; p[0..2] = m n k
  AddBias, // out = a + b per channel; p[0..2] = outer channels inner
  Add,     // out = a + b; p[0] = elements
  Relu,    // out = max(a, 0); p[0] = elements
  MaxPool, // see PoolField
  Move,    // out = a (a reshape); p[0] = elements
};
inline constexpr uint32_t numCodes = static_cast<uint32_t>(Code::Move) + 1;
inline constexpr uint32_t noBuffer = UINT32_MAX;

// Places in Command::p. Extents are those of NCHW data and OIHW weights.
enum ConvField { N, C, H, W, O, KH, KW, OH, OW, StrideH, StrideW, PadTop, PadLeft, DilationH, DilationW,
                 Groups, WithRelu, Pointwise, Tile, numConvFields };
enum PoolField { PoolN, PoolC, PoolH, PoolW, PoolOH, PoolOW, PoolKH, PoolKW, PoolStrideH, PoolStrideW,
                 PoolPadTop, PoolPadLeft };

struct Command {
  Code code;
  uint32_t a = noBuffer, b = noBuffer, c = noBuffer, out = noBuffer;
  uint32_t node = noBuffer; // of the region, for messages
  int32_t p[numConvFields] = {};
};

struct Buffer {
  uint64_t bytes;
  uint64_t offset; // in the weight area or in the area of a run
  uint64_t source; // weights: from the start of the params file
  uint64_t isWeight;
};

struct Header {
  char magic[4] = {'E', 'N', 'P', '1'};
  uint32_t numBuffers, numCommands, numInputs, numOutputs;
  uint32_t reserved = 0;
  uint64_t weightBytes, runBytes; // sizes of the two areas
};

struct Stream {
  Header header;
  std::vector<Buffer> buffers;
  std::vector<Command> commands;
  std::vector<uint32_t> inputs, outputs; // buffers

  std::vector<uint8_t> write() const {
    std::vector<uint8_t> bytes;
    auto put = [&](const void *data, size_t size) {
      auto *begin = static_cast<const uint8_t *>(data);
      bytes.insert(bytes.end(), begin, begin + size);
    };
    put(&header, sizeof header);
    put(buffers.data(), buffers.size() * sizeof(Buffer));
    put(commands.data(), commands.size() * sizeof(Command));
    put(inputs.data(), inputs.size() * sizeof(uint32_t));
    put(outputs.data(), outputs.size() * sizeof(uint32_t));
    return bytes;
  }

  // False for bytes that no compile half of this version wrote.
  bool read(const uint8_t *bytes, uint64_t size) {
    const uint8_t *at = bytes, *end = bytes + size;
    auto get = [&](void *data, uint64_t count) {
      if (static_cast<uint64_t>(end - at) < count)
        return false;
      std::memcpy(data, at, count);
      at += count;
      return true;
    };
    auto list = [&](auto &items, uint64_t count) {
      if (count > size)
        return false;
      items.resize(count);
      return get(items.data(), count * sizeof items[0]);
    };
    return get(&header, sizeof header) && std::memcmp(header.magic, Header().magic, 4) == 0 &&
           list(buffers, header.numBuffers) && list(commands, header.numCommands) &&
           list(inputs, header.numInputs) && list(outputs, header.numOutputs) && at == end && isSound();
  }

private:
  // Commands name buffers that exist, buffers lie in their area.
  bool isSound() const {
    auto isBuffer = [&](uint32_t index) { return index == noBuffer || index < buffers.size(); };
    for (const Command &command : commands)
      if (static_cast<uint32_t>(command.code) >= numCodes || !isBuffer(command.a) ||
          !isBuffer(command.b) || !isBuffer(command.c) || !isBuffer(command.out))
        return false;
    for (const Buffer &buffer : buffers) {
      uint64_t area = buffer.isWeight ? header.weightBytes : header.runBytes;
      if (buffer.offset > area || buffer.bytes > area - buffer.offset)
        return false;
    }
    for (const auto *list : {&inputs, &outputs})
      for (uint32_t buffer : *list)
        if (buffer >= buffers.size())
          return false;
    return true;
  }
};

} // namespace examplenpu
