// Patterns that are read as what to make: of their language, what names one thing to make.

#include "bycc/Pattern/Rewrite.h"

#include "PatternFileRead.h"
#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <map>

namespace bycc {
namespace {

const Pattern *findPattern(std::span<const Pattern> patterns, std::string_view name) {
  auto found = std::ranges::find(patterns, name, &Pattern::name);
  return found == patterns.end() ? nullptr : &*found;
}

// The operands of a composite, in order.
std::vector<std::string> operandsOf(const Pattern &pattern) {
  std::vector<std::string> names = pattern.params;
  for (const std::string &name : pattern.captures)
    if (std::ranges::find(names, name) == names.end())
      names.push_back(name);
  return names;
}

bool isOneValue(const AttrTest &test) {
  return test.anyOf.size() == 1 && test.noneOf.empty() && !test.range;
}

// Why nothing can be made of a part; nothing when it can.
std::optional<std::string> whyNotMade(const Pattern &pattern, uint32_t index,
                                      std::span<const Pattern> patterns) {
  const PatternNode &node = pattern.nodes[index];
  switch (node.kind) {
  case PatternKind::Op:
    if (node.ops.size() != 1 || node.anyArgs)
      return "an operator is one, with its arguments";
    if (!std::ranges::all_of(node.attrs, isOneValue))
      return "an attribute has one value, " + std::string(opInfo(node.ops[0]).name) +
             " has a choice";
    break;
  case PatternKind::Constant:
    if (!node.value || node.value->values.size() != 1 || node.value->isList || node.value->range)
      return "a constant is one number: #(0.5)";
    break;
  case PatternKind::Composite: {
    const Pattern *composite = findPattern(patterns, node.composite);
    if (!composite)
      return node.composite + " is no pattern before this";
    if (operandsOf(*composite).size() != node.children.size())
      return node.composite + " has " + std::to_string(operandsOf(*composite).size()) + " operands";
    if (auto why = whyNotMade(*composite, composite->root, patterns))
      return node.composite + ": " + *why;
    break;
  }
  case PatternKind::Capture:
  case PatternKind::Tuple:
  case PatternKind::Project:
    break;
  case PatternKind::Any:
    return "* names nothing";
  case PatternKind::Alternative:
    return "alternatives and optional operators are a choice";
  case PatternKind::Path:
    return "a path is a choice";
  case PatternKind::Typed:
    return "a type cannot be made";
  }
  for (uint32_t child : node.children)
    if (auto why = whyNotMade(pattern, child, patterns))
      return why;
  return std::nullopt;
}

// `to` as one composite of operands by name: the definition of it.
bool isDefinition(const Pattern &to, std::span<const Pattern> patterns) {
  const PatternNode &root = to.nodes[to.root];
  return root.kind == PatternKind::Composite && !root.anyArgs &&
         !findPattern(patterns, root.composite) &&
         std::ranges::all_of(root.children, [&](uint32_t child) {
           return to.nodes[child].kind == PatternKind::Capture && to.nodes[child].children.empty();
         });
}

// Makes a pattern's parts, each once.
class Maker {
public:
  Maker(Builder &builder, std::span<const Pattern> patterns, DType dtype, int depth = 0)
      : builder_(builder), patterns_(patterns), dtype_(dtype), depth_(depth) {}

  std::map<std::string, NodeId> bound; // by capture

  Expected<NodeId> make(const Pattern &pattern, uint32_t index) {
    auto known = made_.find(index);
    if (known != made_.end())
      return known->second;
    NodeId node = BYCC_TRY(makeFresh(pattern, index));
    made_.emplace(index, node);
    return node;
  }

private:
  Expected<NodeId> makeFresh(const Pattern &pattern, uint32_t index) {
    const PatternNode &node = pattern.nodes[index];
    if (node.kind == PatternKind::Capture)
      return makeCapture(pattern, node);
    if (node.kind == PatternKind::Constant)
      return builder_.module().addScalar(dtype_, node.value->values[0]);
    std::vector<NodeId> operands;
    for (uint32_t child : node.children)
      operands.push_back(BYCC_TRY(make(pattern, child)));
    switch (node.kind) {
    case PatternKind::Op:
      return builder_.call(node.ops[0], operands, attrsOf(node));
    case PatternKind::Tuple:
      return builder_.limitedTuple(operands);
    case PatternKind::Project:
      return builder_.project(operands[0], node.index);
    default:
      return makeComposite(node, operands);
    }
  }

