// What a graph declares of itself, against what it has: extents that the user binds, types of
// inputs, defaults of inputs, types of results.
#include "OnnxImporter.h"

#include "bycc/Support/Messages.h"
#include "bycc/Support/ShellWord.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

namespace bycc::onnx {
namespace {

std::vector<std::string> keysOf(const auto &map) {
  std::vector<std::string> keys;
  for (const auto &entry : map)
    keys.push_back(entry.first);
  return keys;
}

// What --dim calls a dimension of an input; "" for one without a name.
std::string nameOfDim(const ValueInfo &info, size_t index) {
  const DimSpec &spec = info.dims[index];
  return spec.isNameless ? std::string(info.name) + "_" + std::to_string(index)
                         : std::string(spec.param);
}

} // namespace

// Names given to --shape and --dim exist.
Expected<> Importer::checkBindings(const Graph &graph) {
  std::map<std::string, bool> inputs, params;
  for (const ValueInfo &info : graph.inputs) {
    inputs[std::string(info.name)] = true;
    for (size_t i = 0; i < info.dims.size(); ++i)
      if (std::string param = nameOfDim(info, i); !param.empty())
        params[param] = true;
  }
  auto check = [&](const auto &given, const std::map<std::string, bool> &known,
                   const char *what) -> Expected<> {
    for (const auto &[name, value] : given) {
      if (known.count(name))
        continue;
      std::vector<std::string> keys = keysOf(known);
      ErrorBuilder problem = error(Status::Arg, {file_}).as(MessageId::NoSuchParameter)
                             << "there is no " << what << " '" << escaped(name) << "'";
      if (std::optional<std::string> near = nearest(name, keys))
        return std::move(problem).note("did you mean '" + escaped(*near) + "'?");
      return problem;
    }
    return {};
  };
  BYCC_TRY(check(options_.shapes, inputs, "input"));
  BYCC_TRY(check(options_.dims, params, "dimension"));
  for (const auto &[name, value] : options_.dims) {
    if (value < 0)
      return error(Status::Arg, {file_})
             << "dimension '" << escaped(name) << "' cannot be " << value;
    dimValues_[name] = value;
  }
  return {};
}

// Names of dimensions are any text ("past + 1", "batch size"); symbols are identifiers.
Dim Importer::symbolOf(const std::string &param) {
  auto [it, isNew] = symbols_.emplace(param, param);
  if (isNew) {
    std::string name = param;
    for (char &c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)))
        c = '_';
    bool isWord = name == "min" || name == "max" || name == "ceildiv";
    if (isWord || std::isdigit(static_cast<unsigned char>(name[0])))
      name.insert(0, "_");
    while (!symbolNames_.insert(name).second)
      name += "_";
    it->second = std::move(name);
  }
  return module_.types.symbol(it->second);
}

namespace {

// Some exporters write -1 where they mean an open one.
std::optional<int64_t> givenExtent(const DimSpec &dim) {
  return dim.value.value_or(-1) < 0 ? std::nullopt : dim.value;
}

} // namespace

std::string Importer::adviceToBind(std::span<const Dim> dims) {
  std::set<std::string_view> symbols;
  std::vector<Dim> left(dims.begin(), dims.end());
  bool isUnknown = false;
  while (!left.empty()) {
    Dim dim = left.back();
    left.pop_back();
    isUnknown |= dim.isUnknown();
    if (dim.isConst() || dim.isUnknown())
      continue;
    const DimExpr &e = module_.types.expr(dim);
    if (e.op == DimOp::Symbol)
      symbols.insert(e.symbol);
    else
      left.insert(left.end(), {e.lhs, e.rhs});
  }
  std::vector<std::string> options;
  for (const auto &[param, symbol] : symbols_)
    if (symbols.contains(symbol))
      options.push_back("--dim " + shellWord(escaped(param)) + "=N");
  for (const ValueInfo &info : model_.graph.inputs) {
    auto isUnnamed = [](const DimSpec &dim) {
      return !givenExtent(dim) && dim.param.empty() && !dim.isNameless;
    };
    if (isUnknown && std::ranges::any_of(info.dims, isUnnamed) &&
        !options_.shapes.contains(std::string(info.name)))
      options.push_back("--shape " + shellWord(escaped(info.name)) + "=...");
  }
  return options.empty() ? "" : "bind extents: " + bycc::join(options, " ");
}

