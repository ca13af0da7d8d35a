#include "ViewTree.h"

#include "bycc/Support/Hash.h"
#include "bycc/View/RepeatedRuns.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace bycc {
namespace {

using Child = ViewTree::Child;
using Group = ViewTree::Group;
using Kind = OperatorInput::Kind;

constexpr size_t maxInputs =
    16; // that are drawn: a program whose weights are parameters has hundreds

uint64_t mixed(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 31);
}

class TreeMaker {
public:
  explicit TreeMaker(const ViewDocument &document)
      : nodes_(document.report.nodes), graph_(document.graph), document_(document) {}

  ViewTree run() {
    for (uint32_t i = 0; i < document_.report.functions.size(); ++i)
      regions_.emplace(document_.report.functions[i].symbol, i);
    tree_.turnOf.resize(nodes_.size());
    for (uint32_t row = 0; row < nodes_.size(); ++row)
      tree_.turnOf[row].first = row;
    unitOfRow_.resize(nodes_.size());
    itemOfRow_.resize(nodes_.size());
    labelRows();
    tree_.groups.emplace_back();
    tree_.groups[0].rows = static_cast<uint32_t>(nodes_.size());
    addInputs();
    fill(0, itemsOf(0, static_cast<uint32_t>(nodes_.size()), true));
    addOutputs();
    for (uint32_t row = 0; row < nodes_.size(); ++row)
      for (const OperatorInput &input : graph_.rows[row].inputs)
        addEdge(input, row);
    for (uint32_t i = 0;
         i < std::min(document_.outputs.size(), maxInputs) && i < graph_.outputs.size(); ++i)
      for (const OperatorInput &source : graph_.outputs[i])
        addResult(i, source);
    finishEdges();
    for (Group &group : tree_.groups)
      layOutGroup(group);
    return std::move(tree_);
  }

private:
  // A unit, or a region.
  struct Item {
    uint32_t firstRow = 0, rows = 0;
    bool isRegion = false;
  };
  // From the root down: the group, the child in it, the turn of the group.
  struct Step {
    uint32_t group, child, turn;
  };

  // --- boxes

  // Of what is the same in all turns.
  void labelRows() {
    std::unordered_map<std::string, uint64_t> numbers;
    auto number = [&](const std::string &text) {
      return numbers.try_emplace(text, numbers.size() + 1).first->second;
    };
    for (uint32_t row = 0; row < nodes_.size(); ++row) {
      const OffloadNode &node = nodes_[row];
      uint64_t hash = number(node.op);
      for (uint64_t part :
           {number(node.placed), number(node.composite), number(graph_.rows[row].attributes),
            number(node.placed == "host" ? reasonKind(hostReason(node)) : ""),
            uint64_t{graph_.rows[row].type}})
        hash = mixed(hash, part);
      for (const OperatorInput &input : graph_.rows[row].inputs)
        hash = mixed(hash, input.type * 4 + (input.kind == Kind::Constant));
      labels_.push_back(hash);
    }
  }

  // Rows of one region, or of one unit, follow each other.
  std::vector<Item> itemsOf(uint32_t begin, uint32_t end, bool isRoot) const {
    std::vector<Item> items;
    for (uint32_t row = begin; row < end;) {
      bool isRegion = isRoot && !nodes_[row].region.empty();
      uint32_t last = row + 1;
      while (last < end && (isRegion ? nodes_[last].region == nodes_[row].region
                                     : nodes_[last].unit == nodes_[row].unit &&
                                           nodes_[last].region == nodes_[row].region))
        ++last;
      items.push_back({row, last - row, isRegion});
      row = last;
    }
    return items;
  }

  // Rows read before items: operators of the same item say how they hang together.
  SequenceItem sequenceItem(const Item &item, uint32_t number,
                            const std::vector<uint8_t> &isOfItem) const {
    SequenceItem result;
    result.label = mixed(item.rows, item.isRegion);
    for (uint32_t row = item.firstRow; row < item.firstRow + item.rows; ++row) {
      result.label = mixed(result.label, labels_[row]);
      for (const OperatorInput &input : graph_.rows[row].inputs) {
        if (input.kind == Kind::Constant)
          continue;
        bool isOwn = input.kind == Kind::Operator && input.index >= item.firstRow &&
                     input.index < item.firstRow + item.rows;
        bool isBefore = input.kind == Kind::Operator && isOfItem[input.index] &&
                        itemOfRow_[input.index] < number;
        if (isOwn)
          result.label = mixed(result.label, input.index - item.firstRow);
        else
          result.uses.push_back(isBefore ? itemOfRow_[input.index] : SequenceItem::outside);
      }
    }
    return result;
  }

