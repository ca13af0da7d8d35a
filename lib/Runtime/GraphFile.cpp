// The graph JSON is what graph executors read (nodes, arg_nodes, heads,
// node_row_ptr, attrs) plus our `bycc` object. Checks, in this order, so that the
// message names the rule that is broken rather than just "damaged":
//
//   - it parses, and was written by this ABI version (readGraphFile);
//   - node_row_ptr rises by the number of outputs of each node;
//   - inputs come from earlier nodes, arities agree;
//   - arg_nodes are the nodes without inputs, heads exist;
//   - attribute tables have one row per entry;
//   - no two values that are live at once share a storage id (a `__nop` shares
//     its argument's on purpose; an output may take the place of an argument
//     that dies there);
//   - the checksum over the whole text.
#include "GraphFile.h"

#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <map>

namespace bycc::runtime {
namespace {

struct Entry { // an output of a node
  int64_t firstUse = 0, lastUse = 0;
  size_t owner = 0; // the entry whose memory this one is
  bool isArgument = false;
};

class GraphChecker {
public:
  explicit GraphChecker(const GraphFile &graph) : graph_(graph) {}

  Expected<> check() {
    nodes_ = BYCC_TRY(list(graph_.root, "nodes"));
    BYCC_TRY(checkRows());
    for (size_t i = 0; i < nodes_->items.size(); ++i)
      BYCC_TRY(checkNode(i));
    BYCC_TRY(checkArguments());
    BYCC_TRY(checkHeads());
    return checkTables();
  }

private:
  ErrorBuilder refuse(const JsonValue &where) {
    return error(Status::Load, location(where, graph_.path)) << "graph JSON: ";
  }

  Expected<const JsonValue *> list(const JsonValue &parent, const char *name) {
    const JsonValue *value = parent.find(name);
    if (!value || !value->isArray())
      return refuse(parent) << "'" << name << "' is missing or no list";
    return value;
  }

  Expected<> checkRows() {
    const JsonValue *rows = BYCC_TRY(list(graph_.root, "node_row_ptr"));
    if (rows->items.size() != nodes_->items.size() + 1)
      return refuse(*rows) << "'node_row_ptr' has " << rows->items.size() << " items, "
                           << nodes_->items.size() << " nodes need one more";
    for (const JsonValue &row : rows->items) {
      bool rises = row.isInt() && (rows_.empty() ? row.integer == 0 : row.integer > rows_.back());
      if (!rises || row.integer > (int64_t{1} << 32))
        return refuse(row) << "'node_row_ptr' does not rise from 0";
      rows_.push_back(row.integer);
    }
    // As many as a program of few nodes may have outputs, and no more memory than that for a
    // file that only says so.
    constexpr int64_t most = 1 << 17;
    if (rows_.back() > std::max(most, static_cast<int64_t>(nodes_->items.size()) * 4096))
      return refuse(*rows) << "'node_row_ptr' ends at " << rows_.back();
    entries_.resize(rows_.back());
    return {};
  }

  // [id, index, version] of an entry of a node before `limit`.
  Expected<size_t> entryIndex(const JsonValue &reference, size_t limit) {
    bool isWell = reference.isArray() && reference.items.size() == 3 &&
                  std::all_of(reference.items.begin(), reference.items.end(),
                              [](const JsonValue &item) { return item.isInt(); });
    if (!isWell)
      return refuse(reference) << "a reference is [node, output, version]";
    int64_t id = reference.items[0].integer, index = reference.items[1].integer;
    if (id < 0 || id >= static_cast<int64_t>(limit))
      return refuse(reference) << "refers to node " << id << ", only the " << limit
                               << " before it can be used";
    if (index < 0 || index >= rows_[id + 1] - rows_[id])
      return refuse(reference) << "node " << id << " has no output " << index;
    return static_cast<size_t>(rows_[id] + index);
  }

  static std::optional<int64_t> textNumber(const JsonValue *attrs, const char *name) {
    const JsonValue *value = attrs ? attrs->find(name) : nullptr;
    return value && value->isString() ? parseInt(value->string) : std::nullopt;
  }

