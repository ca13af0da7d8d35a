#include "CHeader.h"

#include "bycc/Support/Text.h"

#include <algorithm>
#include <cctype>

namespace bycc {
namespace {

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

const char *cType(DType dtype) {
  static constexpr const char *types[numDTypes] = {
      "uint8_t",  "int8_t",   "int16_t",  "int32_t",  "int64_t", "uint8_t", "uint16_t",
      "uint32_t", "uint64_t", "uint16_t", "uint16_t", "float",   "double"};
  return types[static_cast<int>(dtype)];
}

// Index, rank, extents and element count of each tensor as macros; extents that
// are known at run time only are -1 and have no count.
void describe(std::string &out, const std::string &prefix, const char *kind,
              const std::vector<ModelTensor> &tensors) {
  out += "#define " + prefix + "_NUM_" + kind + "S " + std::to_string(tensors.size()) + "\n";
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ModelTensor &tensor = tensors[i];
    std::string name = prefix + "_" + kind + "_" + std::to_string(i), dims;
    int64_t count = 1;
    for (Dim dim : tensor.shape) {
      dims += (dims.empty() ? "" : ", ") + std::to_string(dim.isConst() ? dim.value() : -1);
      count = dim.isConst() && count >= 0 ? count * dim.value() : -1;
    }
    out += "\n/* " + std::string(kind == std::string("INPUT") ? "input " : "output ") +
           std::to_string(i) + ": \"";
    for (char c : escaped(tensor.name))
      out += c == '*' || c == '/' ? '.' : c; // cannot end the comment
    out += "\", " + std::string(bycc::name(tensor.dtype)) + " (" + dims + ")" +
           (count < 0 ? ", -1: known at run time" : "") + " */\n";
    out += "typedef " + std::string(cType(tensor.dtype)) + " " + name + "_type;\n";
    out += "#define " + name + "_RANK " + std::to_string(tensor.shape.size()) + "\n";
    out += "#define " + name + "_SHAPE {" + (dims.empty() ? "0" : dims) + "}\n";
    if (count >= 0)
      out += "#define " + name + "_COUNT " + std::to_string(count) + "\n";
  }
  out += "\n";
}

} // namespace

std::string cHeader(const std::string &moduleName, const ModelInterface &interface,
                    const std::string &setId) {
  std::string prefix = upper(moduleName), out;
  out += "/* Inputs, outputs and entry of the compiled model '" + moduleName +
         "'. Written by bycc.\n"
         " * Load it with bycc_model_load_linked(&" +
         moduleName + "_bycc_module, ...), see bycc/runtime.h. */\n";
  out +=
      "#ifndef " + prefix + "_BYCC_H\n#define " + prefix + "_BYCC_H\n\n#include \"bycc/abi.h\"\n\n";
  if (!setId.empty())
    out += "/* The build that this header is of. Given as bycc_load_options::set_id, another build "
           "is refused. */\n#define " +
           prefix + "_SET_ID \"" + setId + "\"\n\n";
  describe(out, prefix, "INPUT", interface.inputs);
  describe(out, prefix, "OUTPUT", interface.outputs);
  out += "#ifdef __cplusplus\nextern \"C\" {\n#endif\nextern const bycc_module " + moduleName +
         "_bycc_module;\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return out;
}

} // namespace bycc
