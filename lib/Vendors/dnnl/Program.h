// A plan lowered: the layout of every operand, which buffer holds it, and the order of
// the work. Data only; it names primitives, it does not hold any. It depends on the
// library's version, the ISA and the thread count that it was lowered for, but runs
// with any of them that takes its layouts (see Instance.h).
#pragma once

#include "Layout.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bycc::onednn {

inline constexpr uint32_t none = ~0u;

struct Buffer {
  enum class Place : uint8_t { Arena, Input, Output, Constant };
  static constexpr uint8_t numPlaces = 4;
  Place place = Place::Arena;
  uint64_t index = 0; // Input, Output, Constant: which
  uint64_t bytes = 0;
};

// One operand as a primitive sees it.
struct Slot {
  uint32_t buffer = 0;
  Layout layout;
  uint64_t offset = 0; // in the buffer
};

struct Action {
  enum class Kind : uint8_t {
    Step,
    Reorder,
    Copy,
    Loop, // a step by a loop of our own: in memory only (NanSafe.h)
  };
  static constexpr uint8_t numKinds = 3; // that are written
  Kind kind = Kind::Step;
  uint32_t step = none;               // of the plan; Reorder and Copy: whose operand it is
  int32_t sum = -1;                   // post-op whose operand waits in the result
  std::vector<uint32_t> inputs;       // slots, in the order of Step::inputs
  std::vector<uint32_t> postOperands; // slots, in the order of Step::postOps; none: no operand
  uint32_t output = none;             // slot
  std::string implementation;         // as the library called it
};

// A constant as the region's weights hold it.
struct Stored {
  ValueId value = noValue;
  LayoutForm form;
  uint64_t offset = 0; // in the weights
};

// The bytes of a constant in one layout: stored, or made of another one by a reorder or
// as a step of the plan says.
struct Constant {
  ValueId value = noValue;
  uint32_t stored = none; // which
  uint32_t from = none;   // else the constant it is made of, an earlier one,
  Layout seen;            // in this layout (a view of it, maybe)
  // Convert step; product: its bias times its scales; none: a reorder.
  uint32_t step = none;
  Layout layout; // `any`: what the library wants where it is used
};

struct Program {
  std::vector<Constant> constants;
  std::vector<Buffer> buffers;
  std::vector<Slot> slots;
  std::vector<Action> actions;
};

} // namespace bycc::onednn
