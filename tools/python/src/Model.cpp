#include "Model.h"

#include "Errors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace bycc::python {
namespace {

void check(int32_t status) {
  if (status != BYCC_OK)
    raiseText(bycc_last_error());
}

// raise bycc.Error(ARG) for a name that the model does not have, with those that it has.
[[noreturn]] void raiseUnknown(const char *what, const std::string &name, nb::list known) {
  raise("unknown_name", what, name, known);
}

nb::list namesOf(const bycc_tensor_info *infos, uint32_t count) {
  nb::list names;
  for (uint32_t i = 0; i < count; ++i)
    names.append(infos[i].name);
  return names;
}

} // namespace

Block::Block(size_t bytes) : size_(bytes) {
  size_t padded = (std::max<size_t>(bytes, 1) + 63) / 64 * 64;
  auto *memory = static_cast<uint8_t *>(std::aligned_alloc(64, padded));
  if (!memory)
    throw std::bad_alloc();
  data_ = std::shared_ptr<uint8_t>(memory, std::free);
}

// A context of the model's for as long as it lives.
class Model::Lease {
public:
  explicit Lease(Model &model) : model_(model), context_(model.takeContext()) {}
  Lease(const Lease &) = delete;
  ~Lease() { model_.giveBack(context_); }
  operator bycc_context *() const { return context_; }

private:
  Model &model_;
  bycc_context *context_;
};

Model::Model(const std::string &path, int32_t threads, bool verify, const std::string &setId) {
  bycc_load_options options = {sizeof options, threads, verify, nullptr,
                               setId.empty() ? nullptr : setId.c_str()};
  int32_t status;
  {
    nb::gil_scoped_release release;
    status = bycc_model_load(path.c_str(), &options, &model_);
  }
  check(status);
  finishLoad();
}

Model::Model(const std::string &name, nb::bytes graphJson, nb::bytes object, const Block *params,
             int32_t threads) {
  bycc_load_options options = {sizeof options, threads, 0, nullptr, nullptr};
  bycc_model_bytes bytes = {sizeof bytes};
  bytes.name = name.c_str();
  bytes.graph_json = graphJson.c_str();
  bytes.graph_json_bytes = graphJson.size();
  bytes.object = object.c_str();
  bytes.object_bytes = object.size();
  if (params) {
    bytes.params = params->data();
    bytes.params_bytes = params->size();
    bytes.user = new std::shared_ptr<uint8_t>(params->share());
    bytes.release = [](void *user) { delete static_cast<std::shared_ptr<uint8_t> *>(user); };
  }
  int32_t status;
  {
    nb::gil_scoped_release release;
    status = bycc_model_load_bytes(&bytes, &options, &model_);
  }
  check(status);
  finishLoad();
}

Model::~Model() {
  for (bycc_context *context : idle_)
    bycc_context_destroy(context);
  bycc_model_destroy(model_);
}

void Model::finishLoad() {
  module_ = bycc_model_module(model_);
  for (uint32_t i = 0; i < module_->num_outputs; ++i)
    outputs_.push_back(planOutput(module_->outputs[i]));
}

// An extent with the text of an input's extent is that.
Model::Output Model::planOutput(const bycc_tensor_info &info) const {
  Output output;
  bool isStatic = true;
  auto sourceOf = [&](const bycc_dim &dim) -> ExtentSource {
    if (dim.value >= 0)
      return {dim.value, 0, 0};
    isStatic = false;
    for (uint32_t i = 0; i < module_->num_inputs; ++i)
      for (int32_t d = 0; d < module_->inputs[i].rank; ++d)
        if (const bycc_dim &other = module_->inputs[i].dims[d];
            other.value < 0 && std::strcmp(other.text, dim.text) == 0 &&
            std::strcmp(dim.text, "?") != 0)
          return {-1, i, d};
    output.isPredictable = false;
    return {-1, 0, 0};
  };
  for (int32_t d = 0; d < info.rank; ++d)
    output.extents.push_back(sourceOf(info.dims[d]));
  if (isStatic) {
    nb::list shape;
    for (const ExtentSource &extent : output.extents)
      shape.append(extent.value);
    output.shape = nb::tuple(shape);
  }
  return output;
}

