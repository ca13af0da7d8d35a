// The only door to oneDNN's primitives, as Layout.h is to its layouts; with Version.h and
// one file per major version behind both. Everything else uses dnnl::memory,
// dnnl::primitive and the calls below. No exception of the library leaves.
//
// Scratchpads are the user's throughout: the library's default one is shared
// by threads and crashes.
#pragma once

#include "Layout.h"

#include <functional>
#include <string>
#include <vector>

namespace bycc::onednn {

dnnl::engine &engine();
std::string libraryVersion();
// Throws where the program has another major version of its own, whose functions, of the same
// names, the dynamic linker has found for this code.
void checkLibraryIsOurs();

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

  // A reference loop, no tuned kernel: 10 to 300 times slower than code of the host.
  bool isSlow() const;
};
// Operands with values of their own, scales and zero points, by argument number.
using FixedOperands = std::vector<std::pair<int, dnnl::memory>>;
struct Primitive : Descriptor {
  dnnl::primitive primitive;
  FixedOperands fixed;
};

// `sumPostOp`: index of the post-op whose operand is already in the destination,
// -1 for none. Both depend on the calling thread's thread count; only `make`
// generates code (the costly part).
Expected<Descriptor> describe(const Step &step, const Layouts &layouts,
                              const std::vector<Layout> &postOpLayouts, int sumPostOp = -1);
Expected<Primitive> makePrimitive(const Step &step, const Layouts &layouts,
                                  const std::vector<Layout> &postOpLayouts, int sumPostOp = -1);
// Whether the library has a primitive for the step that is worth it; makes no code.
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
