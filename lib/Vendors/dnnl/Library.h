// The only door to oneDNN's descriptors and primitives; with Version.h and one file per
// major version behind it. Everything else uses dnnl::memory, dnnl::primitive and the
// calls below. No exception of the library leaves.
//
// Scratchpads are the user's throughout: the library's default one is shared
// by threads and crashes.
#pragma once

#include "LayoutForm.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bycc::onednn {

using Layout = dnnl::memory::desc;

dnnl::engine &engine();
std::string libraryVersion();

// The instruction set that the library generates code for: "avx512_core_vnni".
std::string instructionSet();
// Keeps the library to what a target has ("avx2,avx512f,..."), from its first use on and
// for the whole process. True when it is then just that: the machine has it, too.
bool limitInstructionSet(std::string_view features);
// Whether that instruction set has a feature of LLVM's name; true for sets not known here.
bool libraryHas(std::string_view feature);

// Row-major, or the library's free choice.
Layout plainLayout(const Dims &dims, DType dtype);
Layout anyLayout(const Dims &dims, DType dtype);
// Channels in blocks, the layout of the library's classic convolutions.
inline constexpr int64_t channelBlock = 16;
Layout blockedLayout(const Dims &dims, DType dtype);
Layout stridedLayout(const Dims &dims, const Dims &strides, DType dtype);
bool isLayout(const Layout &layout); // false: a Layout() that stands for none
Dims dimsOf(const Layout &layout);
DType dtypeOf(const Layout &layout);
// The same places for elements of another dtype.
Layout withDType(const Layout &layout, DType dtype);
// Channels last, of rank 3 to 5.
Layout channelsLastLayout(const Dims &dims, DType dtype);
// Strides of a layout without inner blocks.
std::optional<Dims> stridesOf(const Layout &layout);
int64_t startOf(const Layout &layout); // elements before the first one: slices
bool isPlain(const Layout &layout);
bool isAny(const Layout &layout);
uint64_t bytesOf(const Layout &layout);
// Nothing where the library keeps to itself what a layout is, or has no such layout.
std::optional<LayoutForm> formOf(const Layout &layout);
std::optional<Layout> layoutOf(const LayoutForm &checked);
// Bytes that are equal for equal layouts only.
std::string keyOfLayout(const Layout &layout);

// The same bytes seen as other extents, without a copy; nothing where the layout
// does not allow it.
std::optional<Layout> reshaped(const Layout &layout, const Dims &dims);
std::optional<Layout> permuted(const Layout &layout, const Dims &permutation);
std::optional<Layout> sliced(const Layout &layout, const Dims &begin, const Dims &dims);

// What layouts a step is asked to work with; `any` leaves it to the library.
struct Layouts {
  std::vector<Layout> inputs;
  Layout output;
};

// What the library answers when it is asked for a primitive.
struct Descriptor {
  std::string implementation;
  // What the library wants, in the order of Step::inputs.
  Layouts layouts;
  Layout scratchpad;
  // Argument number of each input and each post-op with an operand.
  std::vector<int> inputArgs, postOpArgs;

  bool isSlow() const; // a reference loop, not a tuned kernel
};
// Operands with values of their own, scales and zero points, by argument number.
using FixedOperands = std::vector<std::pair<int, dnnl::memory>>;
struct Primitive : Descriptor {
  dnnl::primitive primitive;
  FixedOperands fixed;
};

// `sumPostOp`: index of the post-op whose operand is already in the destination,
// -1 for none. Both depend on the calling thread's OpenMP thread count; only `make`
// generates code (the costly part).
Expected<Descriptor> describe(const Step &step, const Layouts &layouts,
                              const std::vector<Layout> &postOpLayouts, int sumPostOp = -1);
Expected<Primitive> makePrimitive(const Step &step, const Layouts &layouts,
                                  const std::vector<Layout> &postOpLayouts, int sumPostOp = -1);
// Whether the library has a primitive for the step at all; makes no code.
Expected<> probePrimitive(const Plan &plan, const Step &step);
// The post-op whose operand can wait in the destination (the first addition of a whole
// operand with elements of the result's size), -1: none.
int sumPostOpOf(const Plan &plan, const Step &step);
// A bias is a vector in the plan; of a matmul it is a broadcast matrix for the library.
Layout biasLayout(const Plan &plan, const Step &step);
// Whether the library adds the bias to scaled sums: it is then to be in float32, times
// the step's scales.
bool hasScaledBias(const Step &step);
// Copies between layouts of the same extents.
Expected<Descriptor> describeReorder(const Layout &from, const Layout &to);
Expected<Primitive> makeReorder(const Layout &from, const Layout &to);

// Lets a memory object refer to other memory; row-major layouts only.
bool pointTo(dnnl_memory_t memory, void *data, dnnl_stream_t stream);

// Runs `body` and turns the library's exceptions into an Error.
Expected<> guarded(Status status, const std::function<void()> &body);

} // namespace bycc::onednn
