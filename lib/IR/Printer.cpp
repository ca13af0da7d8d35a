// Relay text. Nodes of a block print one per line in their order, so that a chain
// of any length is a loop; only blocks recurse, which nest at most 64 deep.
//
// What a node prints as where it is used:
//   parameters, lets            %name, made unique in the function
//   scalars, small tensors      their value; larger ones meta[relay.Constant][i]
//   projections of a name       %3.1
//   tuples of names, used once  (%1, %2)
//   everything else             %n, defined on a line of its own
#include "bycc/IR/Printer.h"

#include "bycc/Support/Base64.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_set>

namespace bycc {

namespace {

bool isPlainName(std::string_view name) {
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !isLetter(name[0]))
    return false;
  return std::ranges::all_of(name, [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); });
}

std::string quoted(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (byte < 0x20 || byte == 0x7f)
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    else
      out += c;
  }
  return out + "\"";
}

// As a name behind % or @.
std::string spelled(std::string_view name) {
  return isPlainName(name) ? std::string(name) : quoted(name);
}

std::string_view suffixOf(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return "";
  case DType::Int8:
    return "i8";
  case DType::Int16:
    return "i16";
  case DType::Int32:
    return "";
  case DType::Int64:
    return "i64";
  case DType::UInt8:
    return "u8";
  case DType::UInt16:
    return "u16";
  case DType::UInt32:
    return "u32";
  case DType::UInt64:
    return "u64";
  case DType::Float16:
    return "f16";
  case DType::BFloat16:
    return "bf16";
  case DType::Float32:
    return "f";
  case DType::Float64:
    return "f64";
  }
  return "";
}

