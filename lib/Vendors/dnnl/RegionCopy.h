// A region whose extents are known at run time only: what the compile half keeps of
// it in the blob, and what it is once the extents of its inputs are given. Then it is
// a region like any other, translated and fused on the spot; so whatever is taken
// with known extents is taken with unknown ones.
#pragma once

#include "NanSafe.h"

#include "bycc/vendor.h"

#include <deque>
#include <memory>

namespace bycc::onednn {

struct RegionCopy {
  struct Value {
    int32_t dtype = 0, device = 0;
    uint8_t isScalar = 0; // rank 0
    Dims dims;
    std::vector<int32_t> extents; // empty, or per axis: entry of the table, -1: see dims
    uint8_t isConstant = 0;
    uint64_t offset = 0, bytes = 0; // in the weights
    std::string layout;
    const void *data = nullptr; // constants, while the compile half has them
  };
  struct Attr {
    std::string name, text;
    int32_t kind = 0;
    int64_t integer = 0;
    double number = 0;
    std::vector<Attr> items;
  };
  struct Node {
    std::string op, source;
    std::vector<Attr> attrs;
    std::vector<uint32_t> inputs, outputs;
    std::vector<RegionCopy> body; // none or one
  };
  // An extent of an input; the name is for messages and not written.
  struct Symbol {
    const char *name = "";
    int32_t input = -1, axis = -1;
  };
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<uint32_t> inputs, outputs;
  // Of the outermost one:
  std::vector<bycc_extent> extents;
  std::vector<Symbol> symbols;
  NanMode nan = NanMode::Keep;
};

// True when some extent is known at run time only.
bool hasRunTimeExtents(const bycc_region &region);
// Refuses extents of which nothing is known.
Expected<RegionCopy> copyRegion(const bycc_region &region);
// Refuses symbols that no input of the region gives.
Expected<> checkSymbols(const RegionCopy &copy);

// Gives each constant that has bytes its offset in the weights, equal bytes one; answers
// the size of all.
uint64_t placeConstants(RegionCopy &copy);
void copyConstants(const RegionCopy &placed, uint8_t *weights);

std::vector<uint8_t> writeRegion(const RegionCopy &copy);
bool isWrittenRegion(std::span<const uint8_t> bytes);
// Every index is in range afterwards.
Expected<RegionCopy> readRegion(std::span<const uint8_t> bytes);

// The symbols' values for these shapes, which must fit the inputs.
Expected<Dims> symbolsFor(const RegionCopy &copy, const std::vector<const int64_t *> &shapes);

// The region with values for its symbols, without nodes and results that are empty and without
// what adds nothing to a concatenation: oneDNN has no extent of 0. Lives as long as this
// and the copy.
class RegionInstance {
public:
  // Without weights constants have the bytes that the copy was made of.
  static Expected<std::unique_ptr<RegionInstance>> make(const RegionCopy &copy, const Dims &symbols,
                                                        std::span<const uint8_t> weights);
  const bycc_region &region() const { return levels_.front().region; }

private:
  struct Level {
    std::vector<bycc_value> values;
    std::vector<bycc_node> nodes;
    bycc_region region{};
  };
  Expected<bycc_region *> addLevel(const RegionCopy &copy);
  Expected<bycc_value> valueOf(const RegionCopy::Value &value);
  const bycc_attr *attrsOf(const std::vector<RegionCopy::Attr> &attrs);

  std::vector<int64_t> extents_; // the table, evaluated
  std::span<const uint8_t> weights_;
  std::deque<Level> levels_;
  std::deque<Dims> dims_;
  std::deque<std::vector<uint32_t>> lists_; // of values
  std::deque<std::vector<bycc_attr>> attrs_;
};

} // namespace bycc::onednn
