// A node makes what is not finite when its outputs hold some and its inputs hold none. The
// runtime shows what each node has read and made right after it, so memory that is used again
// and turns of loops are no trouble; the first one in the order of the run is kept.
//
// Constants that a node reads count as inputs: a mask of -inf is nobody's fault. A value in a
// vendor's own memory cannot be looked at; nodes that read one are said to.
#include "CheckNan.h"

#include "Tensors.h"

#include "bycc/Support/Element.h"
#include "bycc/Support/Text.h"

#include <cmath>
#include <cstdio>

namespace bycc::run {
namespace {

struct NonFinite {
  int64_t count = 0, first = 0, elements = 0;
  double value = 0;
  std::vector<int64_t> shape;

  // "2 of 12 elements are not finite, the first is nan at [0, 3]"
  std::string text() const {
    return std::to_string(count) + " of " + std::to_string(elements) +
           (count == 1 ? " elements is not finite: " : " elements are not finite, the first is ") +
           (std::isnan(value) ? "nan" : formatDouble(value)) + " at " + indexText(first, shape);
  }
};

NonFinite nonFiniteIn(DType dtype, const void *data, std::vector<int64_t> shape) {
  NonFinite found;
  found.elements = 1;
  for (int64_t extent : shape)
    found.elements *= extent;
  found.shape = std::move(shape);
  if (!isFloat(dtype) || !data)
    return found;
  for (int64_t i = 0; i < found.elements; ++i) {
    double value = elementAsDouble(dtype, static_cast<const uint8_t *>(data), i);
    if (std::isfinite(value))
      continue;
    if (found.count++ == 0) {
      found.first = i;
      found.value = value;
    }
  }
  return found;
}

NonFinite nonFiniteIn(const bycc_operand &operand) {
  return nonFiniteIn(static_cast<DType>(operand.dtype), operand.data,
                     {operand.shape, operand.shape + operand.rank});
}

class NanCheck {
public:
  explicit NanCheck(const bycc_module &module) : module_(module) {}

  static void watch(void *user, uint32_t node, const bycc_operand *inputs, uint32_t numInputs,
                    const bycc_operand *outputs, uint32_t numOutputs) {
    static_cast<NanCheck *>(user)->look(node, {inputs, numInputs}, {outputs, numOutputs});
  }

  bool hasSeenNodes() const { return hasSeenNodes_; }
  bool hasFound() const { return !found_.empty(); }
  // What there is to say, without inputs of the model.
  std::string text(bool isInputFinite) const {
    if (hasFound())
      return found_;
    std::string text;
    if (isInputFinite && !reader_.empty())
      text = reader_;
    return text + "no node or region makes a NaN or infinity" +
           (isInputFinite && reader_.empty() ? "\n" : " of finite inputs\n");
  }

private:
  void look(uint32_t node, std::span<const bycc_operand> inputs,
            std::span<const bycc_operand> outputs) {
    hasSeenNodes_ = true;
    if (hasFound())
      return;
    size_t hidden = 0;
    for (const bycc_operand &input : inputs) {
      hidden += input.data ? 0 : 1;
      NonFinite read = nonFiniteIn(input);
      if (read.count == 0)
        continue;
      if (reader_.empty())
        reader_ = nameOf(node) +
                  "reads what no node made (a constant, or a value in a vendor's own memory): " +
                  read.text() + "\n";
      return;
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      if (NonFinite made = nonFiniteIn(outputs[i]); made.count > 0) {
        found_ = nameOf(node) + "makes it: " + nameOf(outputs[i], i, outputs.size()) + made.text() +
                 "; " + (hidden ? "its inputs that can be seen are" : "its inputs are") +
                 " finite\n";
        if (hidden)
          found_ += "note: " + std::to_string(hidden) +
                    (hidden == 1 ? " input is" : " inputs are") +
                    " in the vendor's own memory: a region before it may have made it\n";
        return;
      }
  }

  // "region npu_0 of vendor npu (conv1,relu1) "
  std::string nameOf(uint32_t node) const {
    const bycc_node_info &info = module_.nodes[node];
    std::string text = "node " + escaped(info.name, 200);
    for (uint32_t r = 0; r < module_.num_regions; ++r)
      if (std::string_view(info.name) == module_.regions[r].symbol)
        text = "region " + escaped(info.name, 200) + " of vendor " +
               escaped(module_.regions[r].vendor, 200);
    return text + " (" + escaped(info.source, 1000) + ") ";
  }

  std::string nameOf(const bycc_operand &output, size_t index, size_t count) const {
    if (output.output >= 0 && static_cast<uint32_t>(output.output) < module_.num_outputs)
      return "output '" + escaped(module_.outputs[output.output].name) + "' of the model: ";
    return count > 1 ? "result " + std::to_string(index) + ": " : "";
  }

  const bycc_module &module_;
  bool hasSeenNodes_ = false;
  std::string found_, reader_; // reader_: the first that reads what is not finite
};

} // namespace

Expected<> checkNan(Session &session) {
  const bycc_module &module = session.module();
  bool isInputFinite = true;
  for (uint32_t i = 0; i < module.num_inputs; ++i) {
    const NpyArray &input = session.input(i);
    NonFinite given =
        nonFiniteIn(static_cast<DType>(module.inputs[i].dtype), input.data(), input.shape);
    if (given.count == 0)
      continue;
    isInputFinite = false;
    std::printf("input '%s' of the model holds it: %s\n", escaped(module.inputs[i].name).c_str(),
                given.text().c_str());
  }
  NanCheck check(module);
  BYCC_TRY(session.watchValues(NanCheck::watch, &check));
  Expected<> ran = session.run();
  BYCC_TRY(session.watchValues(nullptr, nullptr));
  if (!ran)
    return ran;
  if (!check.hasSeenNodes() && module.num_nodes > 0)
    return error(Status::Unsup) << "--check-nan: this model shows no values; it was compiled by an "
                                   "older bycc, or no node of it ran";
  std::fputs(check.text(isInputFinite).c_str(), stdout);
  if (check.hasFound())
    return error(Status::Differs) << "a NaN or infinity is made";
  return {};
}

} // namespace bycc::run