nb::list Model::tensors(const bycc_tensor_info *infos, uint32_t count) {
  nb::list list;
  for (uint32_t i = 0; i < count; ++i) {
    nb::list shape;
    for (int32_t d = 0; d < infos[i].rank; ++d)
      if (const bycc_dim &dim = infos[i].dims[d]; dim.value >= 0)
        shape.append(dim.value);
      else
        shape.append(dim.text);
    list.append(nb::make_tuple(infos[i].name, dtypeName(infos[i].dtype), nb::tuple(shape)));
  }
  return list;
}

std::string Model::setId() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : module_->set_id)
    text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

int32_t Model::threads() { return bycc_get_threads(Lease(*this)); }

bycc_context *Model::takeContext() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      bycc_context *context = idle_.back();
      idle_.pop_back();
      return context;
    }
  }
  bycc_context *context = nullptr;
  check(bycc_context_create(model_, &context));
  return context;
}

void Model::giveBack(bycc_context *context) {
  std::lock_guard lock(mutex_);
  idle_.push_back(context);
}

uint32_t Model::inputIndex(const std::string &name) const {
  int32_t index = bycc_model_input_index(model_, name.c_str());
  if (index < 0)
    raiseUnknown("input", name, namesOf(module_->inputs, module_->num_inputs));
  return static_cast<uint32_t>(index);
}

void Model::takeNamed(Inputs &arrays, nb::dict named, std::vector<bool> &given) const {
  for (auto [name, value] : named) {
    uint32_t index = inputIndex(nb::cast<std::string>(name));
    if (given[index])
      raiseArg("input '" + nb::cast<std::string>(name) + "' is given twice");
    arrays[index].take(value, module_->inputs[index]);
    given[index] = true;
  }
}

void Model::checkAllGiven(const std::vector<bool> &given) const {
  nb::list missing;
  for (uint32_t i = 0; i < given.size(); ++i)
    if (!given[i])
      missing.append(module_->inputs[i].name);
  if (nb::len(missing) > 0)
    raise("missing_inputs", missing);
}

// Memory of a result whose extents are known goes to the run, which writes there; of
// others a copy is made after it.
void Model::prepareOutput(bycc_context *context, uint32_t index, const Inputs &inputs,
                          OutputArray &output) {
  const Output &plan = outputs_[index];
  if (!plan.isPredictable)
    return; // the caller's array is filled afterwards: what is bound cannot be unbound
  if (!output.isTaken()) {
    nb::object shape = plan.shape;
    if (!shape.is_valid()) {
      nb::list extents;
      for (const ExtentSource &extent : plan.extents)
        extents.append(extent.value >= 0 ? extent.value
                                         : inputs[extent.input].shape()[extent.axis]);
      shape = nb::tuple(extents);
    }
    output.make(module_->outputs[index].dtype, shape);
  }
  static uint8_t nothing[64];
  check(bycc_bind_output(context, index, output.bytes() ? output.data() : nothing, output.bytes()));
}

void Model::finishOutput(bycc_context *context, uint32_t index, OutputArray &output) {
  if (outputs_[index].shape.is_valid())
    return;
  const bycc_tensor_info &info = module_->outputs[index];
  const void *data = nullptr;
  const int64_t *shape = nullptr;
  size_t bytes = 0;
  check(bycc_get_output(context, index, &data, &shape, &bytes));
  if (output.isTaken() && !std::equal(output.shape().begin(), output.shape().end(), shape))
    raiseArg("output '" + std::string(info.name) + "' is " + shapeText(shape, info.rank) +
             ", the array that is given " +
             shapeText(output.shape().data(), static_cast<int32_t>(output.shape().size())));
  if (outputs_[index].isPredictable)
    return;
  if (!output.isTaken()) {
    nb::list extents;
    for (int32_t d = 0; d < info.rank; ++d)
      extents.append(shape[d]);
    output.make(info.dtype, nb::tuple(extents));
  }
  if (bytes > 0)
    std::memcpy(output.data(), data, bytes);
}

