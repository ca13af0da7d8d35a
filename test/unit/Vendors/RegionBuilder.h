// Regions by hand: what the compiler would flatten, without the compiler. Also
// the way from a region to its results: compile half, blob, run half, run.
#pragma once

#include "bycc/Support/MemoryBlock.h"
#include "bycc/vendor.h"

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bycc::test {

using Dims = std::vector<int64_t>;
using Tensor = std::vector<float>;

int64_t count(const Dims &dims);
// The same numbers on every machine, in [-1, 1).
Tensor noise(const Dims &dims, uint32_t seed);

struct Attr {
  Attr(std::string name, int64_t value);
  Attr(std::string name, int value) : Attr(std::move(name), int64_t{value}) {}
  Attr(std::string name, double value);
  Attr(std::string name, const char *value);
  Attr(std::string name, Dims value);
  std::string name, text;
  int32_t kind;
  int64_t integer = 0;
  double number = 0;
  Dims list;
};

// Elements as a dtype of 4 or 2 bytes stores them, and back.
std::vector<uint8_t> stored(const Tensor &tensor, int32_t dtype);
Tensor loaded(const uint8_t *bytes, size_t elements, int32_t dtype);

class RegionBuilder {
public:
  // What inputs and constants are when nothing else is said: float32 or bfloat16.
  explicit RegionBuilder(int32_t dtype = BYCC_FLOAT32) : dtype_(dtype) {}
  uint32_t input(Dims dims) { return input(std::move(dims), dtype_); }
  uint32_t input(Dims dims, int32_t dtype);
  uint32_t constant(Dims dims, const Tensor &data) {
    return constant(std::move(dims), data, dtype_);
  }
  uint32_t constant(Dims dims, const Tensor &data, int32_t dtype);
  uint32_t scalar(float value) { return constant({}, {value}); }
  // The result has the dtype of the first operand.
  uint32_t op(const std::string &name, std::vector<uint32_t> inputs, Dims result,
              std::vector<Attr> attrs = {});
  uint32_t cast(uint32_t value, int32_t dtype);
  // A composite of `body`, whose inputs are this node's.
  uint32_t composite(const std::string &name, std::vector<uint32_t> inputs,
                     std::shared_ptr<RegionBuilder> body);
  // This extent is the symbol "n", known at run time only.
  void makeRunTime(int64_t extent);
  void output(uint32_t value) { outputs_.push_back(value); }

  // Valid while the builder lives and is not changed.
  const bycc_region &region();
  const Dims &dims(uint32_t value) const { return values_[value].dims; }
  int32_t dtype(uint32_t value) const { return values_[value].dtype; }
  const std::vector<uint32_t> &inputs() const { return inputs_; }
  const std::vector<uint32_t> &outputs() const { return outputs_; }
  // All constants, at the offsets the values say.
  const std::vector<uint8_t> &weights();

private:
  struct Value {
    Dims dims;
    int32_t dtype;
    bool isConstant = false;
    std::vector<uint8_t> data;
    uint64_t offset = 0;
  };
  struct Node {
    std::string op;
    std::vector<uint32_t> inputs, outputs;
    std::vector<Attr> attrs;
    std::shared_ptr<RegionBuilder> body;
    std::vector<bycc_attr> cAttrs;
    std::deque<std::vector<bycc_attr>> items;
  };
  void placeConstants(std::vector<uint8_t> &weights);
  void flatten(Node &node, bycc_node &out);
  void putRunTimeExtents();

  int32_t dtype_;
  std::deque<Value> values_;
  std::deque<Node> nodes_;
  std::vector<uint32_t> inputs_, outputs_;
  std::vector<bycc_value> cValues_;
  std::vector<bycc_node> cNodes_;
  bycc_region region_{};
  int64_t runTimeExtent_ = 0; // 0: none
  std::deque<Dims> runTimeDims_;
  std::deque<std::vector<int32_t>> entries_;
  bycc_symbol symbol_{sizeof(bycc_symbol), -1, -1, "n", 64};
  bycc_extent extent_{BYCC_EXTENT_SYMBOL, 0, 0};
  std::vector<uint8_t> weights_;
};

const bycc_vendor_compiler &compilerHalf();
const bycc_vendor_runtime &runtimeHalf();
// Open, with the defaults of all options.
const bycc_vendor_context *runtimeContext();
// load() of bytes that need not be right; the region is unloaded at once.
int32_t tryLoad(const std::vector<uint8_t> &blob, const uint8_t *weights, uint64_t weightsBytes,
                uint32_t numInputs);

struct Answer {
  bool yes = false;
  std::string reason;
  int64_t blamed = -1;
  std::vector<uint8_t> blob;
  std::shared_ptr<uint8_t> weights; // the vendor's own, 64-byte aligned
  uint64_t weightsBytes = 0;
  std::string name; // of a composite
};
// `features` of the target, as vendors get them; null: this machine's.
Answer supports(RegionBuilder &region, const char *features = nullptr);
Answer compile(RegionBuilder &region, const char *features = nullptr, int32_t nan = BYCC_NAN_KEEP);

// A context of its own on a loaded region.
// What run() is given, with memory to lend.
struct RegionRun {
  RegionRun(const std::vector<bycc_array> &inputs, const std::vector<bycc_array> &outputs,
            int32_t threads);
  bycc_region_run run;
  MemoryBlock lent;
};

std::vector<Tensor> runIn(RegionBuilder &builder, void *region, uint8_t *state,
                          const std::vector<Tensor> &inputs, int32_t threads);

// A loaded region; not for failing loads.
class Loaded {
public:
  Loaded(RegionBuilder &region, const Answer &compiled, int32_t threads = 2);
  ~Loaded();
  std::vector<Tensor> run(const std::vector<Tensor> &inputs, int32_t threads = 2);
  // With the extents of another builder's inputs and outputs.
  std::vector<Tensor> runWith(RegionBuilder &sized, const std::vector<Tensor> &inputs,
                              int32_t threads) {
    return runIn(sized, region_, state_, inputs, threads);
  }
  std::vector<std::string> steps() const;
  std::vector<std::string> details() const; // of each step: the library's implementation
  // Time of each step in one run.
  std::vector<uint64_t> profile(const std::vector<Tensor> &inputs);
  void *handle() const { return region_; }

private:
  RegionBuilder &builder_;
  std::shared_ptr<uint8_t> weights_;
  void *region_ = nullptr;
  uint8_t *state_ = nullptr;
};

} // namespace bycc::test