  void number(const std::vector<Item> &items) {
    for (uint32_t i = 0; i < items.size(); ++i)
      for (uint32_t row = 0; row < items[i].rows; ++row)
        itemOfRow_[items[i].firstRow + row] = i;
  }

  std::vector<SequenceItem> sequenceOf(const std::vector<Item> &items) {
    number(items);
    std::vector<uint8_t> isOfItem(nodes_.size());
    for (const Item &item : items)
      std::fill_n(isOfItem.begin() + item.firstRow, item.rows, uint8_t{1});
    std::vector<SequenceItem> sequence;
    for (uint32_t i = 0; i < items.size(); ++i)
      sequence.push_back(sequenceItem(items[i], i, isOfItem));
    return sequence;
  }

  // What comes once and needs nothing but what does so, such as a mask made where the first
  // layer reads it, goes to the front: it would make that layer differ from the others.
  std::vector<Item> withSinglesFirst(const std::vector<Item> &items,
                                     const std::vector<SequenceItem> &sequence) const {
    std::unordered_map<uint64_t, uint32_t> counts;
    for (const SequenceItem &item : sequence)
      ++counts[item.label];
    std::vector<Item> front, rest;
    std::vector<uint8_t> isInFront(items.size());
    for (uint32_t i = 0; i < items.size(); ++i) {
      isInFront[i] = counts[sequence[i].label] == 1 &&
                     std::ranges::all_of(sequence[i].uses, [&](uint32_t use) {
                       return use == SequenceItem::outside || isInFront[use];
                     });
      (isInFront[i] ? front : rest).push_back(items[i]);
    }
    front.insert(front.end(), rest.begin(), rest.end());
    return front;
  }

  void fill(uint32_t group, std::vector<Item> items) {
    std::vector<SequenceItem> sequence = sequenceOf(items);
    items = withSinglesFirst(items, sequence);
    sequence = sequenceOf(items);
    uint32_t at = 0;
    for (const RepeatedRun &run : findRepeatedRuns(sequence)) {
      for (; at < run.begin; ++at)
        addItem(group, items[at]);
      addRepeat(group, items, run);
      at = run.end();
    }
    for (; at < items.size(); ++at)
      addItem(group, items[at]);
  }

  uint32_t addGroup(uint32_t parent, Group group) {
    uint32_t number = static_cast<uint32_t>(tree_.groups.size());
    group.parent = parent;
    tree_.groups.push_back(std::move(group));
    tree_.groups[parent].children.push_back({Child::Kind::Group, number});
    childOfGroup_.resize(number + 1);
    childOfGroup_[number] = static_cast<uint32_t>(tree_.groups[parent].children.size() - 1);
    return number;
  }

  void addItem(uint32_t group, const Item &item) {
    if (!item.isRegion) {
      uint32_t unit = static_cast<uint32_t>(tree_.units.size());
      tree_.units.push_back({item.firstRow, item.rows, group});
      tree_.groups[group].children.push_back({Child::Kind::Unit, unit});
      childOfUnit_.push_back(static_cast<uint32_t>(tree_.groups[group].children.size() - 1));
      for (uint32_t row = 0; row < item.rows; ++row)
        unitOfRow_[item.firstRow + row] = unit;
      return;
    }
    Group region;
    region.kind = Group::Kind::Region;
    auto found = regions_.find(nodes_[item.firstRow].region);
    region.region = found == regions_.end() ? 0 : found->second;
    region.rows = item.rows;
    uint32_t number = addGroup(group, std::move(region));
    fill(number, itemsOf(item.firstRow, item.firstRow + item.rows, false));
  }

  void addRepeat(uint32_t group, const std::vector<Item> &items, const RepeatedRun &run) {
    std::vector<Item> body(items.begin() + run.begin, items.begin() + run.begin + run.period);
    Group repeat;
    repeat.kind = Group::Kind::Repeat;
    repeat.turns = run.count;
    for (const Item &item : body)
      repeat.rows += item.rows;
    uint32_t number = addGroup(group, std::move(repeat));
    for (uint32_t turn = 1; turn < run.count; ++turn)
      for (uint32_t i = 0; i < run.period; ++i) {
        const Item &item = items[run.begin + turn * run.period + i];
        for (uint32_t row = 0; row < item.rows; ++row)
          tree_.turnOf[item.firstRow + row] = {body[i].firstRow + row, number, turn};
      }
    fill(number, body);
  }

