// ONNX models as IR. The file is mapped and decoded in place; its weights become
// constants that are views into the mapping (copied only where the file puts them
// at an address their type cannot be read from).
//
// `main` gets one parameter per graph input that is no initializer, under the
// input's name, and returns the graph outputs: a tuple in model order, or the
// value itself when there is one. Module::moduleAttrs holds "input_names" and
// "output_names". A node's source is the ONNX node name (first output when
// unnamed) and operator type.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/Support/File.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

constexpr int64_t openExtent = -1; // in a shape that binds others

struct OnnxImportOptions {
  // Shapes of inputs by name (--shape) and values of dim_params (--dim).
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, int64_t> dims;
  // A dim that stays unbound becomes a symbol of the type instead of an error.
  bool allowSymbolicDims = false;
  // Not null: gets what types that the model declares of outputs and values inside are wrong about,
  // in place of errors, and a negative dim of an input is an unbound one (--declared-types=warn).
  std::vector<Diagnostic> *declaredWarnings = nullptr;
  uint64_t maxFileBytes = uint64_t{2} << 30;
  // Gets the paths of the files with external data, if not null.
  std::vector<std::string> *externalFiles = nullptr;
  // Opens external data, `relative` to the folder; empty: mapContained().
  OpenContainedFn openExternal;
};

// All unknown operators, dtypes and unbound dims come in one error, each with
// its node.
Expected<Module> importOnnx(const std::string &path, const OnnxImportOptions &options = {});

// The same for a model already in memory; `name` is for messages, external data
// is looked for in `folder`.
Expected<Module> importOnnx(std::shared_ptr<const Storage> bytes, const std::string &name,
                            const std::string &folder, const OnnxImportOptions &options = {});

// An operator of the domain ai.onnx, with the opsets that gave it a version.
struct OnnxOperator {
  struct Version {
    int64_t opset = 0;
    bool isRead = true;
  };
  std::string_view name;
  std::vector<Version> versions; // ascending; none is read when `whyNot` says so
  std::string_view whyNot;       // "works on strings"
  // Relay operators that its calls become, as seen on ONNX's own cases; sorted.
  std::vector<std::string_view> makes;
};

// All operators that ONNX has up to opset 28, sorted by name.
std::vector<OnnxOperator> onnxOperators();

} // namespace bycc
