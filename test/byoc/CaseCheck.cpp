// The expectations of a case, one small function each.

#include "CaseCheck.h"

#include "bycc/IR/Op.h"
#include "bycc/IR/Verifier.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Support/File.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>

namespace bycc::cases {

namespace {

template <typename T> void append(std::vector<uint8_t> &bytes, T value) {
  const uint8_t *begin = reinterpret_cast<const uint8_t *>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

} // namespace

std::vector<uint8_t> CaseTensor::bytes() const {
  std::vector<uint8_t> out;
  for (double value : data)
    switch (dtype) {
    case DType::Bool:
      append<uint8_t>(out, value != 0);
      break;
    case DType::Int8:
      append(out, static_cast<int8_t>(value));
      break;
    case DType::UInt8:
      append(out, static_cast<uint8_t>(value));
      break;
    case DType::Int16:
      append(out, static_cast<int16_t>(value));
      break;
    case DType::UInt16:
      append(out, static_cast<uint16_t>(value));
      break;
    case DType::Int32:
      append(out, static_cast<int32_t>(value));
      break;
    case DType::UInt32:
      append(out, static_cast<uint32_t>(value));
      break;
    case DType::Int64:
      append(out, static_cast<int64_t>(value));
      break;
    case DType::UInt64:
      append(out, static_cast<uint64_t>(value));
      break;
    case DType::Float16:
      append(out, floatToHalf(static_cast<float>(value)));
      break;
    case DType::BFloat16:
      append(out, floatToBFloat16(static_cast<float>(value)));
      break;
    case DType::Float32:
      append(out, static_cast<float>(value));
      break;
    case DType::Float64:
      append(out, value);
      break;
    }
  return out;
}

Expected<CaseTensor> readTensor(const JsonValue &value, const std::string &file) {
  const JsonValue *dtype = value.find("dtype"), *shape = value.find("shape"),
                  *data = value.find("data");
  if (!dtype || !shape || !data || !parseDType(dtype->string))
    return error(Status::Input, location(value, file)) << "not a tensor";
  CaseTensor tensor;
  tensor.dtype = *parseDType(dtype->string);
  for (const JsonValue &dim : shape->items)
    tensor.shape.push_back(dim.integer);
  for (const JsonValue &item : data->items)
    tensor.data.push_back(item.isBool() ? item.boolean : item.number);
  return tensor;
}

Expected<CaseFiles> readCase(const std::string &folder, const std::string &name) {
  CaseFiles files;
  files.name = name;
  files.program = folder + "/" + name + ".relay";
  files.expectFile = folder + "/" + name + ".expect.json";
  std::string text = BYCC_TRY(readFile(files.expectFile));
  files.expect = BYCC_TRY(parseJson(text, files.expectFile));
  if (!files.expect.find("expect") || !files.expect.find("pipeline"))
    return error(Status::Input) << files.expectFile << ": no 'expect' or 'pipeline'";
  return files;
}

std::vector<std::string> caseNames(const std::string &folder) {
  std::vector<std::string> names;
  const std::string suffix = ".expect.json";
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::string file = entry.path().filename().string();
    if (file.ends_with(suffix))
      names.push_back(file.substr(0, file.size() - suffix.size()));
  }
  std::ranges::sort(names);
  return names;
}

namespace {

std::string listed(const std::vector<std::string> &items) {
  std::string text = "[";
  for (const std::string &item : items)
    text += (text.size() > 1 ? ", " : "") + item;
  return text + "]";
}

std::vector<std::string> strings(const JsonValue *array) {
  std::vector<std::string> result;
  if (array)
    for (const JsonValue &item : array->items)
      result.push_back(item.string);
  return result;
}

int64_t integer(const JsonValue &object, std::string_view key) {
  const JsonValue *value = object.find(key);
  return value ? value->integer : -1;
}

std::string text(const JsonValue &object, std::string_view key) {
  const JsonValue *value = object.find(key);
  return value ? value->string : "";
}

// "va [abs, add] composites [] params 1 results 1 constants 0"
std::string descriptor(const JsonValue &function) {
  std::ostringstream out;
  out << text(function, "compiler") << " " << listed(strings(function.find("ops")))
      << " composites " << listed(strings(function.find("composites"))) << " params "
      << integer(function, "params") << " results " << integer(function, "results") << " constants "
      << integer(function, "constants");
  return out.str();
}

bool isExternal(const Module &module, FunctionId function) {
  return module.functionAttr(function, "Compiler") != nullptr;
}

// Operators of a block and those inside, with repeats.
void countOps(const Module &module, BlockId block, std::map<std::string, int> &count) {
  forEachNode(module, block, [&](NodeId node) {
    if (module.node(node).kind == NodeKind::CallOp)
      ++count[std::string(opInfo(module.node(node).op).name)];
  });
}

class Checker {
public:
  Checker(const CaseFiles &files, const JsonValue &dump, const Module &before, Module &after)
      : expect_(files.expectations()), dump_(dump), before_(before), after_(after) {}