template <typename T> T load(const uint8_t *data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

// 2 for 2.0: a suffix or the type says that it is a float.
std::string shortened(std::string text) {
  if (text.ends_with(".0"))
    text.resize(text.size() - 2);
  return text;
}

// Element as text without a suffix; empty when no text gives the same bits (a NaN
// with a payload, a bool that is neither 0 nor 1).
std::string element(DType dtype, const uint8_t *data) {
  switch (dtype) {
  case DType::Bool:
    return *data > 1 ? "" : *data ? "True" : "False";
  case DType::Int8:
    return std::to_string(load<int8_t>(data));
  case DType::Int16:
    return std::to_string(load<int16_t>(data));
  case DType::Int32:
    return std::to_string(load<int32_t>(data));
  case DType::Int64:
    return std::to_string(load<int64_t>(data));
  case DType::UInt8:
    return std::to_string(*data);
  case DType::UInt16:
    return std::to_string(load<uint16_t>(data));
  case DType::UInt32:
    return std::to_string(load<uint32_t>(data));
  case DType::UInt64:
    return std::to_string(load<uint64_t>(data));
  case DType::Float16: {
    uint16_t bits = load<uint16_t>(data);
    float value = halfToFloat(bits);
    return std::isnan(value) && (bits & 0x7fff) != 0x7e00 ? "" : shortened(formatFloat(value));
  }
  case DType::BFloat16: {
    uint16_t bits = load<uint16_t>(data);
    float value = bfloat16ToFloat(bits);
    return std::isnan(value) && (bits & 0x7fff) != 0x7fc0 ? "" : shortened(formatFloat(value));
  }
  case DType::Float32: {
    float value = load<float>(data);
    bool isOdd = std::isnan(value) && (load<uint32_t>(data) & 0x7fffffff) != 0x7fc00000;
    return isOdd ? "" : shortened(formatFloat(value));
  }
  case DType::Float64: {
    double value = load<double>(data);
    bool isOdd =
        std::isnan(value) && (load<uint64_t>(data) & 0x7fffffffffffffff) != 0x7ff8000000000000;
    return isOdd ? "" : shortened(formatDouble(value));
  }
  }
  return "";
}

class Printer {
public:
  Printer(const Module &module, const PrintOptions &options)
      : module_(module), options_(options), types_(module.types.size()),
        names_(module.numNodes(), unnamed), constants_(module.constants.size()) {
    out_.reserve(64 + 48 * static_cast<size_t>(module.numNodes()));
  }

  std::string printModule() {
    out_.reserve(size_t{32} * module_.numNodes());
    out_ += "#[version = \"0.0.5\"]\n";
    std::vector<std::pair<std::string_view, FunctionId>> order;
    order.reserve(module_.globals().size());
    for (FunctionId f : module_.globals())
      order.emplace_back(module_.string(module_.function(f).name), f);
    std::ranges::sort(order);
    for (auto [name, f] : order)
      printGlobal(f);
    printMetadata();
    return std::move(out_);
  }

  std::string printOne(FunctionId f) {
    if (module_.function(f).name != StringId(0)) {
      printGlobal(f);
    } else {
      countUses(f);
      out_ += "fn ";
      printFunction(f, 0);
      out_ += "\n";
    }
    printMetadata();
    return std::move(out_);
  }

private:
  static constexpr uint32_t unnamed = UINT32_MAX;
  static constexpr uint32_t inlined = UINT32_MAX - 1;
  static constexpr uint32_t textBit = uint32_t{1} << 31; // names_ entry is an index into texts_

  // --- names

  // Uses of tuples, which print in place when there is one.
  void countUses(FunctionId f) {
    if (uses_.empty())
      uses_.resize(module_.numNodes());
    countBlock(module_.function(f).body);
  }
  void countBlock(BlockId id) {
    const Block &block = module_.block(id);
    auto use = [&](NodeId node) {
      if (node && uses_[node.index] < 2)
        ++uses_[node.index];
    };
    for (NodeId node : block.nodes) {
      for (NodeId operand : module_.operands(node))
        use(operand);
      if (module_.node(node).kind == NodeKind::If) {
        countBlock(module_.thenBlock(node));
        countBlock(module_.elseBlock(node));
      } else if (module_.node(node).kind == NodeKind::Function) {
        countBlock(module_.function(module_.functionOf(node)).body);
      }
    }
    use(block.result);
  }

  void nameByText(NodeId node, std::string_view hint, std::string_view fallback) {
    std::string base(hint.empty() ? fallback : hint);
    if (base[0] == '%') // a graph number of the source
      base = "v" + base.substr(1);
    std::string name = base;
    for (auto &next = nextSuffix_[base]; !taken_.insert(name).second;)
      name = base + "_" + std::to_string(++next);
    names_[node.index] = textBit | static_cast<uint32_t>(texts_.size());
    texts_.push_back(spelled(name));
  }

  bool isNamed(NodeId node) const { return names_[node.index] < inlined; }

  // Prints where it is used instead of on a line of its own.
  bool isInline(NodeId id) const {
    const Node &node = module_.node(id);
    if (node.isLet)
      return false;
    auto isShort = [&](NodeId field) {
      return isNamed(field) || module_.isLeaf(field) ||
             (module_.node(field).kind == NodeKind::Project && isInline(field));
    };
    if (node.kind == NodeKind::Project)
      return isNamed(module_.operands(id)[0]);
    if (node.kind != NodeKind::Tuple || uses_[id.index] != 1)
      return false;
    return std::ranges::all_of(module_.operands(id), isShort);
  }

  // --- pieces

  void number(uint64_t value) {
    char buffer[24];
    out_.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  }

  const std::string &typeText(TypeId type) {
    std::string &text = types_[type.index];
    if (text.empty())
      text = module_.types.str(type);
    return text;
  }

  std::string attrsText(AttrsId id) const {
    std::string text;
    for (const Attr &attr : module_.attributes.dict(id))
      text += ", " + attr.key + "=" + attr.value.str();
    return text;
  }

  // Of a call: in the order of the operator table.
  const std::string &callAttrsText(OpId op, AttrsId id) {
    auto [it, isNew] = attrs_.try_emplace(uint64_t{op.index} << 32 | id.index);
    if (isNew && id != AttrTable::empty())
      for (const AttrSpec &spec : opInfo(op).attrs)
        if (const AttrValue *value = module_.attributes.find(id, spec.name))
          it->second += ", " + spec.name + "=" + value->str();
    return it->second;
  }

  void printConstant(ConstantId id) {
    if (constants_[id.index].empty())
      constants_[id.index] = constantText(id);
    out_ += constants_[id.index];
  }

  std::string constantText(ConstantId id) {
    const Constant &constant = module_.constants[id.index];
    DType dtype = module_.types.dtype(constant.type);
    int64_t count = *module_.types.numElements(constant.type);
    bool isNamed = keepsName(constant);
    bool isScalar = !isNamed && module_.types.shape(constant.type).empty() &&
                    typeText(constant.type) == name(dtype);
    if (isScalar)
      if (std::string text = element(dtype, constant.data()); !text.empty())
        return text + std::string(suffixOf(dtype));
    if (count <= options_.maxInlineElements && count > 0 && !isScalar && !isNamed &&
        !isElided(id)) {
      std::string text = typeText(constant.type) + "[";
      size_t width = static_cast<size_t>(sizeInBytes(dtype));
      bool isOk = true;
      for (int64_t i = 0; i < count; ++i) {
        std::string value = element(dtype, constant.data() + static_cast<size_t>(i) * width);
        isOk &= !value.empty();
        text += (i ? ", " : "") + value;
      }
      if (isOk)
        return text + "]";
    }
    std::string text = "meta[relay.Constant][" + std::to_string(metadata_.size()) + "]";
    metadata_.push_back(id);
    if (isElided(id))
      text += " /* " + typeText(constant.type) + ", data elided */";
    return text;
  }

  bool keepsName(const Constant &constant) const {
    return (options_.keepNames || options_.origins) && !constant.name.empty();
  }

  bool isElided(ConstantId id) const {
    return options_.elideAbove >= 0 &&
           *module_.types.numElements(module_.constants[id.index].type) > options_.elideAbove;
  }

  // At most two levels: a tuple's fields and a projection's operand are short.
  void printUse(NodeId id) {
    const Node &node = module_.node(id);
    uint32_t name = names_[id.index];
    if (name < inlined) {
      out_ += '%';
      if (name & textBit)
        out_ += texts_[name & ~textBit];
      else
        number(name);
      return;
    }
    switch (node.kind) {
    case NodeKind::Constant:
      return printConstant(ConstantId(node.payload));
    case NodeKind::Global:
      out_ += '@';
      out_ += spelled(module_.string(module_.function(FunctionId(node.payload)).name));
      return;
    case NodeKind::Project:
      printUse(module_.operands(id)[0]);
      out_ += '.';
      return number(node.payload);
    case NodeKind::Tuple:
      return printTuple(id);
    default:
      out_ += "%\"unbound\""; // only in a module that is not well-formed
    }
  }

  void printTuple(NodeId id) {
    auto fields = module_.operands(id);
    out_ += '(';
    for (size_t i = 0; i < fields.size(); ++i) {
      if (i)
        out_ += ", ";
      printUse(fields[i]);
    }
    out_ += fields.size() == 1 ? ",)" : ")";
  }

  void printArguments(NodeId id, size_t first) {
    auto operands = module_.operands(id);
    const Node &node = module_.node(id);
    out_ += '(';
    bool isEmpty = true;
    for (size_t i = first; i < operands.size(); ++i) {
      if (!isEmpty)
        out_ += ", ";
      isEmpty = false;
      printUse(operands[i]);
    }
    size_t attrsAt = out_.size();
    if (node.kind == NodeKind::CallOp)
      out_ += callAttrsText(node.op, node.attrs);
    if (const Annotation *annotation = module_.annotation(id))
      printAnnotation(*annotation);
    if (StringId vendor = module_.askedVendor(id); vendor != StringId(0))
      out_ += ", annotation.asked=" + quoted(module_.string(vendor));
    if (options_.origins) {
      out_ += ", annotation.origin=";
      number(id.index);
    }
    if (isEmpty && out_.size() > attrsAt)
      out_.erase(attrsAt, 2); // ", " before the first attribute
    out_ += ')';
  }

  void printAnnotation(const Annotation &annotation) {
    if (annotation.region >= 0)
      out_ += ", annotation.region=" + std::to_string(annotation.region);
    if (annotation.vendors.empty())
      return;
    out_ += ", annotation.vendors=[";
    for (size_t i = 0; i < annotation.vendors.size(); ++i)
      out_ += (i ? ", " : "") + quoted(module_.string(annotation.vendors[i]));
    out_ += ']';
  }

  void printValue(NodeId id, int depth) {
    const Node &node = module_.node(id);
    switch (node.kind) {
    case NodeKind::CallOp:
      out_ += opInfo(node.op).name;
      return printArguments(id, 0);
    case NodeKind::Call:
      printUse(module_.operands(id)[0]);
      return printArguments(id, 1);
    case NodeKind::Tuple:
      return printTuple(id);
    case NodeKind::Project:
      printUse(module_.operands(id)[0]);
      out_ += '.';
      return number(node.payload);
    case NodeKind::If:
      out_ += "if (";
      printUse(module_.operands(id)[0]);
      out_ += ") ";
      printBlock(module_.thenBlock(id), depth);
      out_ += " else ";
      return printBlock(module_.elseBlock(id), depth);
    case NodeKind::Function:
      out_ += "fn ";
      return printFunction(FunctionId(node.payload), depth);
    default:
      return printUse(id);
    }
  }

  void printComment(NodeId id) {
    const Node &node = module_.node(id);
    if (options_.showTypes)
      out_ += " /* ty=" + typeText(node.type) + " */";
    if (options_.showSources)
      if (std::string place = module_.source(node.source).str(); !place.empty())
        out_ += " /* span=" + safeComment(place) + " */";
  }

  static std::string safeComment(std::string text) {
    for (std::string_view mark : {"*/", "/*"})
      for (size_t at; (at = text.find(mark)) != std::string::npos;)
        text[at] = text[at + 1] = '|';
    return text;
  }

  void indent(int depth) { out_.append(2 * static_cast<size_t>(depth), ' '); }

  void printBlock(BlockId id, int depth) {
    const Block &block = module_.block(id);
    out_ += "{\n";
    for (NodeId node : block.nodes)
      printLine(node, depth + 1);
    indent(depth + 1);
    if (block.result)
      printUse(block.result);
    out_ += '\n';
    indent(depth);
    out_ += '}';
  }

  void printLine(NodeId id, int depth) {
    const Node &node = module_.node(id);
    if (isInline(id)) {
      names_[id.index] = inlined;
      return;
    }
    indent(depth);
    uint32_t own = unnamed;
    if (node.isLet) {
      bool isUsed = uses_[id.index] > 0;
      if (isUsed || node.name != StringId(0) || node.kind == NodeKind::Function) {
        nameByText(id, module_.string(node.name), "v");
        out_ += "let %" + texts_.back() + " = ";
      }
    } else {
      own = nextNumber_++;
      out_ += '%';
      number(own);
      out_ += " = ";
    }
    printValue(id, depth);
    if (own != unnamed)
      names_[id.index] = own;
    if (own != unnamed && options_.keepNames)
      keepName(id, own);
    out_ += ';';
    printComment(id);
    out_ += '\n';
  }

  void keepName(NodeId id, uint32_t number) {
    NodeKind kind = module_.node(id).kind;
    if (kind != NodeKind::CallOp && kind != NodeKind::Call)
      return;
    std::string name = describe(module_, id);
    if (name == "%" + std::to_string(number))
      return;
    keptNames_.resize(number);
    keptNames_.push_back(std::move(name));
  }

  // (params, attrs) -> T { .. }
  void printFunction(FunctionId id, int depth) {
    const Function &f = module_.function(id);
    out_ += '(';
    bool isFirst = true;
    for (NodeId param : f.params) {
      nameByText(param, module_.string(module_.node(param).name), "p");
      out_ += (isFirst ? "%" : ", %") + texts_.back() + ": " + typeText(module_.type(param));
      isFirst = false;
    }
    std::string attrs = attrsText(f.attrs);
    out_ += isFirst && !attrs.empty() ? attrs.substr(2) : attrs;
    out_ += ')';
    NodeId result = module_.block(f.body).result;
    TypeId type = f.resultType ? f.resultType : result ? module_.type(result) : TypeId(0);
    if (module_.types.kind(type) != TypeKind::Incomplete)
      out_ += " -> " + typeText(type);
    out_ += ' ';
    printBlock(f.body, depth);
  }

  void printGlobal(FunctionId f) {
    countUses(f);
    nextNumber_ = 0;
    taken_.clear(); // names are local to the function: those of @main are its interface
    nextSuffix_.clear();
    out_ += "def @" + spelled(module_.string(module_.function(f).name));
    printFunction(f, 0);
    out_ += '\n';
    if (!keptNames_.empty())
      keptNamesOf_.emplace_back(f, std::move(keptNames_));
    keptNames_.clear();
  }

  void printMetadata() {
    if (metadata_.empty() && keptNamesOf_.empty())
      return;
    out_ += "#[metadata]\n{\n";
    if (!keptNamesOf_.empty())
      printKeptNames();
    out_ += "  \"relay.Constant\": [";
    for (size_t i = 0; i < metadata_.size(); ++i) {
      const Constant &constant = module_.constants[metadata_[i].index];
      out_ += i ? ",\n    {" : "\n    {";
      out_ += "\"dtype\": \"" + std::string(name(module_.types.dtype(constant.type))) +
              "\", \"shape\": [";
      bool isFirst = true;
      for (Dim dim : module_.types.shape(constant.type)) {
        out_ += (isFirst ? "" : ", ") + std::to_string(dim.value());
        isFirst = false;
      }
      out_ += "], ";
      if (keepsName(constant))
        out_ += "\"name\": " + jsonText(constant.name) + ", ";
      if (options_.givenConstants) {
        out_ += "\"given\": " + std::to_string(metadata_[i].index) + '}';
        continue;
      }
      out_ += "\"data\": \"";
      if (!isElided(metadata_[i]))
        out_ += encodeBase64(constant.data(), constant.bytes);
      out_ += "\"}";
    }
    out_ += "\n  ]\n}\n";
  }

  // By function a list: the name of %n at n, "" where %n is the name.
  void printKeptNames() {
    out_ += "  \"bycc.names\": {";
    for (const auto &[function, names] : keptNamesOf_) {
      out_ += (function == keptNamesOf_[0].first ? "\n    " : ",\n    ") +
              jsonText(module_.string(module_.function(function).name)) + ": [";
      for (size_t i = 0; i < names.size(); ++i)
        out_ += (i ? ", " : "") + jsonText(names[i]);
      out_ += ']';
    }
    out_ += "\n  },\n";
  }

  static std::string jsonText(std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out = "\"";
    for (char c : text) {
      auto byte = static_cast<uint8_t>(c);
      if (c == '"' || c == '\\')
        out += {'\\', c};
      else if (byte < 0x20)
        out += std::string("\\u00") + digits[byte >> 4] + digits[byte & 15];
      else
        out += c;
    }
    return out + "\"";
  }

  const Module &module_;
  const PrintOptions &options_;
  std::string out_;
  std::vector<std::string> keptNames_; // of the function at hand, by number
  std::vector<std::pair<FunctionId, std::vector<std::string>>> keptNamesOf_;
  std::vector<std::string> types_;                  // by TypeId
  std::unordered_map<uint64_t, std::string> attrs_; // of calls, by OpId and AttrsId
  std::vector<uint32_t> names_;                     // by NodeId
  std::vector<std::string> texts_;
  std::vector<uint8_t> uses_; // by NodeId, at most 2
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, uint64_t> nextSuffix_;
  std::vector<std::string> constants_; // text by ConstantId
  std::vector<ConstantId> metadata_;
  uint32_t nextNumber_ = 0;
};

} // namespace

std::string printModule(const Module &module, const PrintOptions &options) {
  return Printer(module, options).printModule();
}

std::string printFunction(const Module &module, FunctionId function, const PrintOptions &options) {
  return Printer(module, options).printOne(function);
}

std::string describe(const Module &module, NodeId id) {
  const Node &node = module.node(id);
  if (SourceLocation source = module.source(node.source); !source.node.empty())
    return source.node;
  if (std::string_view hint = module.string(node.name); !hint.empty())
    return hint[0] == '%' ? std::string(hint) : "%" + std::string(hint);
  switch (node.kind) {
  case NodeKind::CallOp:
    return std::string(opInfo(node.op).name);
  case NodeKind::Call:
    return "call";
  case NodeKind::Global:
    return "@" + std::string(module.string(module.function(FunctionId(node.payload)).name));
  case NodeKind::Constant:
    return "constant";
  case NodeKind::Function:
    return "fn";
  case NodeKind::Tuple:
    return "tuple";
  case NodeKind::Project:
    return "projection";
  case NodeKind::If:
    return "if";
  case NodeKind::Param:
    return "parameter";
  }
  return "node";
}

} // namespace bycc
