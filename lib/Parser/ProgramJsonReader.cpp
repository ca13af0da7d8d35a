// JSON -> Module. Global functions are declared first, bodies follow; every block
// and every local function belongs to exactly one owner, so that what is read is a
// tree of blocks. An id is visible from its node on to the end of its block.
#include "RefusedOperators.h"
#include "RelayParser.h"

#include "bycc/IR/Functions.h"
#include "bycc/Parser/ProgramJson.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {

namespace {

class Reader {
public:
  Reader(const JsonValue &root, const std::string &file, const ParseOptions &options)
      : root_(root), file_(file), options_(options), builder_(module_, BlockId()) {
    if (options.base)
      module_ = std::move(*options.base);
    numGiven_ = module_.constants.size();
  }

  Expected<Module> read() {
    // First, since another version may have other members.
    if (const JsonValue *version = root_.find("bycc_program");
        version && version->kind == JsonValue::Kind::Int && version->integer != 1)
      return error(Status::Unsup, place(*version))
             << "program version " << version->integer << " is not supported, this reader knows 1";
    BYCC_TRY(checkKeys(root_, {"bycc_program", "functions", "blocks", "constants"}));
    BYCC_TRY(member(root_, "bycc_program", JsonValue::Kind::Int));
    functions_ = &BYCC_TRY(member(root_, "functions", JsonValue::Kind::Array)).get();
    blocks_ = &BYCC_TRY(member(root_, "blocks", JsonValue::Kind::Array)).get();
    if (const JsonValue *constants = root_.find("constants"))
      BYCC_TRY(readConstants(*constants));
    usedBlocks_.resize(blocks_->items.size());
    usedFunctions_.resize(functions_->items.size());
    std::vector<std::pair<const JsonValue *, FunctionId>> globals;
    for (size_t i = 0; i < functions_->items.size(); ++i)
      if (const JsonValue &value = functions_->items[i]; value.find("name")) {
        FunctionId f = BYCC_TRY(readGlobal(value));
        usedFunctions_[i] = true;
        globals.emplace_back(&value, f);
      }
    if (globals.empty())
      return fail(root_).as(MessageId::NoMain) << "the program has no named function";
    for (auto [value, f] : globals)
      BYCC_TRY(readBody(*value, f));
    return std::move(module_);
  }

private:
  using Ref = std::reference_wrapper<const JsonValue>;

  SourceLocation place(const JsonValue &value) const { return location(value, file_); }
  ErrorBuilder fail(const JsonValue &value) const {
    return error(Status::Input, place(value)).as(MessageId::JsonForm);
  }

  Expected<> checkKeys(const JsonValue &value, std::initializer_list<const char *> known) const {
    if (!value.isObject())
      return fail(value) << "an object is needed";
    for (const auto &[key, each] : value.members)
      if (std::ranges::find(known, std::string_view(key)) == known.end()) {
        std::vector<std::string> names(known.begin(), known.end());
        auto near = nearest(key, names);
        return fail(each) << "unknown member '" << key << "'"
                          << (near ? "; did you mean '" + *near + "'?" : "");
      }
    return {};
  }

  Expected<Ref> member(const JsonValue &value, std::string_view key, JsonValue::Kind kind) const {
    const JsonValue *found = value.find(key);
    if (!found)
      return fail(value) << "member '" << key << "' is missing";
    if (found->kind != kind)
      return fail(*found) << "member '" << key << "' has the wrong kind";
    return Ref(*found);
  }

  Expected<TypeId> readType(const JsonValue &value) {
    if (auto it = types_.find(value.string); it != types_.end())
      return it->second;
    TypeId type = BYCC_TRY(RelayParser::parseTypeIn(module_, value.string, place(value)));
    types_.emplace(value.string, type);
    return type;
  }

  Expected<> readConstants(const JsonValue &list) {
    if (!list.isArray())
      return fail(list) << "member 'constants' has the wrong kind";
    for (const JsonValue &value : list.items) {
      if (auto given = BYCC_TRY(readGiven(module_, value, file_, numGiven_))) {
        constants_.push_back(module_.addConstantNode(*given, source(value)));
        continue;
      }
      Constant constant = BYCC_TRY(readTensor(module_, value, file_, options_));
      constants_.push_back(module_.addConstant(std::move(constant), source(value)));
    }
    for (const Constant &constant : options_.extraConstants)
      constants_.push_back(module_.addConstant(constant));
    return {};
  }

