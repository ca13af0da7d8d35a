// From a function of the IR to results through a vendor's two halves.
#pragma once

#include "Suite.h"

#include "bycc/Eval/Eval.h"
#include "bycc/Target/RegionView.h"

#include <map>
#include <memory>

namespace bycc::conformance {

// Bytes at a multiple of 64, of exact size, so that memory checkers see reads past the
// end.
class AlignedBytes {
public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t size); // zeros
  uint8_t *data() const { return bytes_.get(); }
  size_t size() const { return size_; }

private:
  std::shared_ptr<uint8_t> bytes_;
  size_t size_ = 0;
};

// What a compile half answers.
struct Reply {
  bool yes = false;
  std::string reason;
  std::vector<std::string> offers;        // with their costs
  std::map<uint32_t, std::string> byNode; // of annotate(): "take in group 1", "refuse: why"
  std::vector<uint8_t> blob;
  AlignedBytes weights = {}; // of its own
};
Reply askSupports(const Setup &setup, const bycc_region &region);
Reply askSupports(const Setup &setup, const Module &module, NodeId node);
Reply askCompile(const Setup &setup, const bycc_region &region, bool hasWeights = true);
// Of vendors that have them.
Reply askTune(const Setup &setup, const bycc_region &region);
Reply askAnnotate(const Setup &setup, const bycc_region &block);

// A function to compile as one region; its body holds what the vendor takes.
struct Subject {
  Module module;
  FunctionId function;

  Subject();
  NodeId param(TypeId type);
  void setResults(const std::vector<NodeId> &results); // a tuple when several
  // Deterministic values in [0.25, 1.25), small integers, or false and true.
  std::vector<Tensor> inputs(uint32_t seed) const;
  std::vector<TypeId> resultTypes() const; // tensors
};

Tensor noise(DType dtype, const std::vector<int64_t> &shape, uint32_t seed);
std::vector<int64_t> shapeOf(const Module &module, TypeId type);

// A compiled region, with the constants where its run half looks for them, or the
// weights that its compile half made.
struct Built {
  std::string symbol;
  std::vector<uint8_t> blob;
  AlignedBytes weights;
  std::vector<std::pair<DType, std::vector<int64_t>>> inputs, outputs;
  std::vector<uint8_t> residentInputs = {}, residentOutputs = {};
};
struct BuildOptions {
  bool hasWeights = true;           // false: there is no memory for weights of its own
  std::vector<uint8_t> tuning = {}; // what tune() has said; empty: nothing
  std::vector<uint8_t> residentInputs = {}, residentOutputs = {}; // 1 each; empty: none is
};
Expected<Built> build(const Setup &setup, const Subject &subject, const BuildOptions &options = {});
Expected<Built> build(const Setup &setup, const Module &module, FunctionId function,
                      const BuildOptions &options = {});
// As the run half is told of them.
std::vector<bycc_tensor> tensorsOf(const std::vector<std::pair<DType, std::vector<int64_t>>> &types,
                                   const std::vector<uint8_t> &resident);

// A status of load(), and the region if it was loaded.
struct LoadReply {
  int32_t status;
  std::string error;
  void *region = nullptr;
};
LoadReply tryLoad(const Setup &setup, const Built &built, std::span<const uint8_t> blob,
                  uint64_t weightsBytes, int32_t threads);

class Loaded {
public:
  static Expected<Loaded> load(const Setup &setup, const Built &built, int32_t threads);
  Loaded(Loaded &&other) noexcept;
  ~Loaded();

  // One context: state memory of its own.
  class Context {
  public:
    Context(const Loaded &loaded, int32_t threads);
    Context(const Context &) = delete;
    ~Context();
    // Outputs are filled with `poison` before; inputs lie at addresses aligned to
    // their element size and no more. LOAD also when bytes around an output or of an
    // input have changed.
    Expected<std::vector<Tensor>> run(const std::vector<Tensor> &inputs, uint8_t poison = 0xa5,
                                      std::vector<uint64_t> *ns = nullptr);
    // The same with memory of the caller's, unchecked.
    Expected<> runOn(const bycc_array *inputs, const bycc_array *outputs, uint64_t *ns = nullptr);

  private:
    const Loaded &loaded_;
    int32_t threads_;
    void *state_ = nullptr;
    int32_t status_ = 0;
  };
  const bycc_vendor_runtime &runtime() const { return *setup_->runtime; }
  void *region() const { return region_; }

private:
  Loaded(const Setup &setup, const Built &built, void *region)
      : setup_(&setup), built_(&built), region_(region) {}
  const Setup *setup_;
  const Built *built_;
  void *region_;
};

// Builds, loads and runs once.
Expected<std::vector<Tensor>> runThrough(const Setup &setup, const Subject &subject,
                                         const std::vector<Tensor> &inputs);

// "" when equal within the tolerance for chains of operators, else where not.
std::string differenceOf(const std::vector<Tensor> &actual, const std::vector<Tensor> &wanted);
// True for integers of one shape that differ by no more than `units`, which is not 0.
bool isWithin(int64_t units, const Tensor &actual, const Tensor &wanted);
bool sameBits(const std::vector<Tensor> &a, const std::vector<Tensor> &b);

} // namespace bycc::conformance