  // A name alone is what it stood for; with an operator behind it, `$c:nn.conv2d($x, $w)`,
  // that operator with the attributes that the one named so had, where it gives no other.
  Expected<NodeId> makeCapture(const Pattern &pattern, const PatternNode &node) {
    const std::string &name = pattern.captures[node.index];
    auto value = bound.find(name);
    if (node.children.empty() && value == bound.end())
      return error(Status::Input) << "nothing is called $" << name << " in this match";
    if (node.children.empty())
      return value->second;
    const PatternNode &child = pattern.nodes[node.children[0]];
    const Module &module = builder_.module();
    if (child.kind != PatternKind::Op || value == bound.end() ||
        !module.isOp(value->second, child.ops[0]))
      return make(pattern, node.children[0]);
    AttrDict attrs = attrsOf(child);
    for (const Attr &attr : module.attributes.dict(module.node(value->second).attrs))
      if (std::ranges::find(attrs, attr.key, &Attr::key) == attrs.end())
        attrs.push_back(attr);
    std::vector<NodeId> operands;
    for (uint32_t operand : child.children)
      operands.push_back(BYCC_TRY(make(pattern, operand)));
    return builder_.call(child.ops[0], operands, std::move(attrs));
  }

  Expected<NodeId> makeComposite(const PatternNode &node, const std::vector<NodeId> &operands) {
    const Pattern *composite = findPattern(patterns_, node.composite);
    constexpr int maxDepth = 16;
    if (!composite || depth_ == maxDepth)
      return error(Status::Input) << node.composite << " cannot be made";
    std::vector<std::string> names = operandsOf(*composite);
    Maker inner(builder_, patterns_, dtype_, depth_ + 1);
    for (size_t i = 0; i < operands.size(); ++i)
      inner.bound[names[i]] = operands[i];
    return inner.make(*composite, composite->root);
  }

  static AttrDict attrsOf(const PatternNode &node) {
    AttrDict attrs;
    for (const AttrTest &test : node.attrs)
      attrs.push_back({test.key, test.anyOf[0]});
    return attrs;
  }

  Builder &builder_;
  std::span<const Pattern> patterns_;
  DType dtype_;
  int depth_;
  std::map<uint32_t, NodeId> made_; // by part
};

class Reader {
public:
  Reader(const JsonValue &item, std::string_view vendor, std::string pointer,
         const std::string &file, std::vector<Pattern> &patterns)
      : item_(item), vendor_(vendor), pointer_(std::move(pointer)), file_(file),
        patterns_(patterns) {}

  // Nothing: it was the definition of a composite.
  Expected<std::optional<Rewrite>> read() {
    BYCC_TRY(checkKeys(item_, {"from", "to", "where", "comment"}, pointer_, file_));
    Rewrite rewrite;
    rewrite.place = location(item_, file_);
    rewrite.from = BYCC_TRY(parse("from"));
    if (const JsonValue *where = item_.find("where"))
      rewrite.from.where = BYCC_TRY(readWhere(*where, rewrite.from, pointer_ + "/where", file_));
    rewrite.to = BYCC_TRY(parse("to"));
    rewrite.text = escaped(item_.find("from")->string) + " -> " + escaped(item_.find("to")->string);
    for (const std::string &name : rewrite.to.captures)
      if (std::ranges::find(rewrite.from.captures, name) == rewrite.from.captures.end())
        return fail("to") << unknownName("operand", name, rewrite.from.captures);
    if (isDefinition(rewrite.to, patterns_)) {
      BYCC_TRY(define(std::move(rewrite)));
      return std::optional<Rewrite>();
    }
    if (auto why = whyNotMade(rewrite.to, rewrite.to.root, patterns_))
      return fail("to") << *why;
    return std::optional(std::move(rewrite));
  }

private:
  ErrorBuilder fail(const char *key) const {
    return jsonError(*item_.find(key), pointerTo(pointer_, key), file_);
  }