  SourceId source(const JsonValue &value) { return module_.addSource(place(value)); }

  Expected<AttrValue> readAttr(const JsonValue &value) const {
    switch (value.kind) {
    case JsonValue::Kind::Null:
      return AttrValue();
    case JsonValue::Kind::Bool:
      return AttrValue(value.boolean);
    case JsonValue::Kind::Int:
      return AttrValue(value.integer);
    case JsonValue::Kind::Float:
      return AttrValue(value.number);
    case JsonValue::Kind::String:
      return AttrValue(value.string);
    case JsonValue::Kind::Array: {
      AttrValue::List items;
      for (const JsonValue &item : value.items)
        items.push_back(BYCC_TRY(readAttr(item)));
      return AttrValue(std::move(items));
    }
    case JsonValue::Kind::Object:
      if (const JsonValue *text = value.find("float"); text && text->isString())
        if (auto number = parseDouble(text->string))
          return AttrValue(*number);
      break;
    case JsonValue::Kind::UInt:
      break;
    }
    return fail(value) << "an attribute is null, a bool, an int64, a float, a string or a list";
  }

  Expected<AttrDict> readAttrs(const JsonValue &owner) const {
    AttrDict attrs;
    const JsonValue *value = owner.find("attrs");
    if (!value)
      return attrs;
    if (!value->isObject())
      return fail(*value) << "member 'attrs' has the wrong kind";
    for (const auto &[key, each] : value->members)
      attrs.push_back({key, BYCC_TRY(readAttr(each))});
    return attrs;
  }

  // --- functions

  Expected<> readSignature(const JsonValue &value, FunctionId f) {
    BYCC_TRY(checkKeys(value, {"name", "params", "result_type", "attrs", "body"}));
    module_.function(f).source = source(value);
    for (const JsonValue &param :
         BYCC_TRY(member(value, "params", JsonValue::Kind::Array)).get().items) {
      BYCC_TRY(checkKeys(param, {"id", "name", "type"}));
      const JsonValue &text = BYCC_TRY(member(param, "type", JsonValue::Kind::String)).get();
      TypeId type = BYCC_TRY(readType(text));
      if (module_.types.kind(type) == TypeKind::Incomplete)
        return fail(text) << "a parameter needs a complete type";
      const JsonValue &name = BYCC_TRY(member(param, "name", JsonValue::Kind::String)).get();
      BYCC_TRY(checkLength(name));
      NodeId node = module_.addParam(name.string, type, source(param));
      for (NodeId other : module_.function(f).params)
        if (!name.string.empty() && module_.node(other).name == module_.node(node).name)
          return fail(name) << "parameter '" << escaped(name.string) << "' is defined twice";
      module_.function(f).params.push_back(node);
    }
    const JsonValue &result = BYCC_TRY(member(value, "result_type", JsonValue::Kind::String)).get();
    module_.function(f).resultType = BYCC_TRY(readType(result));
    AttrDict attrs = BYCC_TRY(readAttrs(value));
    module_.function(f).attrs = module_.attributes.intern(std::move(attrs));
    setNonEmptySymbols(module_, f);
    return {};
  }

  Expected<> checkLength(const JsonValue &name) const {
    if (name.string.size() > maxNameBytes)
      return fail(name) << "a name is longer than " << maxNameBytes << " bytes";
    return {};
  }

  Expected<FunctionId> readGlobal(const JsonValue &value) {
    BYCC_TRY(checkKeys(value, {"name", "params", "result_type", "attrs", "body"}));
    const JsonValue &name = BYCC_TRY(member(value, "name", JsonValue::Kind::String)).get();
    BYCC_TRY(checkLength(name));
    if (name.string.empty())
      return fail(name) << "a function has no name";
    if (module_.findGlobal(name.string))
      return fail(name) << "function '" << escaped(name.string) << "' is defined twice";
    FunctionId f = module_.addFunction(name.string);
    BYCC_TRY(readSignature(value, f));
    module_.node(module_.globalRef(f)).type = module_.functionType(f);
    return f;
  }

