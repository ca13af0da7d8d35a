#include "bycc/Partition/AskedVendors.h"

#include "bycc/IR/Visitor.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"

#include <set>

namespace bycc {

namespace {

class Collector {
public:
  explicit Collector(const Module &module) : module_(module) {}

  std::vector<AskedVendor> run() {
    for (FunctionId function : module_.globals()) {
      addFunction(function);
      forEachNode(module_, module_.function(function).body, [&](NodeId node) { addNode(node); });
    }
    return std::move(found_);
  }

private:
  void addFunction(FunctionId function) {
    if (const AttrValue *vendor = module_.functionAttr(function, "Compiler");
        vendor && vendor->isString())
      add(vendor->asString(), module_.function(function).source);
  }

  void addNode(NodeId node) {
    const Node &n = module_.node(node);
    if (n.kind == NodeKind::Function)
      addFunction(module_.functionOf(node));
    if (isCallWith(module_, node, OpTrait::Bracket))
      add(module_.attr(node, "compiler")->asString(), n.source);
    if (StringId asked = module_.askedVendor(node); asked != StringId(0))
      add(module_.string(asked), n.source);
    if (const Annotation *annotation = module_.annotation(node))
      for (StringId vendor : annotation->vendors)
        add(module_.string(vendor), n.source);
  }

  void add(std::string_view vendor, SourceId source) {
    if (vendor != "default" && names_.insert(std::string(vendor)).second)
      found_.push_back({std::string(vendor), module_.source(source)});
  }

  const Module &module_;
  std::vector<AskedVendor> found_;
  std::set<std::string> names_;
};

} // namespace

bool hasBrackets(const Module &module) {
  bool found = false;
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body,
                [&](NodeId node) { found |= isCallWith(module, node, OpTrait::Bracket); });
  return found;
}

bool hasVendorFunctions(const Module &module) {
  bool found = false;
  auto look = [&](FunctionId function) {
    found |= module.functionAttr(function, "Compiler") &&
             !module.functionAttr(function, "global_symbol");
  };
  for (FunctionId function : module.globals()) {
    look(function);
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (module.node(node).kind == NodeKind::Function)
        look(module.functionOf(node));
    });
  }
  return found;
}

Error unknownVendor(std::string_view name, const SourceLocation &place,
                    const std::vector<std::string> &known) {
  if (name.empty())
    return error(Status::Input, place) << "the name of the vendor is empty";
  return (error(Status::Input, place).as(MessageId::UnknownVendor)
          << "vendor '" << escaped(name) << "' is not known" << didYouMean(name, known))
      .note("--rules or --plugin brings a vendor");
}

std::vector<AskedVendor> askedVendors(const Module &module) { return Collector(module).run(); }

} // namespace bycc
