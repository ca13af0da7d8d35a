#include "bycc/Compiler/Interface.h"

#include "bycc/Support/Json.h"
#include "bycc/Target/RegionView.h"

#include <algorithm>
#include <set>

namespace bycc {
namespace {

std::vector<std::string> recordedNames(const Module &module, std::string_view key) {
  auto isIt = [&](const Attr &attr) { return attr.key == key; };
  auto recorded = std::ranges::find_if(module.moduleAttrs, isIt);
  const AttrValue *list = recorded != module.moduleAttrs.end()
                              ? &recorded->value
                              : module.functionAttr(module.main(), key);
  std::vector<std::string> names;
  if (list && list->isList())
    for (const AttrValue &item : list->asList())
      if (item.isString())
        names.push_back(item.asString());
  return names;
}

std::string asFileName(const std::string &name) {
  std::string file = name;
  std::ranges::replace(file, '/', '_');
  std::ranges::replace(file, '\0', '_');
  return file.empty() || file == "." || file == ".." ? "_" + file : file;
}

void giveFileNames(std::vector<ModelTensor> &tensors) {
  std::set<std::string> taken;
  for (ModelTensor &tensor : tensors) {
    std::string base = asFileName(tensor.name), file = base;
    for (int i = 1; !taken.insert(file).second; ++i)
      file = base + "." + std::to_string(i);
    tensor.file = file;
  }
}

void addFlattened(const Module &module, TypeId type, const std::vector<std::string> &names,
                  std::vector<ModelTensor> &tensors) {
  std::vector<TypeId> flat = module.types.flatten(type);
  for (size_t i = 0; i < flat.size(); ++i) {
    auto shape = module.types.shape(flat[i]);
    tensors.push_back({names[i], {}, module.types.dtype(flat[i]), {shape.begin(), shape.end()}});
  }
}

} // namespace

void writeTensors(JsonWriter &json, const Module &module, const std::vector<ModelTensor> &tensors) {
  json.beginArray();
  for (const ModelTensor &tensor : tensors) {
    json.beginObject().key("name").value(tensor.name).key("file").value(tensor.file);
    json.key("dtype").value(name(tensor.dtype)).key("shape").beginArray();
    for (Dim dim : tensor.shape)
      if (dim.isConst())
        json.value(dim.value());
      else
        json.value(module.types.str(dim));
    json.endArray().endObject();
  }
  json.endArray();
}

void keepNamesOfOutputs(Module &module) {
  for (const Attr &attr : module.moduleAttrs)
    if (attr.key == "output_names")
      module.setFunctionAttr(module.main(), "output_names", attr.value);
}

ModelInterface modelInterface(const Module &module) {
  ModelInterface interface;
  const Function &main = module.function(module.main());
  std::vector<std::string> inputNames = recordedNames(module, "input_names");
  for (size_t p = 0; p < main.params.size(); ++p) {
    TypeId type = module.type(main.params[p]);
    std::string name = p < inputNames.size() && inputNames.size() == main.params.size()
                           ? inputNames[p]
                           : std::string(module.string(module.node(main.params[p]).name));
    size_t count = module.types.flatten(type).size();
    std::vector<std::string> names{name};
    if (module.types.isTuple(type)) {
      names.clear();
      for (size_t i = 0; i < count; ++i)
        names.push_back(name + "." + std::to_string(i));
    }
    addFlattened(module, type, names, interface.inputs);
  }
  TypeId result = module.type(module.block(main.body).result);
  std::vector<std::string> names = recordedNames(module, "output_names");
  size_t count = module.types.flatten(result).size();
  if (names.size() != count) {
    names.clear();
    for (size_t i = 0; i < count; ++i)
      names.push_back("output_" + std::to_string(i));
  }
  addFlattened(module, result, names, interface.outputs);
  giveFileNames(interface.inputs);
  giveFileNames(interface.outputs);
  return interface;
}

Expected<> checkInterface(const Module &module) {
  const Function &main = module.function(module.main());
  std::vector<Diagnostic> found;
  auto look = [&](NodeId value) {
    std::string place = module.types.placeText(module.type(value));
    if (place.empty())
      return;
    Diagnostic diagnostic;
    diagnostic.status = Status::Unsup;
    diagnostic.location = module.source(value);
    diagnostic.message = nodeName(module, value) + " has " + place +
                         ": a model is given and gives row-major tensors on device 0";
    found.push_back(std::move(diagnostic));
  };
  for (NodeId param : main.params)
    look(param);
  if (found.empty())
    look(module.block(main.body).result);
  if (found.empty())
    return {};
  return Error(std::move(found));
}

std::vector<CodeTensor> codeTensors(Module &module, const std::vector<ModelTensor> &tensors) {
  std::vector<CodeTensor> result;
  for (const ModelTensor &tensor : tensors)
    result.push_back({tensor.name, tensor.file, module.types.tensor(tensor.dtype, tensor.shape)});
  return result;
}

} // namespace bycc