  void addInputs() {
    std::vector<uint32_t> readers(document_.inputs.size());
    for (const OperatorGraph::Row &row : graph_.rows)
      for (const OperatorInput &input : row.inputs)
        if (input.kind == Kind::Input && input.index < readers.size())
          ++readers[input.index];
    std::vector<uint32_t> drawn;
    for (uint32_t i = 0; i < readers.size(); ++i)
      drawn.push_back(i);
    if (drawn.size() > maxInputs) {
      std::ranges::stable_sort(drawn, std::ranges::greater(),
                               [&](uint32_t input) { return readers[input]; });
      drawn.resize(maxInputs);
      std::ranges::sort(drawn);
    }
    for (uint32_t input : drawn) {
      childOfInput_[input] = static_cast<uint32_t>(tree_.groups[0].children.size());
      tree_.groups[0].children.push_back({Child::Kind::Input, input});
    }
  }

  void addOutputs() {
    for (uint32_t i = 0; i < std::min(document_.outputs.size(), maxInputs); ++i)
      tree_.groups[0].children.push_back({Child::Kind::Output, i});
  }

  // --- edges

  std::vector<Step> pathOf(uint32_t row) const {
    std::map<uint32_t, uint32_t> turns; // by group
    while (tree_.turnOf[row].first != row) {
      turns[tree_.turnOf[row].group] = tree_.turnOf[row].turn;
      row = tree_.turnOf[row].first;
    }
    std::vector<Step> path;
    uint32_t unit = unitOfRow_[row], group = tree_.units[unit].group, child = childOfUnit_[unit];
    while (true) {
      auto turn = turns.find(group);
      path.push_back({group, child, turn == turns.end() ? 0 : turn->second});
      if (group == 0)
        break;
      child = childOfGroup_[group];
      group = tree_.groups[group].parent;
    }
    std::ranges::reverse(path);
    return path;
  }

  static bool isFirstTurn(const std::vector<Step> &path) {
    return std::ranges::all_of(path, [](const Step &step) { return step.turn == 0; });
  }

  void markBelow(const std::vector<Step> &path, size_t depth, bool Child::*mark) {
    for (size_t i = depth; i < path.size(); ++i)
      tree_.groups[path[i].group].children[path[i].child].*mark = true;
  }

  void addEdge(const OperatorInput &input, uint32_t reader) {
    if (input.kind != Kind::Operator && input.kind != Kind::Input)
      return;
    std::vector<Step> to = pathOf(reader);
    if (input.kind == Kind::Input) {
      auto found = childOfInput_.find(input.index);
      markBelow(to, found == childOfInput_.end() ? 0 : 1, &Child::readsOutside);
      if (found != childOfInput_.end())
        note(0, found->second, to[0].child, input, false);
      return;
    }
    std::vector<Step> from = pathOf(input.index);
    size_t depth = 0;
    while (depth + 1 < std::min(from.size(), to.size()) && from[depth].child == to[depth].child &&
           from[depth].turn == to[depth].turn)
      ++depth;
    bool isOtherTurn = from[depth].turn != to[depth].turn; // of one repeat
    markBelow(from, depth + !isOtherTurn, &Child::isReadOutside);
    markBelow(to, depth + !isOtherTurn, &Child::readsOutside);
    // Turns but the first are drawn as that one is.
    bool isDrawn = std::all_of(to.begin(), to.begin() + static_cast<long>(depth) + 1,
                               [](const Step &step) { return step.turn == 0; });
    if (isOtherTurn || !isDrawn || from[depth].child == to[depth].child)
      return;
    note(to[depth].group, from[depth].child, to[depth].child, input,
         nodes_[input.index].placed != nodes_[reader].placed);
  }

  void addResult(uint32_t number, const OperatorInput &output) {
    const std::vector<Child> &children = tree_.groups[0].children;
    uint32_t to = static_cast<uint32_t>(children.size() -
                                        std::min(document_.outputs.size(), maxInputs) + number);
    if (output.kind == Kind::Input && childOfInput_.contains(output.index))
      note(0, childOfInput_[output.index], to, output, false);
    if (output.kind != Kind::Operator)
      return;
    std::vector<Step> from = pathOf(output.index);
    markBelow(from, 1, &Child::isReadOutside);
    note(0, from[0].child, to, output, nodes_[output.index].placed != "host");
  }