  Expected<Pattern> parse(const char *key) {
    const JsonValue *text = item_.find(key);
    if (!text || !text->isString())
      return jsonError(text ? *text : item_, text ? pointerTo(pointer_, key) : pointer_, file_)
             << "'" << key << "' must be the text of a pattern";
    std::vector<std::string> composites;
    for (const Pattern &pattern : patterns_)
      composites.push_back(pattern.name);
    if (std::string name = newComposite(text->string);
        !name.empty() && std::string_view(key) == "to")
      composites.push_back(std::move(name));
    Expected<Pattern> pattern = parsePattern("", {text->string, {}}, composites);
    if (!pattern)
      return error(pattern.error().status(), location(*text, file_))
                 .as(pattern.error().diagnostics().front().id)
             << escaped(pointerTo(pointer_, key), 512) << ": " << pattern.error().message();
    return pattern;
  }

  // "npu.swish" of "npu.swish($x)" for vendor npu.
  std::string newComposite(const std::string &text) const {
    std::string name = text.substr(0, text.find('('));
    while (!name.empty() && name.back() == ' ')
      name.pop_back();
    bool isOwn = name.starts_with(std::string(vendor_) + ".") && name.size() > vendor_.size() + 1;
    bool isName = std::ranges::all_of(
        name, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
    return isOwn && isName ? name : "";
  }

  Expected<> define(Rewrite rewrite) {
    const PatternNode &root = rewrite.to.nodes[rewrite.to.root];
    Pattern pattern = std::move(rewrite.from);
    pattern.name = root.composite;
    pattern.params.clear();
    for (uint32_t child : root.children) {
      const std::string &name = rewrite.to.captures[rewrite.to.nodes[child].index];
      if (std::ranges::find(pattern.params, name) != pattern.params.end())
        return fail("to") << "'" << name << "' comes twice";
      pattern.params.push_back(name);
    }
    patterns_.push_back(std::move(pattern));
    return {};
  }

  const JsonValue &item_;
  std::string_view vendor_;
  std::string pointer_;
  const std::string &file_;
  std::vector<Pattern> &patterns_;
};

} // namespace

Expected<std::vector<Rewrite>> readRewrites(const JsonValue &array, std::string_view vendor,
                                            const std::string &pointer, const std::string &file,
                                            std::vector<Pattern> &patterns) {
  if (!array.isArray())
    return jsonError(array, pointer, file) << "expected an array of rewrites";
  std::vector<Rewrite> rewrites;
  for (size_t i = 0; i < array.items.size(); ++i) {
    Reader reader(array.items[i], vendor, pointer + "/" + std::to_string(i), file, patterns);
    if (auto rewrite = BYCC_TRY(reader.read()))
      rewrites.push_back(std::move(*rewrite));
  }
  return rewrites;
}

Expected<NodeId> makeReplacement(Builder &builder, const Rewrite &rewrite, const Match &match,
                                 std::span<const Pattern> patterns) {
  const Module &module = builder.module();
  std::vector<TypeId> tensors = module.types.flatten(module.type(match.root));
  DType dtype = tensors.empty() ? DType::Float32 : module.types.dtype(tensors[0]);
  Maker maker(builder, patterns, dtype);
  for (const MatchRole &role : match.roles)
    maker.bound[role.name] = role.node;
  return maker.make(rewrite.to, rewrite.to.root);
}

} // namespace bycc