  std::vector<std::string> run() {
    checkCounts();
    checkFunctions();
    checkHostOps();
    checkComposites();
    checkMain();
    checkProperties();
    return std::move(failures_);
  }

private:
  template <typename... Parts> void fail(const Parts &...parts) {
    std::ostringstream out;
    (out << ... << parts);
    failures_.push_back(out.str());
  }

  void checkRange(const std::string &what, int64_t count, const JsonValue &range) {
    if (count < integer(range, "min"))
      fail(what, ": ", count, ", at least ", integer(range, "min"), " expected");
    if (const JsonValue *max = range.find("max"); max && count > max->integer)
      fail(what, ": ", count, ", at most ", max->integer, " expected");
  }

  void checkCounts() {
    std::map<std::string, int64_t> count;
    for (const JsonValue &function : dump_.find("functions")->items)
      ++count[text(function, "compiler")];
    if (const JsonValue *external = expect_.find("external"))
      for (const auto &[vendor, range] : external->members)
        checkRange("functions of " + vendor, count[vendor], range);
    if (const JsonValue *total = expect_.find("total_external"))
      checkRange("functions", static_cast<int64_t>(dump_.find("functions")->items.size()), *total);
  }

  void checkFunctions() {
    const JsonValue *choices = expect_.find("functions_any_of");
    if (!choices)
      return;
    std::multiset<std::string> found;
    for (const JsonValue &function : dump_.find("functions")->items)
      found.insert(descriptor(function));
    for (const JsonValue &choice : choices->items) {
      std::multiset<std::string> wanted;
      for (const JsonValue &function : choice.items)
        wanted.insert(descriptor(function));
      if (wanted == found)
        return;
    }
    fail("functions are ", listed({found.begin(), found.end()}), ", which is none of the choices");
  }

  void checkHostOps() {
    const JsonValue *wanted = expect_.find("host_ops");
    if (!wanted)
      return;
    std::vector<std::string> found = strings(dump_.find("host_ops"));
    if (found != strings(wanted))
      fail("host_ops are ", listed(found), ", expected ", listed(strings(wanted)));
  }

  void checkComposites() {
    std::map<std::string, int64_t> found, wanted;
    for (const JsonValue &function : dump_.find("functions")->items)
      for (const std::string &name : strings(function.find("composites")))
        ++found[name];
    if (const JsonValue *composites = expect_.find("composites")) {
      for (const auto &[name, count] : composites->members)
        wanted[name] = count.integer;
      for (const auto &[name, count] : wanted)
        if (found[name] != count)
          fail("composite ", name, " is there ", found[name], " times, expected ", count);
    }
    for (const std::string &name : strings(expect_.find("composites_absent")))
      if (found.contains(name) && found[name] > 0)
        fail("composite ", name, " must not be there");
  }

  static std::string mainText(const JsonValue &main) {
    std::string result;
    for (const JsonValue &param : main.find("params")->items)
      result += param.items[0].string + ": " + param.items[1].string + "; ";
    return result + "-> " + text(main, "result");
  }

  void checkMain() {
    const JsonValue *wanted = expect_.find("main");
    if (wanted && mainText(*wanted) != mainText(*dump_.find("main")))
      fail("main is ", mainText(*dump_.find("main")), ", expected ", mainText(*wanted));
  }

  // --- properties, read off the program itself

  void checkProperties() {
    const std::map<std::string, void (Checker::*)()> checks{
        {"well_typed", &Checker::checkWellTyped},
        {"no_annotations", &Checker::checkNoAnnotations},
        {"acyclic", &Checker::checkAcyclic},
        {"unique_symbols", &Checker::checkUniqueSymbols},
        {"valid_symbols", &Checker::checkValidSymbols},
        {"no_unused_external", &Checker::checkNoUnused},
        {"no_duplicate_params", &Checker::checkNoDuplicateParams},
        {"flat_results", &Checker::checkFlatResults},
        {"no_recompute", &Checker::checkNoRecompute},
    };
    for (const std::string &property : strings(expect_.find("properties"))) {
      if (property == "same_results")
        continue;
      auto found = checks.find(property);
      if (found == checks.end())
        fail("unknown property ", property);
      else
        (this->*found->second)();
    }
  }

