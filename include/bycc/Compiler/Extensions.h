// What a program adds to the compiler: passes, vendors, patterns, formats of models. They
// enter the pipeline that every compilation runs, and are looked up, checked and reported
// like those that come with bycc.
#pragma once

#include "bycc/Compiler/CompileRequest.h"
#include "bycc/IR/Module.h"
#include "bycc/Transforms/PassRegistry.h"
#include "bycc/vendor.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bycc {

// Where a pass stands in the default lists: beside the first place that `pass` has in
// the list of -O3, at every level from PassInfo::level up.
struct PassPlace {
  enum class Side : uint8_t { Before, After } side = Side::After;
  std::string pass;
};

// The model as a frontend gets it.
struct FrontendInput {
  std::shared_ptr<const Storage> bytes;
  std::string name; // for messages and SourceLocation::file
  // Opens a file beside the model, or one in memory of that name.
  std::function<Expected<std::shared_ptr<const Storage>>(const std::string &relative)> open;
};

// A format of models. It is asked when InputOptions::format names it, else when the
// model's name has one of the suffixes, else when `recognises` says so; in that, frontends
// of the Compiler come before bycc's own.
struct Frontend {
  std::string name;                                       // "tflite"
  std::vector<std::string> suffixes;                      // ".tflite"
  std::function<bool(std::string_view bytes)> recognises; // empty: only by name
  // A module with @main whose nodes are typed, as Builder makes them, whose constants may be
  // views of the bytes. Parameters and results get the names of the model from the module
  // attributes "input_names" and "output_names" (Frontend/Onnx.h).
  std::function<Expected<Module>(const FrontendInput &)> read;
};

class Extensions {
public:
  struct Pass {
    PassInfo info;
    PassPlace place;
  };
  struct VendorText {
    std::string text, name; // the name is for messages
  };

  std::vector<Pass> passes;
  std::vector<const bycc_vendor_compiler *> vendors;
  std::vector<VendorText> described; // vendors of which there is a description only
  std::vector<VendorText> patterns;
  std::vector<Frontend> frontends;

  const Frontend *findFrontend(std::string_view name) const;
  // The one for a model without a given format, or null.
  const Frontend *frontendFor(std::string_view model, std::string_view bytes) const;
};

} // namespace bycc