  Expected<> checkNode(size_t i) {
    const JsonValue &node = nodes_->items[i];
    const JsonValue *op = node.find("op"), *name = node.find("name");
    if (!op || !op->isString() || !name || !name->isString())
      return refuse(node) << "node " << i << " has no 'op' or no 'name'";
    const JsonValue *inputs = BYCC_TRY(list(node, "inputs"));
    bool isArgument = op->string == "null";
    if (!isArgument && op->string != "tvm_op")
      return refuse(*op) << "node " << i << " has op '" << escaped(op->string)
                         << "', known are null and tvm_op";
    if (isArgument && !inputs->items.empty())
      return refuse(node) << "node " << i << " is an argument and has inputs";
    if (!isArgument)
      BYCC_TRY(checkArity(i, node, inputs->items.size()));
    const JsonValue *attrs = node.find("attrs");
    const JsonValue *function = attrs ? attrs->find("func_name") : nullptr;
    bool isNop = function && function->string == "__nop";
    if (isNop && inputs->items.empty())
      return refuse(node) << "node " << i << " is a no-op without an input";
    for (int64_t entry = rows_[i]; entry < rows_[i + 1]; ++entry)
      entries_[entry] = {static_cast<int64_t>(i), static_cast<int64_t>(i),
                         static_cast<size_t>(entry), isArgument};
    for (const JsonValue &input : inputs->items) {
      size_t entry = BYCC_TRY(entryIndex(input, i));
      size_t owner = entries_[entry].owner;
      entries_[owner].lastUse = i;
      if (isNop && &input == &inputs->items.front())
        entries_[rows_[i]].owner = owner;
    }
    return {};
  }

  Expected<> checkArity(size_t i, const JsonValue &node, size_t numInputs) {
    const JsonValue *attrs = node.find("attrs");
    auto inputs = textNumber(attrs, "num_inputs"), outputs = textNumber(attrs, "num_outputs");
    const JsonValue *function = attrs ? attrs->find("func_name") : nullptr;
    if (!function || !function->isString() || !inputs || !outputs)
      return refuse(node) << "node " << i << " has no func_name, num_inputs or num_outputs";
    if (*inputs != static_cast<int64_t>(numInputs))
      return refuse(node) << "node " << i << " has num_inputs " << *inputs << " and " << numInputs
                          << " inputs";
    if (*outputs != rows_[i + 1] - rows_[i])
      return refuse(node) << "node " << i << " has num_outputs " << *outputs << " and "
                          << rows_[i + 1] - rows_[i] << " entries in node_row_ptr";
    return {};
  }

  Expected<> checkArguments() {
    const JsonValue *arguments = BYCC_TRY(list(graph_.root, "arg_nodes"));
    std::vector<bool> seen(nodes_->items.size());
    for (const JsonValue &id : arguments->items) {
      if (!id.isInt() || id.integer < 0 || id.integer >= static_cast<int64_t>(seen.size()))
        return refuse(id) << "'arg_nodes' refers to a node that does not exist";
      if (nodes_->items[id.integer].find("op")->string != "null")
        return refuse(id) << "'arg_nodes' names node " << id.integer << ", which is no argument";
      if (seen[id.integer])
        return refuse(id) << "'arg_nodes' names node " << id.integer << " twice";
      seen[id.integer] = true;
    }
    for (size_t i = 0; i < seen.size(); ++i)
      if (!seen[i] && nodes_->items[i].find("op")->string == "null")
        return refuse(*arguments) << "'arg_nodes' lacks node " << i << " '"
                                  << escaped(nodes_->items[i].find("name")->string) << "'";
    return {};
  }

  Expected<> checkHeads() {
    const JsonValue *heads = BYCC_TRY(list(graph_.root, "heads"));
    for (const JsonValue &head : heads->items) {
      size_t entry = BYCC_TRY(entryIndex(head, nodes_->items.size()));
      entries_[entries_[entry].owner].lastUse = INT64_MAX;
    }
    return {};
  }

  // attrs.NAME = [type, [one item per entry]].
  Expected<const JsonValue *> table(const JsonValue &attrs, const char *name) {
    const JsonValue *pair = BYCC_TRY(list(attrs, name));
    if (pair->items.size() != 2 || !pair->items[0].isString() || !pair->items[1].isArray())
      return refuse(*pair) << "'" << name << "' is [type, [items]]";
    if (pair->items[1].items.size() != entries_.size())
      return refuse(*pair) << "'" << name << "' has " << pair->items[1].items.size()
                           << " items for " << entries_.size() << " entries";
    return &pair->items[1];
  }

  Expected<> checkTables() {
    const JsonValue *attrs = graph_.root.find("attrs");
    if (!attrs || !attrs->isObject())
      return refuse(graph_.root) << "'attrs' is missing";
    const JsonValue *shapes = BYCC_TRY(table(*attrs, "shape"));
    for (const JsonValue &shape : shapes->items)
      if (!shape.isArray())
        return refuse(shape) << "a shape is a list";
    const JsonValue *dtypes = BYCC_TRY(table(*attrs, "dltype"));
    for (const JsonValue &dtype : dtypes->items)
      if (!dtype.isString() || !parseDType(dtype.string))
        return refuse(dtype) << "unknown dltype '" << escaped(dtype.string) << "'";
    if (attrs->find("device_index"))
      BYCC_TRY(table(*attrs, "device_index"));
    return checkStorage(*BYCC_TRY(table(*attrs, "storage_id")), *shapes);
  }

