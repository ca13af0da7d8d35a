// The graph of operators as columns: whole numbers, and each text once.

#include "bycc/Support/Json.h"
#include "bycc/View/ViewDocument.h"

#include <unordered_map>

namespace bycc {
namespace {

// Texts by number, in order of appearance; "" is -1.
class Texts {
public:
  int64_t number(const std::string &text) {
    if (text.empty())
      return -1;
    auto [found, isNew] = numbers_.try_emplace(text, static_cast<int64_t>(all_.size()));
    if (isNew)
      all_.push_back(text);
    return found->second;
  }
  const std::vector<std::string> &all() const { return all_; }

private:
  std::unordered_map<std::string, int64_t> numbers_;
  std::vector<std::string> all_;
};

template <typename List, typename Write>
void writeColumn(JsonWriter &json, const char *key, const List &list, Write write) {
  json.key(key).beginArray();
  for (const auto &item : list)
    write(item);
  json.endArray();
}

void writeInput(JsonWriter &json, const OperatorInput &input) {
  json.value(static_cast<uint32_t>(input.kind)).value(input.index).value(input.type);
}

} // namespace

void writeOperators(JsonWriter &json, const OperatorGraph &graph, const OffloadReport &report) {
  using Row = OperatorGraph::Row;
  using Type = OperatorGraph::Type;
  Texts attributes, symbols;
  json.beginObject();
  writeColumn(json, "types", graph.types, [&](const Type &type) { json.value(type.text); });
  writeColumn(json, "type_bytes", graph.types, [&](const Type &type) { json.value(type.bytes); });
  writeColumn(json, "type", graph.rows, [&](const Row &row) { json.value(row.type); });
  writeColumn(json, "unit", report.nodes, [&](const OffloadNode &node) { json.value(node.unit); });
  writeColumn(json, "attributes", graph.rows,
              [&](const Row &row) { json.value(attributes.number(row.attributes)); });
  writeColumn(json, "attribute_texts", attributes.all(),
              [&](const std::string &text) { json.value(text); });
  writeColumn(json, "symbol", graph.rows,
              [&](const Row &row) { json.value(symbols.number(row.symbol)); });
  writeColumn(json, "symbols", symbols.all(), [&](const std::string &text) { json.value(text); });
  writeColumn(json, "num_inputs", graph.rows,
              [&](const Row &row) { json.value(static_cast<uint64_t>(row.inputs.size())); });
  json.key("inputs").beginArray();
  for (const Row &row : graph.rows)
    for (const OperatorInput &input : row.inputs)
      writeInput(json, input);
  json.endArray().key("outputs").beginArray();
  for (const std::vector<OperatorInput> &output : graph.outputs) {
    json.beginArray();
    for (const OperatorInput &source : output)
      writeInput(json, source);
    json.endArray();
  }
  json.endArray().endObject();
}

} // namespace bycc
