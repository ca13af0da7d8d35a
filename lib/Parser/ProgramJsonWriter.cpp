// Module -> JSON. Ids number parameters and nodes in the order they are written;
// blocks and functions are lists of their own, inner ones behind outer ones.
#include "bycc/Parser/ProgramJson.h"

#include "bycc/Support/Base64.h"
#include "bycc/Support/Json.h"

#include <cmath>

namespace bycc {

void writeJson(JsonWriter &json, const AttrValue &value) {
  if (value.isNone())
    json.null();
  else if (value.isBool())
    json.value(value.asBool());
  else if (value.isInt())
    json.value(value.asInt());
  else if (value.isString())
    json.value(value.asString());
  else if (value.isFloat() && std::isfinite(value.asFloat()))
    json.value(value.asFloat());
  else if (value.isFloat())
    json.beginObject().key("float").value(value.asFloat()).endObject();
  else {
    json.beginArray();
    for (const AttrValue &item : value.asList())
      writeJson(json, item);
    json.endArray();
  }
}

namespace {

class Writer {
public:
  Writer(const Module &module, const ProgramJsonOptions &options)
      : module_(module), options_(options), ids_(module.numNodes(), UINT32_MAX),
        constants_(module.constants.size(), UINT32_MAX) {}

  std::string write() {
    // Functions first, in the order of globals; writing bodies appends local ones.
    for (FunctionId f : module_.globals())
      functions_.push_back(f);
    json_.beginObject().key("bycc_program").value(1);
    writeFunctionsAndBlocks();
    json_.key("constants").beginArray();
    for (ConstantId id : usedConstants_)
      writeConstant(id);
    json_.endArray().endObject();
    return json_.take();
  }

private:
  void writeFunctionsAndBlocks() {
    // Local functions and blocks are found by a walk, so that indices are known.
    for (size_t i = 0; i < functions_.size(); ++i) {
      const Function &f = module_.function(functions_[i]);
      for (NodeId param : f.params)
        ids_[param.index] = nextId_++;
      if (f.name != StringId(0))
        collect(f.body);
    }
    json_.key("functions").beginArray();
    for (FunctionId f : functions_)
      writeFunction(f);
    json_.endArray().key("blocks").beginArray();
    for (BlockId b : blocks_)
      writeBlock(b);
    json_.endArray();
  }

  void collect(BlockId id) {
    blockIndex_[id.index] = static_cast<uint32_t>(blocks_.size());
    blocks_.push_back(id);
    for (NodeId node : module_.block(id).nodes) {
      ids_[node.index] = nextId_++;
      if (module_.node(node).kind == NodeKind::If) {
        collect(module_.thenBlock(node));
        collect(module_.elseBlock(node));
      } else if (module_.node(node).kind == NodeKind::Function) {
        FunctionId f = module_.functionOf(node);
        functionIndex_[f.index] = static_cast<uint32_t>(functions_.size());
        functions_.push_back(f);
        collect(module_.function(f).body);
      }
    }
  }

  void writeAttrs(AttrsId id) {
    if (id == AttrTable::empty())
      return;
    json_.key("attrs").beginObject();
    for (const Attr &attr : module_.attributes.dict(id)) {
      json_.key(attr.key);
      writeJson(json_, attr.value);
    }
    json_.endObject();
  }

  void writeFunction(FunctionId id) {
    const Function &f = module_.function(id);
    json_.beginObject();
    if (f.name != StringId(0))
      json_.key("name").value(module_.string(f.name));
    json_.key("params").beginArray();
    for (NodeId param : f.params)
      json_.beginObject()
          .key("id")
          .value(ids_[param.index])
          .key("name")
          .value(module_.string(module_.node(param).name))
          .key("type")
          .value(module_.types.str(module_.type(param)))
          .endObject();
    json_.endArray();
    NodeId result = module_.block(f.body).result;
    json_.key("result_type")
        .value(module_.types.str(f.resultType ? f.resultType : module_.type(result)));
    writeAttrs(f.attrs);
    json_.key("body").value(blockIndex_[f.body.index]).endObject();
  }