  static bool isEmpty(const JsonValue &shape) {
    return std::any_of(shape.items.begin(), shape.items.end(), [](const JsonValue &extent) {
      return extent.isInt() && extent.integer == 0;
    });
  }

  // What has no element shares any storage.
  Expected<> checkStorage(const JsonValue &ids, const JsonValue &shapes) {
    std::map<int64_t, std::vector<size_t>> users;
    for (size_t i = 0; i < ids.items.size(); ++i) {
      const JsonValue &id = ids.items[i];
      if (!id.isInt() || id.integer < 0 || id.integer > INT32_MAX)
        return refuse(id) << "storage id of entry " << i << " is not within 0 and " << INT32_MAX;
      if (entries_[i].owner == i && !isEmpty(shapes.items[i]))
        users[id.integer].push_back(i);
    }
    for (auto &[id, list] : users)
      for (size_t k = 1; k < list.size(); ++k)
        BYCC_TRY(checkSharing(ids, id, list, k));
    return {};
  }

  // The users are in order of definition: it is enough that each begins when the
  // longest-living one before it has ended.
  Expected<> checkSharing(const JsonValue &ids, int64_t id, const std::vector<size_t> &list,
                          size_t k) {
    Entry &before = entries_[list[k - 1]], &after = entries_[list[k]];
    bool isSafe = before.lastUse <= after.firstUse && !before.isArgument && !after.isArgument;
    if (isSafe && before.firstUse != after.firstUse)
      return {};
    return refuse(ids.items[list[k]]) << "entries " << list[k - 1] << " and " << list[k]
                                      << " are live at the same time and share storage id " << id;
  }

  const GraphFile &graph_;
  const JsonValue *nodes_ = nullptr;
  std::vector<int64_t> rows_;
  std::vector<Entry> entries_;
};

} // namespace

Expected<GraphFile> readGraphFile(const std::string &path) {
  return parseGraphFile(BYCC_TRY(readFile(path)), path);
}

Expected<GraphFile> parseGraphFile(std::string_view text, const std::string &path) {
  GraphFile graph;
  graph.path = path;
  // Reports of what went where, which may be most of the file.
  static constexpr std::string_view unread[] = {"placement", "operators"};
  auto root = parseJson(text, path, unread);
  if (!root) {
    Error failure = root.takeError();
    failure.diagnostics().front().status = Status::Load;
    return failure;
  }
  graph.root = root.takeValue();
  const JsonValue *bycc = graph.root.find("bycc");
  if (!bycc || !bycc->isObject())
    return error(Status::Load, {path}).as(MessageId::NotOurGraph)
           << "not a graph JSON of bycc: no object 'bycc' in it";
  graph.set = BYCC_TRY(readGraphSet(*bycc, path));
  graph.isSealed = isSealed(text);
  return graph;
}

Expected<> checkGraph(const GraphFile &graph) {
  BYCC_TRY(GraphChecker(graph).check());
  if (!graph.isSealed)
    return error(Status::Load, {graph.path}).as(MessageId::NotOurGraph)
           << "graph JSON is damaged or was edited: its checksum does not fit";
  return {};
}

static Expected<> checkTensors(const GraphFile &graph, const char *what,
                               const bycc_tensor_info *infos, uint32_t count) {
  const JsonValue &bycc = *graph.root.find("bycc");
  const JsonValue *list = bycc.find(what);
  SourceLocation place = location(list ? *list : bycc, graph.path);
  if (!list || !list->isArray() || list->items.size() != count)
    return error(Status::Load, place).as(MessageId::BuildsDiffer)
           << "graph JSON and object differ in the number of " << what;
  for (uint32_t i = 0; i < count; ++i) {
    const JsonValue *name = list->items[i].find("name"), *dtype = list->items[i].find("dtype");
    bool isSame = name && name->string == infos[i].name && dtype && infos[i].dtype >= 0 &&
                  infos[i].dtype < numDTypes &&
                  dtype->string == bycc::name(static_cast<DType>(infos[i].dtype));
    if (!isSame)
      return error(Status::Load, place).as(MessageId::BuildsDiffer)
             << "graph JSON and object differ in name or dtype of '" << escaped(infos[i].name)
             << "' in " << what;
  }
  return {};
}

Expected<> checkInterface(const GraphFile &graph, const bycc_module &module) {
  BYCC_TRY(checkTensors(graph, "inputs", module.inputs, module.num_inputs));
  return checkTensors(graph, "outputs", module.outputs, module.num_outputs);
}

} // namespace bycc::runtime
