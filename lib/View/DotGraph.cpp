// Boxes of the tree as clusters, drawn open, so that Graphviz lays out the whole. An edge
// joins what is drawn of two operators; edges into a later turn of a repeat are drawn at
// its first one.

#include "ViewTree.h"
#include "bycc/Support/Quantity.h"

#include <algorithm>
#include <map>
#include <set>

namespace bycc {
namespace {

using Child = ViewTree::Child;
using Group = ViewTree::Group;

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
  explicit Drawing(const ViewDocument &document)
      : doc_(document), nodes_(document.report.nodes), tree_(makeViewTree(document)) {}

  std::string run() {
    out_ =
        "digraph bycc {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
        "  edge [fontname=\"sans-serif\", fontsize=8];\n";
    drawGroup(0);
    for (uint32_t unit = 0; unit < tree_.units.size(); ++unit)
      for (uint32_t row = 0; row < tree_.units[unit].rows; ++row)
        unitOf_[tree_.units[unit].firstRow + row] = unit;
    for (uint32_t row = 0; row < nodes_.size(); ++row)
      for (const OperatorInput &input : doc_.graph.rows[row].inputs)
        addEdge(input, unitName(row));
    for (uint32_t i : drawnOutputs_)
      for (const OperatorInput &source : doc_.graph.outputs[i])
        addEdge(source, "out" + std::to_string(i));
    for (const auto &[ends, tensors] : edges_)
      out_ += "  " + ends.first + " -> " + ends.second + " [label=" + quotedText(labelOf(tensors)) +
              "];\n";
    return out_ + "}\n";
  }

private:
  void line(const std::string &text) {
    out_ += std::string(2 * static_cast<size_t>(indent_), ' ') + text + "\n";
  }

  void drawGroup(uint32_t number) {
    const Group &group = tree_.groups[number];
    if (number > 0) {
      line("subgraph cluster_" + std::to_string(number) + " {");
      ++indent_;
      line("label=" + quotedText(titleOf(group)) + "; " + styleOf(group));
    }
    for (const Child &child : group.children)
      drawChild(child);
    if (number > 0) {
      --indent_;
      line("}");
    }
  }

  std::string titleOf(const Group &group) const {
    if (group.kind == Group::Kind::Repeat)
      return "\u00d7" + std::to_string(group.turns);
    const OffloadFunction &region = doc_.report.functions[group.region];
    std::string bytes =
        boundaryText(region.boundaryBytes, sizeText(static_cast<double>(region.boundaryBytes)),
                     region.hasRunTimeSizes);
    return region.compiler + ": " + region.symbol + "\n" + flopsText(region.flops) + ", " + bytes +
           " cross its border";
  }

  std::string styleOf(const Group &group) {
    if (group.kind == Group::Kind::Repeat)
      return "style=dashed;";
    static constexpr const char *colours[] = {"#dbeafe", "#dcfce7", "#fef3c7",
                                              "#fce7f3", "#ede9fe", "#e0f2fe"};
    size_t number =
        colours_.try_emplace(doc_.report.functions[group.region].compiler, colours_.size())
            .first->second;
    return "style=filled; fillcolor=" + quotedText(colours[number % std::size(colours)]) + ";";
  }

  void drawChild(const Child &child) {
    switch (child.kind) {
    case Child::Kind::Group:
      return drawGroup(child.index);
    case Child::Kind::Input:
      drawnInputs_.insert(child.index);
      return line(
          "in" + std::to_string(child.index) + " [label=" +
          quotedText(doc_.inputs[child.index].first + "\n" + doc_.inputs[child.index].second) +
          ", shape=ellipse];");
    case Child::Kind::Output:
      drawnOutputs_.insert(child.index);
      return line(
          "out" + std::to_string(child.index) + " [label=" +
          quotedText(doc_.outputs[child.index].first + "\n" + doc_.outputs[child.index].second) +
          ", shape=ellipse];");
    case Child::Kind::Unit:
      return line("n" + std::to_string(tree_.units[child.index].firstRow) +
                  " [label=" + quotedText(labelOf(tree_.units[child.index])) + "];");
    }
  }

  // What it is, its node, FLOPs, what runs it, and why it is on the host.
  std::string labelOf(const ViewTree::Unit &unit) const {
    const OffloadNode &node = nodes_[unit.firstRow];
    std::string text = unitTitle(doc_, unit), names, symbol = doc_.graph.rows[unit.firstRow].symbol;
    double flops = 0;
    for (uint32_t row = unit.firstRow; row < unit.firstRow + unit.rows; ++row) {
      flops += nodes_[row].flops;
      names += (names.empty() ? "" : ", ") + nodes_[row].name;
    }
    text += "\n" + names;
    if (flops > 0)
      text += "\n" + flopsText(flops);
    if (node.placed == "host" && !symbol.empty())
      text += "\n" + symbol;
    if (std::string reason = hostReason(node); node.placed == "host" && !reason.empty())
      text += "\n" + reason;
    return text;
  }

  std::string unitName(uint32_t row) const {
    return "n" + std::to_string(tree_.units[unitOf_.at(tree_.drawn(row))].firstRow);
  }

  void addEdge(const OperatorInput &input, const std::string &to) {
    bool isInput = input.kind == OperatorInput::Kind::Input;
    if (isInput && !drawnInputs_.contains(input.index))
      return;
    if (!isInput && input.kind != OperatorInput::Kind::Operator)
      return;
    std::string from = isInput ? "in" + std::to_string(input.index) : unitName(input.index);
    if (from != to)
      edges_[{from, to}].insert(input.type);
  }

  // "Tensor[(1, 64), float32] 256 B"
  std::string labelOf(const std::set<uint32_t> &types) const {
    std::string text;
    for (uint32_t type : types) {
      const OperatorGraph::Type &known = doc_.graph.types[type];
      text += (text.empty() ? "" : "\n") + known.text;
      if (known.bytes >= 0)
        text += " " + sizeText(static_cast<double>(known.bytes));
    }
    return text;
  }

  const ViewDocument &doc_;
  const std::vector<OffloadNode> &nodes_;
  ViewTree tree_;
  std::string out_;
  int indent_ = 1;
  std::set<uint32_t> drawnInputs_, drawnOutputs_; // of hundreds, some
  std::map<uint32_t, uint32_t> unitOf_;           // by row that is drawn
  std::map<std::string, size_t> colours_;         // by vendor, in order of appearance
  std::map<std::pair<std::string, std::string>, std::set<uint32_t>> edges_;
};

} // namespace

std::string dotGraph(const ViewDocument &document) { return Drawing(document).run(); }

} // namespace bycc