  void writeUse(NodeId id) {
    const Node &node = module_.node(id);
    if (node.kind == NodeKind::Global) {
      json_.value("@" +
                  std::string(module_.string(module_.function(FunctionId(node.payload)).name)));
    } else if (node.kind == NodeKind::Constant) {
      uint32_t &index = constants_[node.payload];
      if (index == UINT32_MAX) {
        index = static_cast<uint32_t>(usedConstants_.size());
        usedConstants_.push_back(ConstantId(node.payload));
      }
      json_.value("#" + std::to_string(index));
    } else {
      json_.value(ids_[id.index]);
    }
  }

  void writeBlock(BlockId id) {
    json_.beginObject().key("nodes").beginArray();
    for (NodeId node : module_.block(id).nodes)
      writeNode(node);
    json_.endArray().key("result");
    writeUse(module_.block(id).result);
    json_.endObject();
  }

  void writeKind(NodeId id) {
    const Node &node = module_.node(id);
    auto operands = module_.operands(id);
    switch (node.kind) {
    case NodeKind::CallOp:
      json_.key("op").value(opInfo(node.op).name);
      break;
    case NodeKind::Call:
      json_.key("call");
      writeUse(operands[0]);
      operands = operands.subspan(1);
      break;
    case NodeKind::Tuple:
      json_.key("tuple").value(true);
      break;
    case NodeKind::Project:
      json_.key("project").value(node.payload);
      break;
    case NodeKind::If:
      json_.key("then")
          .value(blockIndex_[module_.thenBlock(id).index])
          .key("else")
          .value(blockIndex_[module_.elseBlock(id).index]);
      break;
    case NodeKind::Function:
      json_.key("function").value(functionIndex_[node.payload]);
      return;
    default:
      break;
    }
    json_.key("args").beginArray();
    for (NodeId operand : operands)
      writeUse(operand);
    json_.endArray();
  }

  void writeNode(NodeId id) {
    const Node &node = module_.node(id);
    json_.beginObject().key("id").value(ids_[id.index]);
    writeKind(id);
    if (node.kind == NodeKind::CallOp)
      writeAttrs(node.attrs);
    if (node.isLet)
      json_.key("let").value(true);
    if (std::string_view name = module_.string(node.name); !name.empty())
      json_.key("name").value(name);
    if (const Annotation *annotation = module_.annotation(id)) {
      json_.key("annotation").beginObject().key("region").value(int64_t{annotation->region});
      json_.key("vendors").beginArray();
      for (StringId vendor : annotation->vendors)
        json_.value(module_.string(vendor));
      json_.endArray().endObject();
    }
    if (StringId vendor = module_.askedVendor(id);
        vendor != StringId(0) && (node.kind == NodeKind::CallOp || node.kind == NodeKind::Call))
      json_.key("asked").value(module_.string(vendor));
    if (options_.origins) {
      json_.key("origin").value(id.index).key("type").value(module_.types.str(node.type));
      if (std::string source = module_.source(id).str(); !source.empty())
        json_.key("source").value(source);
    }
    json_.endObject();
  }

  void writeConstant(ConstantId id) {
    const Constant &constant = module_.constants[id.index];
    json_.beginObject().key("dtype").value(name(module_.types.dtype(constant.type)));
    json_.key("shape").beginArray();
    for (Dim dim : module_.types.shape(constant.type))
      json_.value(dim.value());
    json_.endArray();
    if (options_.givenConstants)
      json_.key("given").value(id.index);
    else
      json_.key("data").value(encodeBase64(constant.data(), constant.bytes));
    if (!constant.name.empty())
      json_.key("name").value(constant.name);
    json_.endObject();
  }

  const Module &module_;
  const ProgramJsonOptions &options_;
  JsonWriter json_;
  std::vector<uint32_t> ids_, constants_;
  std::vector<FunctionId> functions_;
  std::vector<BlockId> blocks_;
  std::unordered_map<uint32_t, uint32_t> blockIndex_, functionIndex_;
  std::vector<ConstantId> usedConstants_;
  uint32_t nextId_ = 0;
};

} // namespace

std::string printProgramJson(const Module &module, const ProgramJsonOptions &options) {
  return Writer(module, options).write();
}

} // namespace bycc
