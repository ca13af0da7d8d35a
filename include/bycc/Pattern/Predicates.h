// Tests of single attributes, types and constants, shared by pattern texts and by
// the conditions of files. A test never fails on an unexpected kind of argument:
// it says what it found and what it wants.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

// Why something does not hold; nothing when it does.
using WhyNot = std::optional<std::string>;

// A number between bounds; a bound that is open is not in it.
struct NumberRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool minIsOpen = false, maxIsOpen = false;
  bool contains(double value) const {
    return (minIsOpen ? value > min : value >= min) && (maxIsOpen ? value < max : value <= max);
  }
  bool isWithin(const NumberRange &other) const;
  std::string str() const; // ">= 1 and < 8"
};

// An attribute's value. All parts must hold; of a list every number is in range.
struct AttrTest {
  std::string key;
  std::vector<AttrValue> anyOf;  // not empty: one of these
  std::vector<AttrValue> noneOf; // none of these
  std::optional<NumberRange> range;
};
WhyNot whyNot(const AttrTest &test, const Module &module, NodeId call);
bool holds(const AttrTest &test, const AttrValue &value);
// Does `other`, of the same attribute, hold wherever `test` does? False where that is not seen.
bool implies(const AttrTest &test, const AttrTest &other);
// "a, b=1|2, c>=1<8": names, each alone (then the test says nothing) or with a test
// as in op{..}. Errors give the column.
Expected<std::vector<AttrTest>> parseTests(std::string_view text);

// One dimension: a range, a multiple, or anything (unknown dimensions too).
struct DimTest {
  std::optional<NumberRange> range;
  int64_t multipleOf = 1;
  std::string text; // as written, for messages
};
// "7", "1..8", ">=4", "<=4", "%8", "?"; nothing when it is none of these.
std::optional<DimTest> parseDimTest(std::string_view text);

// A tensor's type. Empty parts say nothing.
struct TypeTest {
  std::vector<DType> dtypes;
  std::vector<int64_t> ranks;
  bool hasShape = false;
  std::vector<DimTest> shape;       // from the left, then ...
  std::vector<DimTest> tail;        // after "...", from the right
  bool isOpen = false;              // there is a "..."
  std::vector<std::string> layouts; // "" is row-major
};
// A tuple holds when each of its tensors does.
WhyNot whyNot(const TypeTest &test, const Module &module, TypeId type);

// The elements of a constant. All parts must hold.
struct ValueTest {
  std::vector<double> values; // one: every element; several: element by element
  bool isList = false;        // `values` was written as a list
  double tolerance = 0;
  std::optional<NumberRange> range; // every element
};
bool holds(const ValueTest &test, const Module &module, NodeId constant);

} // namespace bycc
