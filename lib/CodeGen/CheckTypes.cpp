// Host code knows row-major tensors in the memory of the host. A type that says
// something else is told where it comes into host code, not everywhere it goes.
#include "Program.h"

#include "bycc/IR/Visitor.h"
#include "bycc/Target/RegionView.h"

#include <algorithm>

namespace bycc::codegen {

namespace {

constexpr size_t maxDiagnostics = 20;

class TypeCheck {
public:
  TypeCheck(const Module &module, const CodeGenOptions &options) : m_(module), options_(options) {}

  Expected<> run() {
    for (FunctionId function : m_.globals()) {
      bool isHost = !m_.functionAttr(function, "Compiler") || !options_.isEmulated ||
                    options_.isEmulated(function);
      for (NodeId param : m_.function(function).params)
        if (isHost)
          look(param);
      if (isHost)
        forEachNode(m_, m_.function(function).body, [&](NodeId node) { lookAtCall(node); });
    }
    if (found_.empty())
      return {};
    return Error(std::move(found_));
  }

private:
  void lookAtCall(NodeId node) {
    if (m_.node(node).kind == NodeKind::Function) {
      for (NodeId param : m_.function(m_.functionOf(node)).params)
        look(param);
      return;
    }
    bool isPassedOn = false;
    for (NodeId operand : m_.operands(node)) {
      isPassedOn |= !m_.types.placeText(m_.type(operand)).empty();
      if (m_.isConstant(operand))
        look(operand);
    }
    if (!isPassedOn)
      look(node);
  }

  void look(NodeId value) {
    std::string place = m_.types.placeText(m_.type(value));
    if (place.empty() || found_.size() == maxDiagnostics ||
        std::ranges::find(seen_, value) != seen_.end())
      return;
    seen_.push_back(value);
    Diagnostic diagnostic;
    diagnostic.status = Status::Unsup;
    diagnostic.location = m_.source(value);
    diagnostic.message =
        nodeName(m_, value) + " has " + place + ": host code takes row-major tensors on device 0";
    found_.push_back(std::move(diagnostic));
  }

  const Module &m_;
  const CodeGenOptions &options_;
  std::vector<Diagnostic> found_;
  std::vector<NodeId> seen_; // those told
};

} // namespace

Expected<> checkTypes(const Module &module, const CodeGenOptions &options) {
  if (module.types.allOnHost())
    return {};
  return TypeCheck(module, options).run();
}

} // namespace bycc::codegen
