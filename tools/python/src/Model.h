// A loaded model, as bycc.Model in Python. Calls may come from any number of threads: each
// run takes a context that no other run has, and gives it back.
#pragma once

#include "Arrays.h"

#include "bycc/runtime.h"

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace bycc::python {

// Memory for the params of a model, where they are used: bytes at a multiple of 64.
class Block {
public:
  explicit Block(size_t bytes);
  uint8_t *data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::shared_ptr<uint8_t> share() const { return data_; }

private:
  std::shared_ptr<uint8_t> data_;
  size_t size_;
};

class Model {
public:
  Model(const std::string &path, int32_t threads, bool verify, const std::string &setId);
  // A model in memory; the name is for messages.
  Model(const std::string &name, nb::bytes graphJson, nb::bytes object, const Block *params,
        int32_t threads);
  Model(const Model &) = delete;
  ~Model();

  nb::object call(nb::args inputs, nb::kwargs named);
  nb::dict run(nb::dict inputs, nb::object outputs);
  // After `runs` runs with profiling: (name, detail, source, region, calls, total ns, flops).
  nb::list profile(nb::dict inputs, int runs);

  const bycc_module &module() const { return *module_; }
  std::string setId() const;
  int32_t threads();
  nb::list inputs() const { return tensors(module_->inputs, module_->num_inputs); }
  nb::list outputs() const { return tensors(module_->outputs, module_->num_outputs); }

private:
  // Where an extent of an output is known before the run.
  struct ExtentSource {
    int64_t value; // >= 0, or -1: that of input `input`, axis `axis`
    uint32_t input;
    int32_t axis;
  };
  struct Output {
    bool isPredictable = true;
    std::vector<ExtentSource> extents;
    nb::object shape; // a tuple, if all are known when the model is loaded
  };
  class Lease;
  using Inputs = std::vector<InputArray>; // of a size that does not change
  using Outputs = std::vector<OutputArray>;

  void finishLoad();
  Output planOutput(const bycc_tensor_info &info) const;
  static nb::list tensors(const bycc_tensor_info *infos, uint32_t count);
  void takeNamed(Inputs &arrays, nb::dict named, std::vector<bool> &given) const;
  void checkAllGiven(const std::vector<bool> &given) const;
  uint32_t inputIndex(const std::string &name) const;
  void execute(bycc_context *context, const Inputs &inputs, Outputs &outputs);
  void prepareOutput(bycc_context *context, uint32_t index, const Inputs &inputs,
                     OutputArray &output);
  void finishOutput(bycc_context *context, uint32_t index, OutputArray &output);
  bycc_context *takeContext();
  void giveBack(bycc_context *context);

  bycc_model *model_ = nullptr;
  const bycc_module *module_ = nullptr;
  std::vector<Output> outputs_;
  std::mutex mutex_;
  std::vector<bycc_context *> idle_;
};

} // namespace bycc::python