  void note(uint32_t group, uint32_t from, uint32_t to, const OperatorInput &tensor, bool crosses) {
    EdgeParts &parts = edges_[{group, from, to}];
    parts.tensors.insert({static_cast<uint32_t>(tensor.kind), tensor.index, tensor.type});
    parts.crosses |= crosses;
  }

  void finishEdges() {
    for (const auto &[key, parts] : edges_) {
      auto [group, from, to] = key;
      ViewTree::Edge edge{from, to};
      edge.crosses = parts.crosses;
      for (auto [kind, index, type] : parts.tensors) {
        int64_t bytes = graph_.types[type].bytes;
        edge.bytes += std::max<int64_t>(bytes, 0);
        edge.hasRunTimeSizes |= bytes < 0;
        ++edge.tensors;
      }
      tree_.groups[group].edges.push_back(edge);
    }
  }

  // --- layout

  // Text of some 7.6 points a letter; the page cuts what does not fit.
  static double widthOf(size_t letters) {
    return std::clamp(7.6 * static_cast<double>(letters) + 28, 84.0, 196.0);
  }

  LayoutGraph::Node boxOf(const Child &child) const {
    switch (child.kind) {
    case Child::Kind::Input:
      return {widthOf(document_.inputs[child.index].first.size()), 30};
    case Child::Kind::Output:
      return {widthOf(document_.outputs[child.index].first.size()), 30};
    case Child::Kind::Group:
      return {196, ViewTree::groupHeight};
    case Child::Kind::Unit:
      break;
    }
    const ViewTree::Unit &unit = tree_.units[child.index];
    size_t letters = std::max(unitTitle(document_, unit).size(), nodes_[unit.firstRow].name.size());
    return {widthOf(std::min(letters, unitTitle(document_, unit).size() + 8)), ViewTree::boxHeight};
  }

  void layOutGroup(Group &group) const {
    for (const Child &child : group.children)
      group.boxes.nodes.push_back(boxOf(child));
    for (const ViewTree::Edge &edge : group.edges)
      group.boxes.edges.emplace_back(edge.from, edge.to);
    LayoutOptions options;
    if (group.kind != Group::Kind::Root)
      options.viewHeight = 560; // something is above and below it
    group.layout = layOut(group.boxes, options);
  }

  struct EdgeParts {
    std::set<std::tuple<uint32_t, uint32_t, uint32_t>> tensors; // kind, index, type
    bool crosses = false;
  };

  const std::vector<OffloadNode> &nodes_;
  const OperatorGraph &graph_;
  const ViewDocument &document_;
  ViewTree tree_;
  std::unordered_map<std::string, uint32_t> regions_;
  std::vector<uint64_t> labels_;                // by row
  std::vector<uint32_t> unitOfRow_, itemOfRow_; // by row
  std::vector<uint32_t> childOfUnit_, childOfGroup_{0};
  std::unordered_map<uint32_t, uint32_t> childOfInput_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, EdgeParts> edges_; // group, from, to
};

} // namespace

ViewTree makeViewTree(const ViewDocument &document) { return TreeMaker(document).run(); }

std::string unitTitle(const ViewDocument &document, const ViewTree::Unit &unit) {
  const OffloadNode &node = document.report.nodes[unit.firstRow];
  if (node.composite.empty())
    return node.op;
  return node.composite.substr(node.composite.find('.') + 1);
}

std::string hostReason(const OffloadNode &node) {
  for (const RefusalLog::Reasons *reasons : {&node.why, &node.refused})
    if (!reasons->empty())
      return reasons->front().first + ": " + reasons->front().second;
  return {};
}

std::string reasonKind(const std::string &reason) {
  std::string kind;
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  bool isInWord = false; // float32, conv2d
  for (size_t i = 0; i < reason.size(); ++i) {
    bool isLetter = std::isalpha(static_cast<unsigned char>(reason[i])) || reason[i] == '_';
    isInWord = isLetter || (isInWord && isDigit(reason[i]));
    if (!isDigit(reason[i]) || isInWord) {
      kind += reason[i];
      continue;
    }
    while (i + 1 < reason.size() &&
           (isDigit(reason[i + 1]) ||
            (reason[i + 1] == '.' && i + 2 < reason.size() && isDigit(reason[i + 2]))))
      ++i;
    kind += "\u2026"; // three dots
  }
  return kind;
}

} // namespace bycc