// --shape of an input beats what other inputs make of a name: exporters use one for several extents.
Expected<Dim> Importer::boundDim(const ValueInfo &info, size_t index, int64_t wanted,
                                 const SourceLocation &location) {
  std::string param = nameOfDim(info, index);
  std::optional<int64_t> value = givenExtent(info.dims[index]);
  if (auto given = options_.dims.find(param); given != options_.dims.end())
    value = given->second;
  if (wanted < 0)
    return error(Status::Arg, location) << "dimension " << index << " cannot be " << wanted;
  if (value && *value != wanted)
    return error(Status::Arg, location) << "dimension " << index << " is " << *value
                                        << " in the model, cannot be bound to " << wanted;
  if (!param.empty())
    dimValues_.try_emplace(param, wanted);
  return Dim(wanted);
}

Expected<Dim> Importer::inputDim(const ValueInfo &info, size_t index,
                                 const std::vector<int64_t> *bound,
                                 const SourceLocation &location) {
  const DimSpec &spec = info.dims[index];
  std::string param = nameOfDim(info, index);
  std::optional<int64_t> value = givenExtent(spec);
  if (spec.value && !value) {
    if (!bound && !options_.declaredWarnings)
      return error(Status::Input, location)
                 .note("bind it with --shape " + shellWord(escaped(info.name)) +
                       "=..., or leave it open with --declared-types=warn")
             << "dimension " << index << " is " << *spec.value;
    readsNegativeAsOpen_ = true;
  }
  if (bound && (*bound)[index] != openExtent)
    return boundDim(info, index, (*bound)[index], location);
  auto known = dimValues_.find(param);
  if (!param.empty() && known != dimValues_.end())
    value = known->second;
  if (value)
    return Dim(*value);
  if (options_.allowSymbolicDims)
    return param.empty() ? Dim::unknown() : symbolOf(param);
  std::string what =
      param.empty() ? "dimension " + std::to_string(index) : "dimension '" + escaped(param) + "'";
  return error(Status::Input, location)
             .note(param.empty() ? "bind it with --shape " + escaped(info.name) + "=..."
                                 : "bind it with --dim " + escaped(param) + "=N")
         << what << " is not bound";
}

// An initializer is the default of the input of its name, whose type it has.
Expected<> Importer::checkDefault(const ValueInfo &info, const Value &value) {
  if (!info.hasType || value.isPoisoned)
    return {};
  SourceLocation location{.file = file_, .node = std::string(info.name), .nodeOp = "input"};
  if (!info.isTensor)
    return error(Status::Input, location)
           << "declared as something else than a tensor, its initializer is one";
  DType dtype = BYCC_TRY(dtypeOf(info.elemType, location));
  TypeId type = module_.type(value.node);
  std::span<const Dim> dims = module_.types.shape(type);
  bool fits =
      dtype == module_.types.dtype(type) && (!info.hasShape || info.dims.size() == dims.size());
  std::vector<std::string> declared;
  for (size_t d = 0; info.hasShape && d < info.dims.size(); ++d) {
    const DimSpec &spec = info.dims[d];
    declared.push_back(spec.value           ? std::to_string(*spec.value)
                       : spec.param.empty() ? "?"
                                            : escaped(spec.param));
    fits &= d >= dims.size() || !spec.value || dims[d] == Dim(*spec.value);
    if (spec.value || spec.param.empty() || d >= dims.size())
      continue;
    auto [bound, isNew] = extentsOfDefaults_.try_emplace(std::string(spec.param), dims[d].value());
    if (bound->second != dims[d].value())
      return error(Status::Input, location)
             << "its initializer is " << module_.types.str(type) << " with " << escaped(spec.param)
             << " = " << dims[d].value() << ", that of another input has " << escaped(spec.param)
             << " = " << bound->second;
  }
  if (fits)
    return {};
  return error(Status::Input, location)
         << "declared as " << name(dtype) << "[" << bycc::join(declared, ", ")
         << "], its initializer is " << module_.types.str(type);
}

