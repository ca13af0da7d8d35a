// Well-formedness of a module. One walk per function keeps a table of the
// values that are visible at each point; leaving a block hides its values.

#include "bycc/IR/Verifier.h"

#include "bycc/IR/Infer.h"
#include "bycc/IR/Printer.h"
#include "bycc/IR/Visitor.h"

namespace bycc {
namespace {

class Verifier {
public:
  explicit Verifier(Module &module) : module_(module), visible_(module.numNodes(), false) {}

  void checkGlobals() {
    for (FunctionId function : module_.globals())
      checkFunction(function);
  }
  Expected<> takeResult() {
    if (found_.empty())
      return {};
    return Error(std::move(found_));
  }

private:
  void report(NodeId node, const std::string &text) {
    if (found_.size() >= maxDiagnostics)
      return;
    Diagnostic diagnostic;
    diagnostic.status = Status::Input;
    if (node)
      diagnostic.location = module_.source(node);
    diagnostic.message = node ? describe(module_, node) + ": " + text : text;
    found_.push_back(std::move(diagnostic));
  }

  bool isVisible(NodeId node) const {
    NodeKind kind = module_.node(node).kind;
    return kind == NodeKind::Constant || kind == NodeKind::Global || visible_[node.index];
  }

  void checkFunction(FunctionId id) {
    const Function &f = module_.function(id);
    for (NodeId param : f.params) {
      if (module_.node(param).kind != NodeKind::Param)
        report(param, "a parameter list holds parameters only");
      if (visible_[param.index])
        report(param, "a parameter belongs to one function only");
      visible_[param.index] = true;
    }
    checkBlock(f.body);
    NodeId result = module_.block(f.body).result;
    if (result && f.resultType && f.resultType != module_.types.incomplete() &&
        !isAssignable(module_, module_.type(result), f.resultType))
      report(result, "the function declares the result " + module_.types.str(f.resultType) +
                         ", the body has " + module_.types.str(module_.type(result)));
    for (NodeId param : f.params)
      visible_[param.index] = false;
  }

  void checkBlock(BlockId id) {
    const std::vector<NodeId> &nodes = module_.block(id).nodes;
    for (NodeId node : nodes) {
      checkNode(node);
      if (visible_[node.index])
        report(node, "a value is defined once");
      visible_[node.index] = true;
    }
    NodeId result = module_.block(id).result;
    if (!result)
      report({}, "a block has a result");
    else if (!isVisible(result))
      report(result, "the result of a block is a value that is visible there");
    for (NodeId node : nodes)
      visible_[node.index] = false;
  }

  void checkNode(NodeId node) {
    if (module_.isLeaf(node))
      return report(node, "leaves stand in no list");
    for (NodeId operand : module_.operands(node))
      if (operand.index >= module_.numNodes() || !isVisible(operand))
        return report(node, "an operand is not visible here");
    if (module_.node(node).kind == NodeKind::Function)
      visible_[node.index] = true; // may call itself
    for (BlockId inner : innerBlocks(module_, node)) {
      if (module_.node(node).kind == NodeKind::Function)
        checkFunction(module_.functionOf(node));
      else
        checkBlock(inner);
    }
    visible_[node.index] = false;
    checkType(node);
  }

  void checkType(NodeId node) {
    TypeId before = module_.type(node);
    if (auto inferred = inferNode(module_, node); !inferred) {
      for (const Diagnostic &diagnostic : inferred.error().diagnostics())
        if (found_.size() < maxDiagnostics)
          found_.push_back(diagnostic);
    } else if (before != module_.type(node) && before != module_.types.incomplete()) {
      report(node, "has type " + module_.types.str(before) + ", inference says " +
                       module_.types.str(module_.type(node)));
    }
    module_.node(node).type = before;
  }

  Module &module_;
  std::vector<bool> visible_;
  std::vector<Diagnostic> found_;
};

} // namespace

Expected<> verify(Module &module) {
  Verifier verifier(module);
  verifier.checkGlobals();
  return verifier.takeResult();
}

} // namespace bycc
