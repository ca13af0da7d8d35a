// Constant data of the descriptor, in the layout of the C structs: the offset of each field
// is that which the C compiler gave it.
#include "EmitEntry.h"

#include "Emit.h"
#include "Object.h"
#include "bycc/abi.h"

#include <cmath>

namespace bycc::codegen {
namespace {

class DescriptorEmitter {
public:
  DescriptorEmitter(llvm::Module &module, const std::string &prefix)
      : module_(module), b_(module.getContext()), prefix_(prefix) {}

  llvm::Constant *global(llvm::Constant *value, const char *name) {
    auto *variable =
        new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                 value, prefix_ + "_" + name);
    return variable;
  }
  llvm::Constant *text(const std::string &string) {
    auto *&known = strings_[string];
    if (!known) {
      known = global(llvm::ConstantDataArray::getString(module_.getContext(), string), "text");
      llvm::cast<llvm::GlobalVariable>(known)->setUnnamedAddr(
          llvm::GlobalValue::UnnamedAddr::Global);
    }
    return known;
  }
  llvm::Constant *bytes(llvm::StringRef data, const char *name, unsigned align) {
    auto *variable = llvm::cast<llvm::GlobalVariable>(
        global(llvm::ConstantDataArray::getRaw(data, data.size(), b_.getInt8Ty()), name));
    variable->setAlignment(llvm::Align(align));
    return variable;
  }
  struct Field {
    size_t offset;
    llvm::Constant *value;
  };
  llvm::Constant *record(size_t bytes, const std::vector<Field> &fields) {
    std::vector<llvm::Constant *> values;
    for (const Field &field : fields)
      values.push_back(field.value);
    llvm::Constant *made = llvm::ConstantStruct::getAnon(module_.getContext(), values);
    auto *layout =
        module_.getDataLayout().getStructLayout(llvm::cast<llvm::StructType>(made->getType()));
    BYCC_ASSERT(layout->getSizeInBytes() == bytes, "a struct of abi.h has all its fields");
    for (unsigned i = 0; i < fields.size(); ++i)
      BYCC_ASSERT(layout->getElementOffset(i) == fields[i].offset,
                  "fields stand where abi.h has them");
    return made;
  }
  llvm::Constant *table(const std::vector<llvm::Constant *> &rows, const char *name) {
    if (rows.empty())
      return null();
    return global(
        llvm::ConstantArray::get(llvm::ArrayType::get(rows[0]->getType(), rows.size()), rows),
        name);
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

llvm::Constant *tensorTable(DescriptorEmitter &d, const Module &ir,
                            const std::vector<CodeTensor> &tensors, const char *name) {
  std::vector<llvm::Constant *> rows;
  for (const CodeTensor &tensor : tensors) {
    std::vector<llvm::Constant *> dims;
    for (Dim dim : ir.types.shape(tensor.type))
      dims.push_back(d.record(
          sizeof(bycc_dim),
          {{offsetof(bycc_dim, value),
            d.i64(static_cast<uint64_t>(dim.isConst() ? dim.value() : -1))},
           {offsetof(bycc_dim, text), dim.isConst() ? d.null() : d.text(ir.types.str(dim))}}));
    rows.push_back(
        d.record(sizeof(bycc_tensor_info),
                 {{offsetof(bycc_tensor_info, name), d.text(tensor.name)},
                  {offsetof(bycc_tensor_info, file), d.text(tensor.file)},
                  {offsetof(bycc_tensor_info, dtype),
                   d.i32(static_cast<uint32_t>(ir.types.dtype(tensor.type)))},
                  {offsetof(bycc_tensor_info, rank), d.i32(static_cast<uint32_t>(dims.size()))},
                  {offsetof(bycc_tensor_info, dims), d.table(dims, "dims")}}));
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
    rows.push_back(d.record(
        sizeof(bycc_port),
        {{offsetof(bycc_port, dtype), d.i32(static_cast<uint32_t>(ir.types.dtype(types[i])))},
         {offsetof(bycc_port, rank), d.i32(static_cast<uint32_t>(dims.size()))},
         {offsetof(bycc_port, dims), d.table(dims, "dims")},
         {offsetof(bycc_port, layout), d.text(std::string(ir.types.layout(types[i])))},
         {offsetof(bycc_port, is_resident), d.i64(i < resident.size() && resident[i])}}));
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

std::vector<llvm::Constant *> regionRows(DescriptorEmitter &d, const Program &program,
                                         const Module &ir) {
  std::vector<llvm::Constant *> rows;
  for (const RegionCode &region : program.regions) {
    const CodeRegion &code = region.code;
    llvm::StringRef blob(reinterpret_cast<const char *>(code.blob.data()), code.blob.size());
    const Function &function = ir.function(region.function);
    std::vector<TypeId> inputs = inputTypes(ir, function),
                        outputs = ir.types.flatten(ir.type(ir.block(function.body).result));
    rows.push_back(d.record(
        sizeof(bycc_region_info),
        {{offsetof(bycc_region_info, symbol), d.text(region.symbol)},
         {offsetof(bycc_region_info, vendor), d.text(region.vendor)},
         {offsetof(bycc_region_info, vendor_version), d.text(code.version)},
         {offsetof(bycc_region_info, vendor_library), d.text(code.library)},
         {offsetof(bycc_region_info, blob), blob.empty() ? d.null() : d.bytes(blob, "blob", 16)},
         {offsetof(bycc_region_info, blob_bytes), d.i64(blob.size())},
         {offsetof(bycc_region_info, num_inputs), d.i32(static_cast<uint32_t>(inputs.size()))},
         {offsetof(bycc_region_info, num_outputs), d.i32(static_cast<uint32_t>(outputs.size()))},
         {offsetof(bycc_region_info, inputs),
          portTable(d, ir, inputs, region.residentInputs, "inputs")},
         {offsetof(bycc_region_info, outputs),
          portTable(d, ir, outputs, region.residentOutputs, "outputs")},
         {offsetof(bycc_region_info, owns_weights), d.i32(code.ownsWeights)},
         {offsetof(bycc_region_info, has_host_code), d.i32(region.hasHostCode)},
         {offsetof(bycc_region_info, weights_offset), d.i64(code.weightsOffset)},
         {offsetof(bycc_region_info, weights_bytes), d.i64(code.weightsBytes)}}));
  }
  return rows;
}

} // namespace

void emitDescriptor(llvm::Module &module, const TargetInfo &target, const Program &program,
                    const Module &ir, const CodeGenOptions &options,
                    const CodeGenOptions::Artifacts &artifacts, uint64_t scratchBytes,
                    llvm::Function *entry) {
  DescriptorEmitter d(module, options.moduleName);
  std::vector<llvm::Constant *> regions = regionRows(d, program, ir), nodes;
  for (const ProfiledNode &node : program.nodes) {
    double flops = std::isnan(node.flops) ? 0 : node.flops;
    nodes.push_back(
        d.record(sizeof(bycc_node_info), {{offsetof(bycc_node_info, name), d.text(node.name)},
                                          {offsetof(bycc_node_info, source), d.text(node.source)},
                                          {offsetof(bycc_node_info, flops), d.real(flops)}}));
  }
  llvm::IRBuilder<> b(module.getContext());
  llvm::Constant *setId = llvm::ConstantDataArray::get(
      module.getContext(), llvm::ArrayRef<uint8_t>(artifacts.setId.data(), artifacts.setId.size()));
  llvm::StringRef embedded(artifacts.embeddedParams.data(), artifacts.embeddedParams.size());
  auto count = [&](size_t n) { return d.i32(static_cast<uint32_t>(n)); };
  llvm::Constant *descriptor =
      d.record(sizeof(bycc_module),
               {{offsetof(bycc_module, magic), d.i32(BYCC_MODULE_MAGIC)},
                {offsetof(bycc_module, abi_version), d.i32(BYCC_ABI_VERSION)},
                {offsetof(bycc_module, name), d.text(options.moduleName)},
                {offsetof(bycc_module, compiler_version), d.text(options.compilerVersion)},
                {offsetof(bycc_module, triple), d.text(target.triple)},
                {offsetof(bycc_module, cpu), d.text(target.cpu)},
                {offsetof(bycc_module, features), d.text(codeFeatures(target))},
                {offsetof(bycc_module, set_id), setId},
                {offsetof(bycc_module, params_bytes), d.i64(artifacts.paramsBytes)},
                {offsetof(bycc_module, params),
                 embedded.empty() ? d.null() : d.bytes(embedded, "params", 64)},
                {offsetof(bycc_module, arena_bytes), d.i64(program.arenaBytes)},
                {offsetof(bycc_module, scratch_bytes), d.i64(scratchBytes)},
                {offsetof(bycc_module, default_threads),
                 d.i32(static_cast<uint32_t>(options.defaultThreads))},
                {offsetof(bycc_module, num_inputs), count(options.inputs.size())},
                {offsetof(bycc_module, num_outputs), count(options.outputs.size())},
                {offsetof(bycc_module, num_regions), count(program.regions.size())},
                {offsetof(bycc_module, num_nodes), count(program.nodes.size())},
                {offsetof(bycc_module, inputs), tensorTable(d, ir, options.inputs, "inputs")},
                {offsetof(bycc_module, outputs), tensorTable(d, ir, options.outputs, "outputs")},
                {offsetof(bycc_module, regions), d.table(regions, "regions")},
                {offsetof(bycc_module, nodes), d.table(nodes, "nodes")},
                {offsetof(bycc_module, entry), entry}});
  new llvm::GlobalVariable(module, descriptor->getType(), true, llvm::GlobalValue::ExternalLinkage,
                           descriptor, options.moduleName + "_bycc_module");
}

} // namespace bycc::codegen