  Expected<> bindParams(const JsonValue &value, FunctionId f) {
    const auto &params = value.find("params")->items;
    for (size_t i = 0; i < params.size(); ++i)
      BYCC_TRY(bind(params[i], module_.function(f).params[i]));
    return {};
  }

  Expected<> readBody(const JsonValue &value, FunctionId f) {
    size_t begin = visible_.size();
    BYCC_TRY(bindParams(value, f));
    const JsonValue &body = BYCC_TRY(member(value, "body", JsonValue::Kind::Int)).get();
    BYCC_TRY(readBlock(body, module_.function(f).body));
    hideFrom(begin);
    TypeId actual = module_.type(module_.block(module_.function(f).body).result);
    TypeId declared = module_.function(f).resultType;
    if (!isAssignable(module_, actual, declared))
      return fail(value) << "a function is declared to return " << module_.types.str(declared)
                         << " and returns " << module_.types.str(actual);
    return {};
  }

  // --- ids

  Expected<> bind(const JsonValue &owner, NodeId node) {
    const JsonValue &id = BYCC_TRY(member(owner, "id", JsonValue::Kind::Int)).get();
    if (!ids_.try_emplace(id.integer, node).second)
      return fail(id) << "id " << id.integer << " is defined twice";
    visible_.push_back(id.integer);
    return {};
  }

  // Ids stay taken, their nodes are out of reach.
  void hideFrom(size_t begin) {
    for (size_t i = begin; i < visible_.size(); ++i)
      ids_[visible_[i]] = NodeId();
    visible_.resize(begin);
  }

  Expected<NodeId> use(const JsonValue &value) {
    if (value.isInt()) {
      auto it = ids_.find(value.integer);
      if (it == ids_.end() || !it->second)
        return fail(value) << "id " << value.integer << " is used where it is not defined";
      return it->second;
    }
    std::string_view text = value.string;
    if (value.isString() && text.starts_with("@"))
      if (FunctionId f = module_.findGlobal(text.substr(1)))
        return module_.globalRef(f);
    if (value.isString() && text.starts_with("#"))
      if (auto index = parseInt(text.substr(1));
          index && *index >= 0 && static_cast<size_t>(*index) < constants_.size())
        return constants_[static_cast<size_t>(*index)];
    return fail(value) << "a value is an id, \"@function\" or \"#constant\""
                       << (value.isString() ? ", found '" + escaped(text) + "'" : "");
  }

  Expected<std::vector<NodeId>> uses(const JsonValue &owner) {
    std::vector<NodeId> result;
    for (const JsonValue &value :
         BYCC_TRY(member(owner, "args", JsonValue::Kind::Array)).get().items)
      result.push_back(BYCC_TRY(use(value)));
    return result;
  }

  // --- blocks

  Expected<const JsonValue *> claim(const JsonValue &index, const JsonValue &list,
                                    std::vector<bool> &used, const char *what) {
    if (!index.isInt() || index.integer < 0 || static_cast<size_t>(index.integer) >= used.size())
      return fail(index) << "there is no such " << what;
    if (used[static_cast<size_t>(index.integer)])
      return fail(index) << what << " " << index.integer << " has two owners";
    used[static_cast<size_t>(index.integer)] = true;
    return &list.items[static_cast<size_t>(index.integer)];
  }

  Expected<> readBlock(const JsonValue &index, BlockId block) {
    const JsonValue *value = BYCC_TRY(claim(index, *blocks_, usedBlocks_, "block"));
    if (++depth_ > maxNesting)
      return error(Status::Limit, place(index)) << "blocks nest deeper than " << maxNesting;
    BYCC_TRY(checkKeys(*value, {"nodes", "result"}));
    BlockId outer = builder_.block();
    builder_.setBlock(block);
    size_t begin = visible_.size();
    for (const JsonValue &node :
         BYCC_TRY(member(*value, "nodes", JsonValue::Kind::Array)).get().items)
      BYCC_TRY(readNode(node));
    const JsonValue *result = value->find("result");
    if (!result)
      return fail(*value) << "member 'result' is missing";
    NodeId node = BYCC_TRY(use(*result));
    module_.block(block).result = node;
    hideFrom(begin);
    builder_.setBlock(outer);
    --depth_;
    return {};
  }

