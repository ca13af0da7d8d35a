// Constant data of the descriptor, in the layout of the C structs.
#include "EmitEntry.h"

#include "Emit.h"
#include "Object.h"
#include "bycc/abi.h"

namespace bycc::te {
namespace {

class DescriptorEmitter {
public:
  DescriptorEmitter(llvm::Module &module, const std::string &prefix) : module_(module), b_(module.getContext()), prefix_(prefix) {}

  llvm::Constant *global(llvm::Constant *value, const char *name) {
    auto *variable = new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, prefix_ + "_" + name);
    return variable;
  }
  llvm::Constant *text(const std::string &string) {
    auto *&known = strings_[string];
    if (!known) {
      known = global(llvm::ConstantDataArray::getString(module_.getContext(), string), "text");
      llvm::cast<llvm::GlobalVariable>(known)->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    }
    return known;
  }
  llvm::Constant *bytes(llvm::StringRef data, const char *name, unsigned align) {
    auto *variable = llvm::cast<llvm::GlobalVariable>(global(llvm::ConstantDataArray::getRaw(data, data.size(), b_.getInt8Ty()), name));
    variable->setAlignment(llvm::Align(align));
    return variable;
  }
  llvm::Constant *record(std::vector<llvm::Constant *> fields) { return llvm::ConstantStruct::getAnon(module_.getContext(), fields); }
  llvm::Constant *table(const std::vector<llvm::Constant *> &rows, const char *name) {
    if (rows.empty())
      return null();
    return global(llvm::ConstantArray::get(llvm::ArrayType::get(rows[0]->getType(), rows.size()), rows), name);
  }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(b_.getPtrTy()); }
  llvm::Constant *i32(uint32_t value) { return b_.getInt32(value); }
  llvm::Constant *i64(uint64_t value) { return b_.getInt64(value); }
  llvm::Constant *real(double value) { return llvm::ConstantFP::get(b_.getDoubleTy(), value); }

private:
  llvm::Module &module_;
  llvm::IRBuilder<> b_;
  std::string prefix_;
  std::map<std::string, llvm::Constant *> strings_;
};

llvm::Constant *tensorTable(DescriptorEmitter &d, const Module &ir, const std::vector<CodeTensor> &tensors, const char *name) {
  std::vector<llvm::Constant *> rows;
  for (const CodeTensor &tensor : tensors) {
    std::vector<llvm::Constant *> dims;
    for (Dim dim : ir.types.shape(tensor.type))
      dims.push_back(d.record({d.i64(static_cast<uint64_t>(dim.isConst() ? dim.value() : -1)), dim.isConst() ? d.null() : d.text(ir.types.str(dim))}));
    rows.push_back(d.record({d.text(tensor.name), d.text(tensor.file), d.i32(static_cast<uint32_t>(ir.types.dtype(tensor.type))),
                             d.i32(static_cast<uint32_t>(dims.size())), d.table(dims, "dims")}));
  }
  return d.table(rows, name);
}

// `resident` may be empty: none is.
llvm::Constant *portTable(DescriptorEmitter &d, const Module &ir, const std::vector<TypeId> &types,
                          const std::vector<uint8_t> &resident, const char *name) {
  std::vector<llvm::Constant *> rows;
  for (size_t i = 0; i < types.size(); ++i) {
    std::vector<llvm::Constant *> dims;
    for (Dim dim : ir.types.shape(types[i]))
      dims.push_back(d.i64(static_cast<uint64_t>(dim.isConst() ? dim.value() : -1)));
    rows.push_back(d.record({d.i32(static_cast<uint32_t>(ir.types.dtype(types[i]))),
                             d.i32(static_cast<uint32_t>(dims.size())), d.table(dims, "dims"),
                             d.text(std::string(ir.types.layout(types[i]))),
                             d.i64(i < resident.size() && resident[i])}));
  }
  return d.table(rows, name);
}

std::vector<TypeId> inputTypes(const Module &ir, const Function &function) {
  std::vector<TypeId> types;
  for (NodeId param : function.params)
    for (TypeId type : ir.types.flatten(ir.type(param)))
      types.push_back(type);
  return types;
}

} // namespace

void emitDescriptor(llvm::Module &module, const TargetInfo &target, const Program &program, const Module &ir,
                    const CodeGenOptions &options, const CodeGenOptions::Artifacts &artifacts, uint64_t scratchBytes,
                    llvm::Function *entry) {
  DescriptorEmitter d(module, options.moduleName);
  std::vector<llvm::Constant *> regions, nodes;
  for (const RegionCode &region : program.regions) {
    const CodeRegion &code = region.code;
    llvm::StringRef blob(reinterpret_cast<const char *>(code.blob.data()), code.blob.size());
    const Function &function = ir.function(region.function);
    std::vector<TypeId> inputs = inputTypes(ir, function),
                        outputs = ir.types.flatten(ir.type(ir.block(function.body).result));
    regions.push_back(d.record(
        {d.text(region.symbol), d.text(region.vendor), d.text(code.version), d.text(code.library),
         blob.empty() ? d.null() : d.bytes(blob, "blob", 16), d.i64(blob.size()),
         d.i32(static_cast<uint32_t>(inputs.size())), d.i32(static_cast<uint32_t>(outputs.size())),
         portTable(d, ir, inputs, region.residentInputs, "inputs"),
         portTable(d, ir, outputs, region.residentOutputs, "outputs"), d.i32(code.ownsWeights),
         d.i64(code.weightsOffset), d.i64(code.weightsBytes)}));
  }
  for (const ProfiledNode &node : program.nodes)
    nodes.push_back(d.record({d.text(node.name), d.text(node.source), d.real(node.flops)}));
  llvm::IRBuilder<> b(module.getContext());
  llvm::Constant *setId = llvm::ConstantDataArray::get(module.getContext(), llvm::ArrayRef<uint8_t>(artifacts.setId.data(), artifacts.setId.size()));
  llvm::StringRef embedded(artifacts.embeddedParams.data(), artifacts.embeddedParams.size());
  auto count = [&](size_t n) { return d.i32(static_cast<uint32_t>(n)); };
  llvm::Constant *descriptor = d.record({
      d.i32(BYCC_MODULE_MAGIC), d.i32(BYCC_ABI_VERSION), d.text(options.moduleName), d.text(options.compilerVersion),
      d.text(target.triple), d.text(target.cpu), d.text(codeFeatures(target)), setId, d.i64(artifacts.paramsBytes),
      embedded.empty() ? d.null() : d.bytes(embedded, "params", 64), d.i64(program.arenaBytes), d.i64(scratchBytes),
      d.i32(static_cast<uint32_t>(options.defaultThreads)), count(options.inputs.size()), count(options.outputs.size()),
      count(program.regions.size()), count(program.nodes.size()), tensorTable(d, ir, options.inputs, "inputs"),
      tensorTable(d, ir, options.outputs, "outputs"), d.table(regions, "regions"), d.table(nodes, "nodes"), entry});
  new llvm::GlobalVariable(module, descriptor->getType(), true, llvm::GlobalValue::ExternalLinkage, descriptor,
                           options.moduleName + "_bycc_module");
}

} // namespace bycc::te
