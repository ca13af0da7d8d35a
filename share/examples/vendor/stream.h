// The command stream: all that the compile half tells the run half about a region.
// It is stored in the model's object file as the kit's archive writes it: `fields` says
// the format once for both halves.
//
// Buffers are places on the device; commands name them by index. Weights are not in
// the stream: a weight buffer says where in the model's params file its bytes are.
#pragma once

#include <bycc/vendor.hpp>

#include <cstdint>
#include <vector>

namespace examplenpu {

namespace kit = bycc::vendor;

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
  numCodes
};
inline constexpr uint32_t noBuffer = kit::none;

// Places in Command::p. Extents are those of NCHW data and OIHW weights.
enum ConvField { N, C, H, W, O, KH, KW, OH, OW, StrideH, StrideW, PadTop, PadLeft, DilationH, DilationW,
                 Groups, WithRelu, Pointwise, Tile, numConvFields };
enum PoolField { PoolN, PoolC, PoolH, PoolW, PoolOH, PoolOW, PoolKH, PoolKW, PoolStrideH, PoolStrideW,
                 PoolPadTop, PoolPadLeft };

struct Command {
  Code code = Code::CopyIn;
  uint32_t a = noBuffer, b = noBuffer, c = noBuffer, out = noBuffer;
  std::array<int32_t, numConvFields> p = {};
};

struct Buffer {
  uint64_t bytes = 0;
  uint64_t offset = 0; // in the weight area or in the area of a run
  uint64_t source = 0; // weights: from the start of the params file
  bool isWeight = false;
};

struct Stream {
  uint64_t weightBytes = 0, runBytes = 0; // sizes of the two areas
  std::vector<Buffer> buffers;
  std::vector<Command> commands;
  std::vector<uint32_t> inputs, outputs; // buffers

  // Commands name buffers that exist, buffers lie in their area: a run half that reads a
  // stream believes nothing.
  void check() const {
    auto expect = [](bool holds, const char *what) {
      if (!holds)
        throw kit::Failure(BYCC_LOAD, "the command stream is damaged: ", what);
    };
    for (const Command &command : commands) {
      for (uint32_t index : {command.a, command.b, command.c, command.out})
        expect(index == noBuffer || index < buffers.size(), "a buffer that there is not");
      size_t crossing = command.code == Code::CopyIn ? inputs.size() : outputs.size();
      if (command.code == Code::CopyIn || command.code == Code::CopyOut)
        expect(command.a != noBuffer && static_cast<size_t>(command.p[0]) < crossing, "a copy of nothing");
    }
    for (const Buffer &buffer : buffers) {
      uint64_t area = buffer.isWeight ? weightBytes : runBytes;
      expect(buffer.offset <= area && buffer.bytes <= area - buffer.offset, "a buffer outside of its area");
    }
    for (const auto *list : {&inputs, &outputs})
      for (uint32_t buffer : *list)
        expect(buffer < buffers.size(), "an input or output without a buffer");
  }
};

template <typename Archive> void fields(Archive &archive, Command &command) {
  archive.choice(command.code, Code::numCodes);
  archive(command.a, command.b, command.c, command.out, command.p);
}
template <typename Archive> void fields(Archive &archive, Buffer &buffer) {
  archive(buffer.bytes, buffer.offset, buffer.source, buffer.isWeight);
}
template <typename Archive> void fields(Archive &archive, Stream &stream) {
  archive(stream.weightBytes, stream.runBytes, stream.buffers, stream.commands, stream.inputs, stream.outputs);
}
inline constexpr kit::Format streamFormat = {"command stream", 2};

} // namespace examplenpu