  Expected<> readNode(const JsonValue &value) {
    BYCC_TRY(
        checkKeys(value, {"id", "op", "call", "tuple", "project", "then", "else", "function",
                          "args", "attrs", "let", "name", "annotation", "asked", "origin", "type",
                          "source"})); // the last two are for readers: types are inferred
    BYCC_TRY(checkKind(value));
    SourceId at = source(value);
    builder_.setSource(at);
    NodeId node;
    if (value.find("function"))
      return readFunctionNode(value, at);
    node = BYCC_TRY(readPlainNode(value, at));
    BYCC_TRY(bind(value, node));
    return readHints(value, node);
  }

  // A node is of one kind; of its other members, those that it has.
  Expected<> checkKind(const JsonValue &value) const {
    const char *found = nullptr;
    for (const char *kind : {"op", "call", "tuple", "project", "then", "function"})
      if (const JsonValue *member = value.find(kind)) {
        if (found)
          return fail(*member) << "a node is of one kind, this one has '" << found << "' and '"
                               << kind << "'";
        found = kind;
      }
    if (const JsonValue *member = value.find("else"); member && !value.find("then"))
      return fail(*member) << "'else' without 'then'";
    if (const JsonValue *tuple = value.find("tuple"); tuple && !(tuple->isBool() && tuple->boolean))
      return fail(*tuple) << "'tuple' is true or absent";
    if (const JsonValue *let = value.find("let"); let && !let->isBool())
      return fail(*let) << "'let' is true or false";
    if (const JsonValue *name = value.find("name")) {
      if (!name->isString())
        return fail(*name) << "'name' is a string";
      return checkLength(*name);
    }
    return {};
  }

  Expected<NodeId> readPlainNode(const JsonValue &value, SourceId at) {
    std::vector<NodeId> args = BYCC_TRY(uses(value));
    if (const JsonValue *op = value.find("op")) {
      OpId id = op->isString() ? findOp(op->string) : OpId();
      if (!id)
        return unknownOp(*op);
      AttrDict attrs = BYCC_TRY(readAttrs(value));
      return builder_.call(id, args, std::move(attrs));
    }
    if (value.find("attrs"))
      return fail(value) << "only an operator's call has attributes";
    if (const JsonValue *call = value.find("call")) {
      NodeId callee = BYCC_TRY(use(*call));
      if (module_.types.kind(module_.type(callee)) != TypeKind::Function)
        return fail(*call) << "a value of type " << module_.types.str(module_.type(callee))
                           << " is called";
      return builder_.callFunction(callee, args);
    }
    if (value.find("tuple"))
      return builder_.limitedTuple(args);
    if (args.size() != 1)
      return fail(value) << "a node of this kind has one argument, found " << args.size();
    if (const JsonValue *index = value.find("project")) {
      if (!index->isInt() || index->integer < 0 || index->integer > UINT32_MAX)
        return fail(*index) << "there is no such field";
      return builder_.project(args[0], static_cast<uint32_t>(index->integer));
    }
    const JsonValue &thenIndex = BYCC_TRY(member(value, "then", JsonValue::Kind::Int)).get();
    const JsonValue &elseIndex = BYCC_TRY(member(value, "else", JsonValue::Kind::Int)).get();
    BlockId thenBlock = module_.addIfBlocks(builder_.block());
    BYCC_TRY(readBlock(thenIndex, thenBlock));
    BYCC_TRY(readBlock(elseIndex, BlockId(thenBlock.index + 1)));
    builder_.setSource(at);
    return builder_.ifNode(args[0], thenBlock);
  }

  Expected<NodeId> unknownOp(const JsonValue &op) const {
    if (std::string_view reason = whyRefused(op.string); !reason.empty())
      return error(Status::Unsup, place(op)) << "operator " << escaped(op.string) << ": " << reason;
    std::vector<std::string> names = allOpNames();
    auto near = nearest(op.string, names);
    return error(Status::Unsup, place(op)) << "operator " << escaped(op.string) << " is not known"
                                           << (near ? "; did you mean " + *near + "?" : "");
  }

