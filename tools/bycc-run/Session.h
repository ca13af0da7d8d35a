// A model and a context of the C API, with errors as values.
#pragma once

#include "CommandLine.h"

#include "bycc/Support/Error.h"
#include "bycc/Support/Npy.h"
#include "bycc/runtime.h"

#include <span>
#include <string>
#include <vector>

namespace bycc::run {

struct OutputView {
  const bycc_tensor_info *info;
  const uint8_t *data;
  std::vector<int64_t> shape;
  size_t bytes;
  int64_t count() const;
};

class Session {
public:
  Session() = default;
  Session(const Session &) = delete;
  ~Session();
  Expected<> load(const Options &options);
  // From --input, --inputs and --random, in this order; Status::Arg lists what is missing.
  Expected<> bindInputs(const Options &options);
  // Those of --input; returns which inputs are left.
  Expected<std::vector<uint32_t>> bindNamed(const Options &options);
  // `file`: for messages.
  Expected<> bind(uint32_t index, NpyArray array, const std::string &file);
  Expected<> run();
  Expected<std::vector<OutputView>> outputs();
  Expected<> setProfile(bool on);
  Expected<std::span<const bycc_profile_entry>> profile();
  // The function is called with what each node of a run read and made; null: none is.
  Expected<> watchValues(bycc_values_fn watch, void *user);
  const NpyArray &input(uint32_t index) const { return bound_[index]; }
  const bycc_module &module() const { return *bycc_model_module(model_); }
  int32_t threads() const { return bycc_get_threads(context_); }

private:
  bycc_model *model_ = nullptr;
  bycc_context *context_ = nullptr;
  std::vector<NpyArray> bound_; // per input; keeps the data alive
  std::string advice_;          // for a run that fails: which extents were made up
};

std::string shapeText(std::span<const int64_t> shape); // "(2, 3)"

} // namespace bycc::run