void Importer::addInput(const ValueInfo &info, FunctionId main) {
  SourceLocation location{.file = file_, .node = std::string(info.name), .nodeOp = "input"};
  auto add = [&]() -> Expected<> {
    if (!info.isTensor)
      return error(info.hasType ? Status::Unsup : Status::Input, location)
             << (info.hasType ? "only tensors are supported" : "the input has no type");
    DType dtype = BYCC_TRY(dtypeOf(info.elemType, location));
    auto given = options_.shapes.find(std::string(info.name));
    const std::vector<int64_t> *bound = given == options_.shapes.end() ? nullptr : &given->second;
    if (!info.hasShape && !bound)
      return error(Status::Input, location)
                 .note("bind it with --shape " + escaped(info.name) + "=...")
             << "the input has no shape";
    if (info.hasShape && bound && bound->size() != info.dims.size())
      return error(Status::Arg, location)
             << "has rank " << info.dims.size() << ", cannot be bound to rank " << bound->size();
    std::vector<Dim> dims;
    if (!info.hasShape)
      for (int64_t extent : *bound)
        dims.push_back(extent == openExtent ? Dim::unknown() : Dim(extent));
    std::vector<Diagnostic> unbound;
    for (size_t i = 0; i < info.dims.size(); ++i) {
      Expected<Dim> dim = inputDim(info, i, bound, location);
      if (!dim)
        unbound.push_back(dim.error().diagnostics().front());
      else
        dims.push_back(*dim);
    }
    if (!unbound.empty())
      return Error(std::move(unbound));
    TypeId type = module_.types.tensor(dtype, dims);
    if (module_.types.isStatic(type) && !module_.types.sizeBytes(type))
      return error(Status::Limit, location).as(MessageId::TooLarge)
             << "type " << module_.types.str(type) << " is too large";
    NodeId node = module_.addParam(info.name, type, module_.addSource(location));
    module_.function(main).params.push_back(node);
    return define(info.name, {node, nullptr, false}, location);
  };
  Expected<> done = add();
  if (done)
    return;
  report(done.takeError());
  scopes_.back().emplace(info.name, Value{{}, nullptr, true});
}

// What a declared type is wrong about; a warning where the user wants it so.
void Importer::reportDeclared(const SourceLocation &location, const std::string &message) {
  if (!options_.declaredWarnings)
    return report(error(Status::Input, location).note("--declared-types=warn makes it a warning")
                  << message);
  Diagnostic warning;
  warning.location = location;
  warning.message = message;
  auto isSame = [&](const Diagnostic &other) { // of the body of a loop, which is read again
    return other.location.node == location.node && other.message == message;
  };
  if (std::ranges::none_of(*options_.declaredWarnings, isSame))
    options_.declaredWarnings->push_back(std::move(warning));
}

// Declared types of results: what they say must be what was inferred.
void Importer::checkDeclared(const ValueInfo &info, const char *what) {
  auto found = scopes_.back().find(info.name);
  if (found == scopes_.back().end() || found->second.isPoisoned || !found->second.node ||
      !info.isTensor)
    return;
  // onnxruntime-genai declares all constants as scalars.
  if (info.dims.empty() && module_.isConstant(found->second.node))
    return;
  TypeId type = module_.type(found->second.node);
  SourceLocation location{.file = file_, .node = std::string(info.name), .nodeOp = what};
  Expected<DType> dtype = dtypeOf(info.elemType, location);
  if (!dtype)
    return report(dtype.takeError());
  std::span<const Dim> shape = module_.types.shape(type);
  bool agrees =
      *dtype == module_.types.dtype(type) && (!info.hasShape || info.dims.size() == shape.size());
  std::vector<Dim> declared;
  for (size_t i = 0; i < info.dims.size(); ++i) {
    const DimSpec &spec = info.dims[i];
    std::optional<int64_t> value = givenExtent(spec);
    if (spec.value && !value && !readsNegativeAsOpen_)
      return reportDeclared(location, "dimension " + std::to_string(i) + " is " +
                                          std::to_string(*spec.value));
    declared.push_back(value ? Dim(*value) : Dim::unknown());
    if (agrees && value && shape[i].isConst() && shape[i].value() != *value)
      agrees = false;
  }
  if (!agrees)
    reportDeclared(location, "is declared as " +
                                 module_.types.str(module_.types.tensor(*dtype, declared)) +
                                 ", but is " + module_.types.str(type));
}

} // namespace bycc::onnx