void Model::execute(bycc_context *context, const Inputs &inputs, Outputs &outputs) {
  for (uint32_t i = 0; i < inputs.size(); ++i)
    check(bycc_bind_input(context, i, inputs[i].data(), inputs[i].bytes(), inputs[i].shape()));
  for (uint32_t i = 0; i < outputs.size(); ++i)
    prepareOutput(context, i, inputs, outputs[i]);
  int32_t status;
  {
    nb::gil_scoped_release release;
    status = bycc_run(context);
  }
  check(status);
  for (uint32_t i = 0; i < outputs.size(); ++i)
    finishOutput(context, i, outputs[i]);
}

static bool anyIsTorch(const std::vector<InputArray> &inputs) {
  return std::ranges::any_of(inputs, &InputArray::isTorch);
}

nb::object Model::call(nb::args positional, nb::kwargs named) {
  if (positional.size() > module_->num_inputs)
    raise("too_many_inputs", positional.size(), namesOf(module_->inputs, module_->num_inputs));
  Inputs inputs(module_->num_inputs);
  for (size_t i = 0; i < positional.size(); ++i)
    inputs[i].take(positional[i], module_->inputs[i]);
  if (positional.size() < inputs.size() || named.size() > 0) {
    std::vector<bool> given(inputs.size());
    std::fill_n(given.begin(), positional.size(), true);
    takeNamed(inputs, named, given);
    checkAllGiven(given);
  }
  Outputs outputs(outputs_.size());
  execute(Lease(*this), inputs, outputs);
  bool asTorch = anyIsTorch(inputs);
  if (outputs.size() == 1)
    return outputs.front().finish(asTorch);
  nb::list results;
  for (OutputArray &output : outputs)
    results.append(output.finish(asTorch));
  return nb::tuple(results);
}

nb::dict Model::run(nb::dict named, nb::object into) {
  Inputs inputs(module_->num_inputs);
  std::vector<bool> given(inputs.size());
  takeNamed(inputs, named, given);
  checkAllGiven(given);
  Outputs outputs(outputs_.size());
  if (!into.is_none())
    for (auto [name, array] : nb::cast<nb::dict>(into)) {
      std::string text = nb::cast<std::string>(name);
      int32_t index = bycc_model_output_index(model_, text.c_str());
      if (index < 0)
        raiseUnknown("output", text, namesOf(module_->outputs, module_->num_outputs));
      outputs[static_cast<size_t>(index)].take(array, module_->outputs[index]);
    }
  execute(Lease(*this), inputs, outputs);
  bool asTorch = anyIsTorch(inputs);
  nb::dict results;
  for (uint32_t i = 0; i < outputs.size(); ++i)
    results[module_->outputs[i].name] = outputs[i].finish(asTorch);
  return results;
}

nb::list Model::profile(nb::dict named, int runs) {
  Inputs inputs(module_->num_inputs);
  std::vector<bool> given(inputs.size());
  takeNamed(inputs, named, given);
  checkAllGiven(given);
  Lease context(*this);
  auto run = [&] {
    Outputs outputs(outputs_.size());
    execute(context, inputs, outputs);
  };
  run(); // memory is made
  check(bycc_profile_enable(context, 1));
  for (int i = 0; i < runs; ++i)
    run();
  const bycc_profile_entry *entries = nullptr;
  size_t count = 0;
  check(bycc_profile_entries(context, &entries, &count));
  nb::list rows;
  for (size_t i = 0; i < count; ++i) {
    const bycc_profile_entry &entry = entries[i];
    rows.append(nb::make_tuple(entry.name, entry.detail, entry.source, entry.region, entry.calls,
                               entry.total_ns, entry.flops));
  }
  check(bycc_profile_enable(context, 0));
  return rows;
}

} // namespace bycc::python