  void checkWellTyped() {
    if (Expected<> verified = verify(after_); !verified)
      fail("not well typed: ", verified.error().str());
  }

  void forExternal(const std::function<void(FunctionId)> &visit) {
    for (FunctionId function : after_.globals())
      if (isExternal(after_, function))
        visit(function);
  }
  void forHostNodes(const std::function<void(NodeId)> &visit) {
    for (FunctionId function : after_.globals())
      if (!isExternal(after_, function))
        forEachNode(after_, after_.function(function).body, visit);
  }
  // The external function that a node calls.
  FunctionId callee(NodeId node) const {
    if (after_.node(node).kind != NodeKind::Call)
      return {};
    NodeId target = after_.operands(node)[0];
    if (after_.node(target).kind != NodeKind::Global)
      return {};
    FunctionId function = after_.functionOf(target);
    return isExternal(after_, function) ? function : FunctionId();
  }

  void checkNoAnnotations() {
    forHostNodes([&](NodeId node) {
      const Node &n = after_.node(node);
      if (after_.annotation(node) ||
          (n.kind == NodeKind::CallOp && opInfo(n.op).name.starts_with("annotation.")))
        fail("an annotation is left");
    });
  }

  // Program order is an order of calls, so one call site cannot need itself; what
  // is left is a function called twice where the second call needs the first.
  void checkAcyclic() {
    std::map<FunctionId, int> calls;
    forHostNodes([&](NodeId node) {
      if (FunctionId function = callee(node))
        ++calls[function];
    });
    for (auto [function, count] : calls)
      if (count > 1)
        fail("external function ", symbol(function), " is called ", count, " times");
  }

  std::string symbol(FunctionId function) const {
    const AttrValue *value = after_.functionAttr(function, "global_symbol");
    return value && value->isString() ? value->asString() : "";
  }

  void checkUniqueSymbols() {
    std::set<std::string> seen;
    forExternal([&](FunctionId function) {
      if (!seen.insert(symbol(function)).second)
        fail("symbol ", symbol(function), " twice");
    });
  }

  void checkValidSymbols() {
    forExternal([&](FunctionId function) {
      std::string name = symbol(function);
      bool isValid = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
      for (char c : name)
        isValid &=
            c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
      if (!isValid)
        fail("symbol '", name, "' is no identifier");
    });
  }

  void checkNoUnused() {
    std::set<FunctionId> called;
    forHostNodes([&](NodeId node) {
      if (FunctionId function = callee(node))
        called.insert(function);
    });
    forExternal([&](FunctionId function) {
      if (!called.contains(function))
        fail(symbol(function), " is never called");
    });
  }

  void checkNoDuplicateParams() {
    forHostNodes([&](NodeId node) {
      FunctionId function = callee(node);
      if (!function)
        return;
      std::vector<TensorRef> tensors;
      for (NodeId argument : after_.operands(node).subspan(1))
        resolveTensors(after_, argument, tensors);
      if (std::set<TensorRef>(tensors.begin(), tensors.end()).size() != tensors.size())
        fail(symbol(function), " gets a value twice");
    });
  }

  void checkFlatResults() {
    forExternal([&](FunctionId function) {
      NodeId result = after_.block(after_.function(function).body).result;
      if (after_.types.isTuple(after_.type(result)))
        for (TypeId field : after_.types.fields(after_.type(result)))
          if (!after_.types.isTensor(field))
            fail(symbol(function), " returns a tuple in a tuple");
      std::vector<TensorRef> tensors;
      resolveTensors(after_, result, tensors);
      if (std::set<TensorRef>(tensors.begin(), tensors.end()).size() != tensors.size())
        fail(symbol(function), " returns a value twice");
    });
  }

  void checkNoRecompute() {
    std::map<std::string, int> was, is;
    for (FunctionId function : before_.globals())
      countOps(before_, before_.function(function).body, was);
    for (FunctionId function : after_.globals())
      countOps(after_, after_.function(function).body, is);
    for (const auto &[op, count] : is)
      if (count > was[op])
        fail(op, " is computed ", count, " times, in the source ", was[op]);
  }

  const JsonValue &expect_, &dump_;
  const Module &before_;
  Module &after_;
  std::vector<std::string> failures_;
};

} // namespace

std::vector<std::string> checkCase(const CaseFiles &files, const JsonValue &dump,
                                   const Module &before, Module &after) {
  return Checker(files, dump, before, after).run();
}

} // namespace bycc::cases