  // The node is made before the body, which may use it.
  Expected<> readFunctionNode(const JsonValue &value, SourceId at) {
    const JsonValue *body =
        BYCC_TRY(claim(*value.find("function"), *functions_, usedFunctions_, "local function"));
    BlockId outer = builder_.block();
    FunctionId f = module_.addFunction({}, outer);
    BYCC_TRY(readSignature(*body, f));
    Node node;
    node.kind = NodeKind::Function;
    node.payload = f.index;
    node.source = at;
    node.type = module_.functionType(f);
    NodeId id = module_.addNode(node);
    BYCC_TRY(bind(value, id));
    BYCC_TRY(readBody(*body, f));
    BYCC_TRY(inferNode(module_, id));
    module_.block(outer).nodes.push_back(id);
    return readHints(value, id);
  }

  Expected<> readHints(const JsonValue &value, NodeId node) {
    if (const JsonValue *let = value.find("let"))
      module_.node(node).isLet = let->boolean;
    if (const JsonValue *name = value.find("name"))
      module_.node(node).name = module_.intern(name->string);
    if (const JsonValue *asked = value.find("asked")) {
      if (!asked->isString())
        return fail(*asked) << "a vendor's name is a string";
      module_.node(node).source =
          module_.addAskedSource(module_.node(node).source, module_.intern(asked->string));
    }
    if (const JsonValue *origin = value.find("origin")) {
      if (!origin->isInt() || origin->integer < 0 || origin->integer >= UINT32_MAX)
        return fail(*origin) << "'origin' is the number of a node";
      if (options_.origins)
        options_.origins->emplace_back(node, static_cast<uint32_t>(origin->integer));
    }
    const JsonValue *note = value.find("annotation");
    if (!note)
      return {};
    BYCC_TRY(checkKeys(*note, {"region", "vendors"}));
    Annotation annotation;
    const JsonValue &region = BYCC_TRY(member(*note, "region", JsonValue::Kind::Int)).get();
    if (region.integer < -1 || region.integer > INT32_MAX)
      return fail(region) << "a region number is at least -1 and fits 32 bits";
    annotation.region = static_cast<int32_t>(region.integer);
    for (const JsonValue &vendor :
         BYCC_TRY(member(*note, "vendors", JsonValue::Kind::Array)).get().items) {
      if (!vendor.isString())
        return fail(vendor) << "a vendor's name is a string";
      annotation.vendors.push_back(module_.intern(vendor.string));
    }
    module_.setAnnotation(node, std::move(annotation));
    return {};
  }

  const JsonValue &root_;
  const std::string &file_;
  const ParseOptions &options_;
  Module module_;
  size_t numGiven_ = 0; // constants of the base
  Builder builder_;
  const JsonValue *functions_ = nullptr, *blocks_ = nullptr;
  std::vector<bool> usedBlocks_, usedFunctions_;
  std::vector<NodeId> constants_;
  std::unordered_map<int64_t, NodeId> ids_;
  std::vector<int64_t> visible_;
  std::unordered_map<std::string, TypeId> types_;
  uint32_t depth_ = 0;
};

// Names end where C code reads them at a NUL.
Expected<> refuseNul(const JsonValue &value, const std::string &file) {
  auto check = [&](const std::string &text, const JsonValue &at) -> Expected<> {
    if (text.find('\0') == std::string::npos)
      return {};
    return error(Status::Input, location(at, file))
           << "a NUL character in '" << escaped(text) << "'";
  };
  BYCC_TRY(check(value.string, value));
  for (const JsonValue &item : value.items)
    BYCC_TRY(refuseNul(item, file));
  for (const auto &[key, member] : value.members) {
    BYCC_TRY(check(key, member));
    BYCC_TRY(refuseNul(member, file));
  }
  return {};
}

} // namespace

Expected<Module> parseProgramJson(std::string_view text, const std::string &file,
                                  const ParseOptions &options) {
  if (text.empty())
    return error(Status::Input, {file, 0, 0, {}, {}}).as(MessageId::EmptyFile)
           << "the file is empty";
  JsonValue root = BYCC_TRY(parseJson(text, file));
  if (root.find("node_row_ptr"))
    return error(Status::Input, {file, 0, 0, {}, {}}).as(MessageId::IsCompiled)
           << "this is the graph JSON of a compiled model, not a program; run it with bycc-run";
  BYCC_TRY(refuseNul(root, file));
  return Reader(root, file, options).read();
}

} // namespace bycc
