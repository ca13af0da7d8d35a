// Draws @main with every call of a global function, branch and closure opened in
// place as a cluster. An edge starts at the operator that makes the value, so
// parameters of inner functions, tuples and projections are not drawn: `sources`
// of a node are the drawn nodes behind it.

#include "DotGraph.h"

#include "bycc/IR/Op.h"
#include "bycc/Target/RegionView.h"

#include <algorithm>
#include <map>
#include <vector>

namespace bycc {
namespace {

constexpr int maxDepth = 64; // of functions opened in each other

std::string quotedText(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

class Drawing {
public:
  explicit Drawing(const Module &module) : module_(module) {}

  std::string run() {
    out_ = "digraph bycc {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
           "  edge [fontname=\"sans-serif\", fontsize=8];\n";
    const Function &main = module_.function(module_.main());
    Frame frame;
    for (NodeId param : main.params)
      frame[param] = {vertex("%" + std::string(module_.string(module_.node(param).name)) + "\n" +
                                 module_.types.str(module_.type(param)),
                             "shape=ellipse")};
    block(main.body, frame, 0);
    std::string result = vertex("result", "shape=ellipse");
    edges(module_.block(main.body).result, frame, result);
    return out_ + edges_ + "}\n";
  }

private:
  using Sources = std::vector<std::string>; // drawn nodes
  using Frame = std::map<NodeId, Sources>;  // of one opened function

  void line(const std::string &text) {
    out_ += std::string(2 * static_cast<size_t>(indent_), ' ') + text + "\n";
  }

  std::string vertex(const std::string &label, const std::string &style = {}) {
    std::string name = "n" + std::to_string(next_++);
    line(name + " [label=" + quotedText(label) + (style.empty() ? "" : ", " + style) + "];");
    return name;
  }

  // Kept for the end: an edge written inside a cluster would pull its nodes in.
  void edges(NodeId value, const Frame &frame, const std::string &to) {
    for (const std::string &from : sources(value, frame))
      edges_ += "  " + from + " -> " + to + " [label=" + quotedText(module_.types.str(module_.type(value))) + "];\n";
  }

  // Constants are not drawn: weights would hide the graph.
  Sources sources(NodeId value, const Frame &frame) const {
    auto found = frame.find(value);
    return found == frame.end() ? Sources() : found->second;
  }

  Sources operandSources(NodeId node, const Frame &frame, size_t from = 0) const {
    Sources all;
    std::span<const NodeId> operands = module_.operands(node);
    for (size_t i = from; i < operands.size(); ++i)
      for (const std::string &source : sources(operands[i], frame))
        if (std::ranges::find(all, source) == all.end())
          all.push_back(source);
    return all;
  }

  void block(BlockId id, Frame &frame, int depth) {
    for (NodeId node : module_.block(id).nodes)
      draw(node, frame, depth);
  }

  void draw(NodeId node, Frame &frame, int depth) {
    switch (module_.node(node).kind) {
    case NodeKind::CallOp:
      return single(node, std::string(opInfo(module_.node(node).op).name), frame);
    case NodeKind::Call:
      return call(node, frame, depth);
    case NodeKind::If:
      return branch(node, frame, depth);
    case NodeKind::Tuple:
    case NodeKind::Project:
      frame[node] = operandSources(node, frame);
      return;
    default:
      return; // a local function is drawn where it is called
    }
  }

  void single(NodeId node, const std::string &label, Frame &frame, size_t firstOperand = 0) {
    std::string name = vertex(label + "\n" + nodeName(module_, node));
    std::span<const NodeId> operands = module_.operands(node);
    for (size_t i = firstOperand; i < operands.size(); ++i)
      edges(operands[i], frame, name);
    frame[node] = {name};
  }

  void call(NodeId node, Frame &frame, int depth) {
    NodeId callee = module_.operands(node)[0];
    NodeKind kind = module_.node(callee).kind;
    bool isKnown = kind == NodeKind::Global || kind == NodeKind::Function;
    if (!isKnown || depth >= maxDepth || isOpen(module_.functionOf(callee)))
      return single(node, "call", frame, 1);
    FunctionId function = module_.functionOf(callee);
    if (attribute(function, "Composite").empty() && !module_.functionAttr(function, "Primitive"))
      return opened(node, function, frame, depth);
    if (!attribute(function, "Compiler").empty())
      return opened(node, function, frame, depth);
    single(node, groupLabel(function), frame, 1);
  }

  bool isOpen(FunctionId function) const { return std::ranges::find(open_, function) != open_.end(); }

  std::string attribute(FunctionId function, const char *key) const {
    const AttrValue *value = module_.functionAttr(function, key);
    return value && value->isString() ? value->asString() : std::string();
  }

  // "dnnl.conv2d_relu\nnn.conv2d, nn.relu"
  std::string groupLabel(FunctionId function) const {
    std::string name = attribute(function, "Composite"), ops;
    for (NodeId node : module_.block(module_.function(function).body).nodes)
      if (module_.node(node).kind == NodeKind::CallOp)
        ops += (ops.empty() ? "" : ", ") + std::string(opInfo(module_.node(node).op).name);
    return (name.empty() ? "kernel" : name) + "\n" + ops;
  }

  // The function's body in place of the call.
  void opened(NodeId node, FunctionId id, Frame &frame, int depth) {
    const Function &function = module_.function(id);
    std::string vendor = attribute(id, "Compiler"), name(module_.string(function.name));
    beginCluster(vendor.empty() ? (name.empty() ? "closure" : "@" + name) : vendor + ": @" + name, vendor);
    Frame inner = name.empty() ? frame : Frame(); // a closure sees what is around it
    for (size_t i = 0; i < function.params.size(); ++i)
      inner[function.params[i]] = sources(module_.operands(node)[i + 1], frame);
    open_.push_back(id);
    block(function.body, inner, depth + 1);
    open_.pop_back();
    endCluster();
    frame[node] = sources(module_.block(function.body).result, inner);
  }

  void branch(NodeId node, Frame &frame, int depth) {
    single(node, "if", frame);
    Sources results = frame[node];
    for (auto [title, id] : {std::pair("then", module_.thenBlock(node)), std::pair("else", module_.elseBlock(node))}) {
      beginCluster(title, "");
      Frame inner = frame;
      block(id, inner, depth + 1);
      endCluster();
      for (const std::string &source : sources(module_.block(id).result, inner))
        results.push_back(source);
    }
    frame[node] = results;
  }

  void beginCluster(const std::string &label, const std::string &vendor) {
    line("subgraph cluster_" + std::to_string(next_++) + " {");
    ++indent_;
    line("label=" + quotedText(label) + "; " +
         (vendor.empty() ? std::string("style=dashed;") : "style=filled; fillcolor=" + quotedText(colourOf(vendor)) + ";"));
  }

  void endCluster() {
    --indent_;
    line("}");
  }

  std::string colourOf(const std::string &vendor) {
    static constexpr const char *colours[] = {"#dbeafe", "#dcfce7", "#fef3c7", "#fce7f3", "#ede9fe", "#e0f2fe"};
    size_t number = colours_.try_emplace(vendor, colours_.size()).first->second;
    return colours[number % std::size(colours)];
  }

  const Module &module_;
  std::string out_, edges_;
  int indent_ = 1;
  uint32_t next_ = 0;
  std::vector<FunctionId> open_;
  std::map<std::string, size_t> colours_; // by vendor, in order of appearance
};

} // namespace

std::string dotGraph(const Module &module) { return Drawing(module).run(); }

} // namespace bycc
